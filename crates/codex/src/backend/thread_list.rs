//! The list of the threads in Codex's files, which app-server returns a page at a time.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::app_server::AppServer;
use super::json_fields;
use crate::event::CodexEvent;

/// Threads of one page, the maximum of app-server.
const PAGE_SIZE: usize = 100;

/// A thread of Codex that was started outside Adjutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalThread {
    pub thread: String,
    /// Its name, or the beginning of its first prompt.
    pub title: String,
    pub cwd: String,
    /// Its origin, in Codex's word: `cli`, `exec`, `vscode`, `appServer`.
    pub source: String,
    /// Milliseconds since 1970.
    pub updated_at: i64,
}

/// A conversation that only lists threads.
#[derive(Debug)]
pub(crate) struct ThreadListing(AppServer);

/// A page of the list.
#[derive(Debug)]
pub(crate) struct Page {
    pub threads: Vec<ExternalThread>,
    /// The cursor of the next page.
    pub next: Option<String>,
}

impl ThreadListing {
    /// Sends `initialize`, and requests the first page.
    pub(crate) fn begin(out: &mut Vec<u8>) -> Self {
        let mut listing = Self(AppServer::new("list"));
        listing.0.initialize(out);
        listing.ask(None, out);
        listing
    }

    /// Requests a page. The kinds are those of a user's threads, without the agents that Codex starts by itself, of all
    /// providers.
    pub(crate) fn ask(&mut self, cursor: Option<&str>, out: &mut Vec<u8>) {
        let mut params = json!({
            "limit": PAGE_SIZE, "modelProviders": [], "sourceKinds": ["cli", "vscode", "exec", "appServer"],
        });
        if let Some(cursor) = cursor {
            params["cursor"] = cursor.into();
        }
        self.0.list(&params, out);
    }

    /// Parses a line. Returns the requested page once it is complete, or why there is none.
    pub(crate) fn on_line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Option<Result<Page, String>> {
        let batch = self.0.on_line(line, out);
        let refused = batch.events.into_iter().find_map(|event| match event {
            CodexEvent::Closed { message } => Some(message.unwrap_or_default()),
            _ => None,
        });
        let listed = self.0.listed.take().map(|answer| answer.map_err(|fault| fault.message));
        Some(refused.map_or(listed, |why| Some(Err(why)))?.map(|result| page(&result)))
    }
}

fn page(result: &Value) -> Page {
    let threads = result["data"].as_array().into_iter().flatten();
    let thread = |thread: &Value| ExternalThread {
        thread: json_fields::words(&thread["id"]),
        title: json_fields::text(&thread["name"]).unwrap_or_else(|| json_fields::words(&thread["preview"])),
        cwd: json_fields::words(&thread["cwd"]),
        source: json_fields::words(&thread["source"]),
        updated_at: thread["updatedAt"].as_i64().unwrap_or(0).saturating_mul(1000),
    };
    Page { threads: threads.map(thread).collect(), next: json_fields::text(&result["nextCursor"]) }
}
