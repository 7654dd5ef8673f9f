//! Requests of a delegation: as the caller makes it, and as a validated value.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::caller::Caller;
use super::definition::{Agent, Isolation, Permission};
use super::workdir::Workdir;
use adjutant_base::config::network::Network;

/// A delegation as a caller asks for it.
#[derive(Clone, Debug)]
pub struct Request {
    pub caller: Caller,
    /// The name of the agent.
    pub agent: String,
    /// The text of the task.
    pub task: String,
    /// A path as the caller gave it; validation resolves it.
    pub workdir: String,
    /// Overrides the agent's own.
    pub timeout: Option<Duration>,
    /// A JSON Schema that the final message must follow.
    pub output_schema: Option<Value>,
    /// Commands that the hub runs after the agent has ended, after the agent's own; program and arguments each.
    pub checks: Vec<Vec<String>>,
    /// Overrides the agent's own.
    pub isolation: Option<Isolation>,
    /// At most the level of the agent's definition.
    pub permission: Option<Permission>,
    /// Environment variables that name the trace of the request; the agent's own variables win.
    pub trace: BTreeMap<String, String>,
}

/// A delegation with everything in it validated; the executor stores it as a row.
#[derive(Debug)]
pub(crate) struct ValidatedRequest {
    pub(crate) caller: Caller,
    pub(crate) agent: Arc<Agent>,
    /// The text of the task.
    pub(crate) text: String,
    pub(crate) workdir: Workdir,
    pub(crate) timeout: Duration,
    pub(crate) schema: Option<Value>,
    pub(crate) checks: Vec<Vec<String>>,
    pub(crate) isolation: Isolation,
    pub(crate) permission: Permission,
    /// The networks of the tasks above the task.
    pub(crate) outer_networks: Vec<Network>,
    pub(crate) trace: BTreeMap<String, String>,
    /// The name of the runner that the task waits for a slot of.
    pub(crate) runner: String,
    /// The task of the agent that made the request, if one did.
    pub(crate) parent: Option<String>,
    /// The first task of the tree; `None` makes this task the first.
    pub(crate) root: Option<String>,
    /// How many delegations lie above the task.
    pub(crate) depth: u32,
}
