//! The requests of ours that wait for an answer.

use std::collections::HashMap;

use serde_json::Value;

/// Numbers requests and remembers what each was for.
#[derive(Debug)]
pub(in crate::codex) struct Ids<T> {
    last: u64,
    waiting: HashMap<u64, T>,
}

impl<T> Default for Ids<T> {
    fn default() -> Self {
        Self { last: 0, waiting: HashMap::new() }
    }
}

impl<T> Ids<T> {
    /// Takes the next number for a request.
    pub(in crate::codex) fn next(&mut self, purpose: T) -> u64 {
        self.last += 1;
        self.waiting.insert(self.last, purpose);
        self.last
    }

    /// Returns what the answered request was for; `None` for an answer that nobody waits for (any more).
    pub(in crate::codex) fn answered(&mut self, id: &Value) -> Option<T> {
        self.waiting.remove(&id.as_u64()?)
    }
}
