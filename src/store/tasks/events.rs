//! What happened in a task's run: appended, never changed.

use super::{Lease, NewEvent, TaskEvent};
use crate::store::{Error, Store};

/// Appends events and returns the last `seq` of the task; None when the lease is gone. Past the cap of a task they
/// are not kept.
pub(crate) async fn append_events(
    store: &Store,
    lease: &Lease,
    events: Vec<NewEvent>,
) -> Result<Option<i64>, Error> {
    let _ = (store, lease, events);
    todo!()
}

/// Returns at most `limit` events of a task after `after`, in order.
pub(crate) async fn events(
    store: &Store,
    task: &str,
    after: i64,
    limit: u32,
) -> Result<Vec<TaskEvent>, Error> {
    let _ = (store, task, after, limit);
    todo!()
}
