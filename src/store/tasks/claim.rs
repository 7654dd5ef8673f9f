//! A hub takes a task, keeps it, or takes it over from a hub that is gone.

use super::{Lease, Task};
use crate::store::{Error, Millis, Store};

/// What a hub can take now.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The process that claims; a new name for each start, so that its predecessor's tasks are told apart.
    pub(crate) hub: String,
    pub(crate) now: Millis,
    pub(crate) lease_until: Millis,
    /// Tasks this hub runs at once.
    pub(crate) total: u32,
    /// Tasks this hub runs at once on one runner, where [`set_runner_slots`] said nothing else.
    pub(crate) each_runner: u32,
}

/// Takes the next task that a limit allows: callers in turn, then by priority, then by age. None when there is none.
pub(crate) async fn claim(store: &Store, claim: Claim) -> Result<Option<Task>, Error> {
    let _ = (store, claim);
    todo!()
}

/// Says how many tasks `hub` may run at once on `runner`, and that it takes none before `closed_until` (a cooldown;
/// 0 for none). Holds until it is said again.
pub(crate) async fn set_runner_slots(
    store: &Store,
    hub: &str,
    runner: &str,
    slots: u32,
    closed_until: Millis,
) -> Result<(), Error> {
    let _ = (store, hub, runner, slots, closed_until);
    todo!()
}

/// Keeps a task until `lease_until`, and notes the folder of its run once it is known. None when the lease is no
/// longer this hub's; then its run must end. Else tells whether somebody asked to cancel it.
pub(crate) async fn extend(
    store: &Store,
    lease: &Lease,
    lease_until: Millis,
    spool: Option<&str>,
) -> Result<Option<bool>, Error> {
    let _ = (store, lease, lease_until, spool);
    todo!()
}

/// Notes that a running task goes on with another runner, as its next attempt. False when the lease is gone.
pub(crate) async fn move_to_runner(store: &Store, lease: &Lease, runner: &str) -> Result<bool, Error> {
    let _ = (store, lease, runner);
    todo!()
}

/// Returns the running tasks of other hubs than `hub` whose lease ended before `now`, oldest first. A hub that knows
/// its predecessor is gone passes `Millis::MAX`.
pub(crate) async fn running_of_dead_hubs(store: &Store, hub: &str, now: Millis) -> Result<Vec<Task>, Error> {
    let _ = (store, hub, now);
    todo!()
}

/// Takes a running task over with a new fence. None when another hub was faster, or the task has ended.
pub(crate) async fn take_over(
    store: &Store,
    old: &Lease,
    hub: &str,
    lease_until: Millis,
) -> Result<Option<Task>, Error> {
    let _ = (store, old, hub, lease_until);
    todo!()
}
