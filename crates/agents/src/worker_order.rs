//! Task of a hub as it travels to a worker, and what the worker reports of it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use adjutant_store::tasks::Lease;

/// A queued task that a worker may claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub task: String,
    /// The attempt that a claim begins.
    pub attempt: i64,
    pub fence: i64,
    pub runner: String,
    /// The label that its worker must have.
    pub label: Option<String>,
}

/// Everything that a worker needs to run a task, besides the bundle of the repository.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    pub agent: String,
    pub runner: String,
    pub text: String,
    /// The task's options as the hub's row has them; the folder in them is the hub's.
    pub options: String,
    /// The commit that the agent works on.
    pub commit: String,
    /// A name of the repository, for the cache of the worker.
    pub repository: String,
    /// The commit of the ignored files that travel in a bundle of their own.
    pub included: Option<String>,
    /// The working folder below the top of the repository; empty for the top itself.
    pub below: PathBuf,
}

/// A claim that the hub carried out: the files are in the task's folder on the hub.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The fence that every message of the worker must carry from now on.
    pub fence: i64,
    pub order_bytes: u64,
    pub bundle_bytes: u64,
}

/// The reply of the hub to a report of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Continue,
    /// The user requested the cancellation.
    Cancel,
    /// The task has another fence or has ended: nothing of this worker counts from now on.
    Stale,
}
