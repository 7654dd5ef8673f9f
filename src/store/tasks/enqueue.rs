//! A task comes in.

use super::{NewTask, Task};
use crate::store::{Error, Store};

/// How many tasks may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimits {
    pub(crate) each_caller: u32,
    pub(crate) total: u32,
}

/// Enters a task as queued and returns its row, which is on disk then.
pub(crate) async fn enqueue(store: &Store, new: NewTask, limits: QueueLimits) -> Result<Task, Error> {
    let _ = (store, new, limits);
    todo!()
}
