//! A delegation comes in: checked as a whole, then a row.

use std::time::Duration;

use serde_json::Value;

use super::caller::Caller;
use super::definition::{Isolation, Permission};
use super::engine::Engine;
use super::{Error, Task};

/// What a caller asks for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) caller: Caller,
    pub(crate) agent: String,
    pub(crate) task: String,
    /// As given; it is checked and resolved here.
    pub(crate) workdir: String,
    /// Over the agent's own.
    pub(crate) timeout: Option<Duration>,
    /// A JSON Schema that the final message must follow.
    pub(crate) output_schema: Option<Value>,
    /// On top of the agent's own.
    pub(crate) checks: Vec<Check>,
    pub(crate) isolation: Option<Isolation>,
    /// At most what the agent's definition says.
    pub(crate) permission: Option<Permission>,
}

/// A command that the hub runs when the agent is gone; no shell reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Program and arguments.
    Argv(Vec<String>),
    /// Split into words as a shell does, with quotes and backslashes, and nothing else.
    Line(String),
}

pub(super) async fn delegate(engine: &Engine, request: Request) -> Result<Task, Error> {
    let _ = engine;
    Err(Error::UnknownAgent { name: request.agent, near: Vec::new() })
}
