//! Requests to Codex that wait for an answer.

use std::collections::HashMap;

use serde_json::Value;

/// Numbers requests, and remembers the purpose of each.
#[derive(Debug)]
pub(crate) struct PendingRequests<T> {
    last: u64,
    waiting: HashMap<u64, T>,
}

impl<T> Default for PendingRequests<T> {
    fn default() -> Self {
        Self { last: 0, waiting: HashMap::new() }
    }
}

impl<T> PendingRequests<T> {
    /// Registers a request, and returns its number.
    pub(crate) fn register(&mut self, purpose: T) -> u64 {
        self.last += 1;
        self.waiting.insert(self.last, purpose);
        self.last
    }

    /// Returns the purpose of the answered request; `None` if no request with this id waits.
    pub(crate) fn complete(&mut self, id: &Value) -> Option<T> {
        self.waiting.remove(&id.as_u64()?)
    }
}
