//! A JSON-RPC peer for a child: lines in order, raw, bounded; nothing is lost that an SDK would drop.
//!
//! It has no I/O. [`Lines`] cuts what was read into lines; [`parse`] says what a line is; [`Ids`] knows which of our
//! requests wait for an answer. Late answers and unknown ids are told as such and harm nothing.

mod ids;
mod lines;

use serde::Deserialize;
use serde_json::Value;

pub(super) use ids::Ids;
pub(super) use lines::{Line, Lines};

/// A line of the other side.
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
        answer: Result<Value, Fault>,
    },
    /// Not a message, and why.
    Bad(String),
}

/// An error answer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Fault {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
}

/// The members that decide what a message is; `jsonrpc` may be missing, as `codex app-server` leaves it out.
#[derive(Deserialize)]
struct Envelope {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<Value>,
    error: Option<Fault>,
}

/// Says what a line is.
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
        // A result of `null` is read as none.
        Envelope { id: Some(id), result, .. } => {
            Message::Response { id, answer: Ok(result.unwrap_or(Value::Null)) }
        }
        Envelope { id: None, .. } => Message::Bad("neither a method nor an id".to_owned()),
    }
}
