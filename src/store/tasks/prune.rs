//! Old tasks go, with their events and outcomes.

use crate::store::{Error, Millis, Store};

/// What stays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// Ended tasks whose outcome was fetched after this instant.
    pub(crate) delivered_since: Millis,
    /// Ended tasks whose outcome nobody fetched, that ended after this instant.
    pub(crate) ended_since: Millis,
    /// The youngest ended tasks at most, whatever their age.
    pub(crate) count: u32,
}

/// Removes ended tasks that `keep` does not keep, at most a few hundred at a time, and returns the ids and the folders of the runs,
/// which are the caller's to remove. Call again until it returns none.
pub(crate) async fn prune(store: &Store, keep: Keep) -> Result<Vec<(String, Option<String>)>, Error> {
    let _ = (store, keep);
    todo!()
}
