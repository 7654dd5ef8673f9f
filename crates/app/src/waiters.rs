//! Registry of calls that wait for a task or a question. The result of such a call carries the answer, so no other call
//! has to deliver it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ids of tasks and tickets of questions, with the number of calls that wait for each.
#[derive(Debug, Default)]
pub struct Waiters(Mutex<HashMap<String, usize>>);

impl Waiters {
    /// Notes that a call waits for `ids` for as long as the guard lives, which is until its answer is on its way.
    pub fn register(self: &Arc<Self>, ids: impl IntoIterator<Item = String>) -> WaiterGuard {
        let ids: Vec<String> = ids.into_iter().collect();
        let mut held = self.held();
        for id in &ids {
            *held.entry(id.clone()).or_default() += 1;
        }
        drop(held);
        WaiterGuard { waiters: self.clone(), ids }
    }

    /// Returns whether a call waits for `id`.
    pub fn has(&self, id: &str) -> bool {
        self.held().contains_key(id)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that waits.
#[derive(Debug)]
pub struct WaiterGuard {
    waiters: Arc<Waiters>,
    ids: Vec<String>,
}

impl Drop for WaiterGuard {
    fn drop(&mut self) {
        let mut held = self.waiters.held();
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
