//! A task ends.

use super::{Ending, Lease, State};
use crate::store::{Error, Millis, Store};

/// What became of a wish to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// It was waiting; it has ended, cancelled.
    Waiting,
    /// It runs; whoever holds it learns of the wish with the next `extend`.
    Asked,
    /// It had ended already, or does not exist.
    Not(Option<State>),
}

/// Ends a running task with its outcome, JSON of the room's own, which waits for its asker from now on. False when
/// the lease is gone: then another hub's word stands.
pub(crate) async fn finish(
    store: &Store,
    lease: &Lease,
    ending: Ending,
    failure: Option<&str>,
    outcome: &str,
    now: Millis,
) -> Result<bool, Error> {
    let _ = (store, lease, ending, failure, outcome, now);
    todo!()
}

/// Cancels a waiting task with `outcome`, or notes the wish for a running one.
pub(crate) async fn cancel(
    store: &Store,
    task: &str,
    outcome: &str,
    now: Millis,
) -> Result<Cancelled, Error> {
    let _ = (store, task, outcome, now);
    todo!()
}
