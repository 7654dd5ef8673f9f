//! Change notifications: wakes the calls that wait for a question, and the event streams.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// Counters of changes of the questions and streams that have a waiter, by id.
#[derive(Debug, Default)]
pub(super) struct ChangeCounters(Mutex<Counters>);

#[derive(Debug, Default)]
struct Counters {
    by_id: HashMap<String, watch::Sender<u64>>,
    /// The number of counters at which those without a waiter are removed.
    sweep_at: usize,
}

/// Counters that are kept without a search for those that nobody waits for.
const MIN_COUNTERS: usize = 64;

impl ChangeCounters {
    /// Wakes every waiter of this question or stream.
    pub(super) fn notify(&self, id: &str) {
        let counters = &mut self.lock().by_id;
        if let Some(sender) = counters.get(id) {
            sender.send_modify(|count| *count += 1);
            if sender.is_closed() {
                counters.remove(id);
            }
        }
    }

    /// Wakes every waiter.
    pub(super) fn notify_all(&self) {
        for sender in self.lock().by_id.values() {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// Returns a receiver of the changes of this question or stream from now on.
    pub(super) fn subscribe(&self, id: &str) -> watch::Receiver<u64> {
        let mut counters = self.lock();
        if counters.by_id.len() >= counters.sweep_at {
            counters.by_id.retain(|_, sender| !sender.is_closed());
            // Twice as many, so that the search costs each waiter the same for any number of them.
            counters.sweep_at = MIN_COUNTERS.max(2 * counters.by_id.len());
        }
        counters.by_id.entry(id.to_owned()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// Returns whether a call waits for this question or stream now.
    pub(super) fn has_subscriber(&self, id: &str) -> bool {
        self.lock().by_id.get(id).is_some_and(|sender| !sender.is_closed())
    }

    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives the changes of one question.
#[derive(Debug)]
pub struct Changes(pub(super) watch::Receiver<u64>);

impl Changes {
    /// Returns when the question may have changed since the last call, or `timeout` is over.
    pub async fn next(&mut self, timeout: Duration) {
        let _ = tokio::time::timeout(timeout, self.0.changed()).await;
    }
}
