//! Registry of calls that wait for a task or a question. The result of such a call carries the answer, so no other call
//! has to deliver it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use adjutant_base::mutex::lock;

/// Ids of tasks and tickets of questions, with the number of calls that wait for each.
#[derive(Debug, Default)]
pub struct Waiters(Mutex<HashMap<String, usize>>);

impl Waiters {
    /// Notes that a call waits for `ids` for as long as the guard lives, which is until its answer is on its way.
    pub fn register(self: &Arc<Self>, ids: impl IntoIterator<Item = String>) -> WaiterGuard {
        let ids: Vec<String> = ids.into_iter().collect();
        let mut held = lock(&self.0);
        for id in &ids {
            *held.entry(id.clone()).or_default() += 1;
        }
        drop(held);
        WaiterGuard { waiters: self.clone(), ids }
    }

    /// Returns whether a call waits for `id`.
    pub fn has(&self, id: &str) -> bool {
        lock(&self.0).contains_key(id)
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
        let mut held = lock(&self.waiters.0);
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
