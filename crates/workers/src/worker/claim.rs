//! Claim of a worker on a task of a hub.

use serde::{Deserialize, Serialize};

use adjutant_agents::TaskId;

/// A claim that the hub carried out, as the folder of the assignment keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Claim {
    pub(super) hub: String,
    pub(super) task: String,
    pub(super) attempt: i64,
    pub(super) fence: i64,
    /// Milliseconds between two reports, at most.
    pub(super) report_ms: u64,
    /// Maximum bytes of a result.
    pub(super) max_bytes: u64,
    /// The id that the task has in the queue of this worker, once it is queued there.
    pub(super) local: Option<TaskId>,
}
