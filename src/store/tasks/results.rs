//! Outcomes wait for who asked, across disconnects and restarts.

use super::Task;
use crate::store::{Error, Millis, Store};

/// Returns the outcome of an ended task.
pub(crate) async fn outcome(store: &Store, task: &str) -> Result<Option<String>, Error> {
    let _ = (store, task);
    todo!()
}

/// Returns the ended tasks of a caller whose outcome nobody has fetched, oldest first, at most `limit`.
pub(crate) async fn undelivered(store: &Store, caller: &str, limit: u32) -> Result<Vec<Task>, Error> {
    let _ = (store, caller, limit);
    todo!()
}

/// Notes that the outcome reached its asker. False when there is none or it did before.
pub(crate) async fn mark_delivered(store: &Store, task: &str, now: Millis) -> Result<bool, Error> {
    let _ = (store, task, now);
    todo!()
}
