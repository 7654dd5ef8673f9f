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
pub(crate) struct Activity(Mutex<VecDeque<Entry>>);

impl Activity {
    pub(crate) fn record(&self, who: &str, what: What) {
        let entry = Entry { at: SystemTime::now(), who: who.to_owned(), what };
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // An editor saves often; a row of changes is one line with the last one's time.
        if matches!(entry.what, What::PromptsChanged) {
            entries.pop_back_if(|last| matches!(last.what, What::PromptsChanged));
        }
        if entries.len() == KEPT {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// Returns up to `most` entries, newest first.
    pub(crate) fn latest(&self, most: usize) -> Vec<Entry> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().rev().take(most).cloned().collect()
    }
}
