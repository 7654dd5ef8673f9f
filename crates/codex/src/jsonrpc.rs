//! JSON-RPC with a child: bounded lines in order, with everything that an SDK would drop.
//!
//! It has no I/O. [`Lines`] splits bytes into lines, [`parse`] reads a message, [`PendingRequests`] keeps the requests
//! that wait for an answer. Late answers and unknown ids become warnings.

mod lines;
mod pending_requests;

use serde::Deserialize;
use serde_json::Value;

use super::event::{EventBatch, Level};
pub(super) use lines::{Line, Lines};
pub(super) use pending_requests::PendingRequests;

/// A message of the child.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Notification {
        method: String,
        params: Value,
    },
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Response {
        id: Value,
        answer: Result<Value, RpcError>,
    },
    /// Not a message; the text is the reason.
    Bad(String),
}

/// An error response.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct RpcError {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
}

/// The members that decide the type of a message; `jsonrpc` may be missing, as `codex app-server` leaves it out.
#[derive(Deserialize)]
struct Envelope {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<Value>,
    error: Option<RpcError>,
}

/// Parses a line.
pub(super) fn parse(line: &[u8]) -> Message {
    let envelope: Envelope = match serde_json::from_slice(line) {
        Ok(envelope) => envelope,
        Err(error) => return Message::Bad(error.to_string()),
    };
    match envelope {
        Envelope { id: Some(id), method: Some(method), params, .. } => {
            Message::Request { id, method, params }
        }
        Envelope { id: None, method: Some(method), params, .. } => Message::Notification { method, params },
        Envelope { id: Some(id), error: Some(fault), .. } => Message::Response { id, answer: Err(fault) },
        // A result of `null` is read as a missing one.
        Envelope { id: Some(id), result, .. } => {
            Message::Response { id, answer: Ok(result.unwrap_or(Value::Null)) }
        }
        Envelope { id: None, .. } => Message::Bad("neither a method nor an id".to_owned()),
    }
}

/// Appends `message` to `out` as one line.
pub(super) fn write_line(out: &mut Vec<u8>, message: &Value) {
    out.extend_from_slice(message.to_string().as_bytes());
    out.push(b'\n');
}

/// Returns the warning for a line that is not a usable message because of `reason`.
pub(super) fn unreadable(reason: &str) -> EventBatch {
    EventBatch::notice(Level::Warning, format!("a line of Codex cannot be read: {reason}"))
}
