//! Questions about tasks.

use super::{State, Task};
use crate::store::{Error, Store};

/// Which tasks a list shows; the default is all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) caller: Option<String>,
    pub(crate) root: Option<String>,
    /// Any of these; empty means all.
    pub(crate) states: Vec<State>,
    /// Stands somewhere in the task's text, its agent's name or its outcome, in any case.
    pub(crate) text: Option<String>,
}

/// Returns one task.
pub(crate) async fn get(store: &Store, task: &str) -> Result<Option<Task>, Error> {
    let _ = (store, task);
    todo!()
}

/// Returns at most `limit` tasks, newest first, older than the `seq` of `before` where that is given.
pub(crate) async fn list(
    store: &Store,
    filter: &Filter,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<Task>, Error> {
    let _ = (store, filter, before, limit);
    todo!()
}

/// Returns how many tasks pass the filter.
pub(crate) async fn count(store: &Store, filter: &Filter) -> Result<u64, Error> {
    let _ = (store, filter);
    todo!()
}

/// Returns the place of a waiting task, 1 for the one that is claimed next, as if no runner were full.
pub(crate) async fn position(store: &Store, task: &str) -> Result<Option<u64>, Error> {
    let _ = (store, task);
    todo!()
}
