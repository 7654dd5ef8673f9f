//! The threads that Codex keeps in its files, which app-server lists a page at a time.

use serde_json::{Value, json};

use super::app_server::AppServer;
use super::read;
use crate::codex::elsewhere::Elsewhere;
use crate::codex::happened::Happened;

/// Threads of one page, which is what app-server gives at most.
const PAGE: usize = 100;

/// One conversation about nothing else.
#[derive(Debug)]
pub(in crate::codex) struct Listing(AppServer);

/// A part of the list.
#[derive(Debug)]
pub(in crate::codex) struct Page {
    pub(in crate::codex) threads: Vec<Elsewhere>,
    /// What to ask the next part with.
    pub(in crate::codex) next: Option<String>,
}

impl Listing {
    /// Says hello, and asks for the first part.
    pub(in crate::codex) fn begin(out: &mut Vec<u8>) -> Self {
        let mut listing = Self(AppServer::new("list"));
        listing.0.greet(out);
        listing.ask(None, out);
        listing
    }

    /// Asks for a part. The kinds are those of a person's threads, not of the agents that Codex starts by itself; no
    /// provider is left out.
    pub(in crate::codex) fn ask(&mut self, cursor: Option<&str>, out: &mut Vec<u8>) {
        let mut params = json!({
            "limit": PAGE, "modelProviders": [], "sourceKinds": ["cli", "vscode", "exec", "appServer"],
        });
        if let Some(cursor) = cursor {
            params["cursor"] = cursor.into();
        }
        self.0.list(&params, out);
    }

    /// Takes a line; returns what was asked for once it is there, or why it will not be.
    pub(in crate::codex) fn hear(&mut self, line: &[u8], out: &mut Vec<u8>) -> Option<Result<Page, String>> {
        let heard = self.0.hear(line, out);
        let refused = heard.happened.into_iter().find_map(|happened| match happened {
            Happened::Closed { message } => Some(message.unwrap_or_default()),
            _ => None,
        });
        let listed = self.0.listed.take().map(|answer| answer.map_err(|fault| fault.message));
        Some(refused.map_or(listed, |why| Some(Err(why)))?.map(|result| page(&result)))
    }
}

fn page(result: &Value) -> Page {
    let threads = result["data"].as_array().into_iter().flatten();
    let thread = |thread: &Value| Elsewhere {
        thread: read::words(&thread["id"]),
        title: read::text(&thread["name"]).unwrap_or_else(|| read::words(&thread["preview"])),
        cwd: read::words(&thread["cwd"]),
        source: read::words(&thread["source"]),
        updated_at: thread["updatedAt"].as_i64().unwrap_or(0).saturating_mul(1000),
    };
    Page { threads: threads.map(thread).collect(), next: read::text(&result["nextCursor"]) }
}
