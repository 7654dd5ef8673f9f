//! Turns that their caller asks about later, by a name of their own, instead of waiting for their end.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::thread::Last;

/// Handles that are kept; of more, the oldest go.
const MOST: usize = 2048;

/// What the names begin with.
pub(crate) const PREFIX: &str = "codex-turn-";

/// A turn, begun or waiting. Instants are milliseconds since 1970.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    pub(crate) id: String,
    /// Whose it is; nobody else is told of it.
    pub(super) owner: String,
    pub(crate) thread: String,
    pub(super) ticket: u64,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) became: Became,
}

/// What became of the turn.
#[derive(Clone, Debug)]
pub(crate) enum Became {
    Open,
    Ended(Last),
    /// It was taken back before it began.
    Withdrawn,
}

#[derive(Debug, Default)]
pub(super) struct Handles(Mutex<VecDeque<Handle>>);

impl Handles {
    pub(super) fn add(&self, handle: Handle) {
        let mut all = self.all();
        if all.len() >= MOST {
            all.pop_front();
        }
        all.push_back(handle);
    }

    pub(super) fn ended(&self, id: &str, became: Became, at: i64) {
        if let Some(handle) = self.all().iter_mut().find(|handle| handle.id == id) {
            handle.became = became;
            handle.updated_at = at;
        }
    }

    pub(super) fn find(&self, owner: &str, id: &str) -> Option<Handle> {
        self.all().iter().find(|handle| handle.id == id && handle.owner == owner).cloned()
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<Handle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
