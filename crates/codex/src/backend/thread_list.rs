//! The list of the threads in Codex's files, which app-server returns a page at a time.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::json_fields;

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

/// A page of the list.
#[derive(Debug)]
pub(crate) struct Page {
    pub threads: Vec<ExternalThread>,
    /// The cursor of the next page.
    pub next: Option<String>,
}

/// Returns the parameters of a page: the threads of users, of all providers, without those of agents that Codex starts
/// by itself.
pub(crate) fn page_params(cursor: Option<&str>) -> Value {
    let mut params = json!({
        "limit": PAGE_SIZE, "modelProviders": [], "sourceKinds": ["cli", "vscode", "exec", "appServer"],
    });
    if let Some(cursor) = cursor {
        params["cursor"] = cursor.into();
    }
    params
}

/// Parses a page.
pub(crate) fn page(result: &Value) -> Page {
    let threads = result["data"].as_array().into_iter().flatten();
    Page { threads: threads.map(external_thread).collect(), next: json_fields::text(&result["nextCursor"]) }
}

/// Parses a thread.
pub(crate) fn external_thread(thread: &Value) -> ExternalThread {
    ExternalThread {
        thread: json_fields::words(&thread["id"]),
        title: json_fields::text(&thread["name"]).unwrap_or_else(|| json_fields::words(&thread["preview"])),
        cwd: json_fields::words(&thread["cwd"]),
        source: json_fields::words(&thread["source"]),
        updated_at: thread["updatedAt"].as_i64().unwrap_or(0).saturating_mul(1000),
    }
}
