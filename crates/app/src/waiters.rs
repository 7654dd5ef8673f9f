//! What calls wait for at this moment: their own answers carry it, so it is no news for another call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ids of tasks and tickets of questions, with the number of calls that wait for each.
#[derive(Debug, Default)]
pub(crate) struct Awaited(Mutex<HashMap<String, usize>>);

impl Awaited {
    /// Notes that a call waits for `ids` for as long as the guard lives, which is until its answer is on its way.
    pub(crate) fn enter(self: &Arc<Self>, ids: impl IntoIterator<Item = String>) -> Waiting {
        let ids: Vec<String> = ids.into_iter().collect();
        let mut held = self.held();
        for id in &ids {
            *held.entry(id.clone()).or_default() += 1;
        }
        drop(held);
        Waiting { of: self.clone(), ids }
    }

    /// Whether a call waits for `id`.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.held().contains_key(id)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    of: Arc<Awaited>,
    ids: Vec<String>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut held = self.of.held();
        for id in &self.ids {
            if let Some(count) = held.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    held.remove(id);
                }
            }
        }
    }
}
