//! What happened lately: a bounded list for the console, kept in memory.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// How many entries are kept; the oldest goes first.
const KEPT: usize = 500;

/// One line of the console's activity list.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) at: SystemTime,
    /// Grows with every entry.
    pub(crate) number: u64,
    /// Who did it, as a person reads it: a client's name, or `console`.
    pub(crate) who: String,
    pub(crate) what: What,
}

/// What was done.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Connected,
    Left,
    /// A prompt was expanded; `bytes` is the length of the result. The input itself is never kept.
    Expanded {
        prompt: String,
        bytes: usize,
    },
    /// An expansion was refused; `reason` is the message the caller got.
    Refused {
        prompt: String,
        reason: String,
    },
    /// Prompt files changed on disk.
    PromptsChanged,
}

/// The list, newest last.
#[derive(Debug, Default)]
pub(crate) struct Activity(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    entries: VecDeque<Entry>,
    /// Of all that there ever were.
    recorded: u64,
}

impl Activity {
    pub(crate) fn record(&self, who: &str, what: What) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.recorded += 1;
        let entry = Entry { at: SystemTime::now(), number: kept.recorded, who: who.to_owned(), what };
        // An editor saves often; a row of changes is one line with the last one's time.
        if matches!(entry.what, What::PromptsChanged) {
            kept.entries.pop_back_if(|last| matches!(last.what, What::PromptsChanged));
        }
        if kept.entries.len() == KEPT {
            kept.entries.pop_front();
        }
        kept.entries.push_back(entry);
    }

    /// Returns all entries, oldest first.
    pub(crate) fn all(&self) -> Vec<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entries.iter().cloned().collect()
    }
}
