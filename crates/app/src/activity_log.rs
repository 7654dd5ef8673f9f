//! Recent activity of clients and prompts: a bounded list in memory, shown by the console.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::SystemTime;

use adjutant_base::mutex::lock;

/// How many entries are kept; the oldest is dropped first.
const MAX_ENTRIES: usize = 500;

/// One line of the console's activity list.
#[derive(Clone, Debug)]
pub struct ActivityEntry {
    pub at: SystemTime,
    /// Grows with every entry.
    pub number: u64,
    /// The actor, as the user reads it: a client's name, or `console`.
    pub actor: String,
    pub kind: ActivityKind,
}

/// The kind of an entry, with its data.
#[derive(Clone, Debug)]
pub enum ActivityKind {
    Connected,
    Disconnected,
    /// A prompt was expanded; `bytes` is the length of the result. The input itself is never kept.
    Expanded {
        prompt: String,
        bytes: usize,
    },
    /// An expansion was refused; `reason` is the message the caller got.
    Rejected {
        prompt: String,
        reason: String,
    },
    /// Prompt files changed on disk.
    PromptsChanged,
}

/// The list, newest last.
#[derive(Debug, Default)]
pub struct ActivityLog(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    entries: VecDeque<ActivityEntry>,
    /// The number of entries so far, with those that were dropped.
    recorded: u64,
}

impl ActivityLog {
    /// Adds an entry with the current time; the oldest entry is dropped when the log is full.
    pub fn record(&self, actor: &str, kind: ActivityKind) {
        let mut log = lock(&self.0);
        log.recorded += 1;
        let entry =
            ActivityEntry { at: SystemTime::now(), number: log.recorded, actor: actor.to_owned(), kind };
        // An editor saves often; a row of changes is one line with the last one's time.
        if matches!(entry.kind, ActivityKind::PromptsChanged) {
            log.entries.pop_back_if(|last| matches!(last.kind, ActivityKind::PromptsChanged));
        }
        if log.entries.len() == MAX_ENTRIES {
            log.entries.pop_front();
        }
        log.entries.push_back(entry);
    }

    /// Returns all entries, oldest first.
    pub fn all(&self) -> Vec<ActivityEntry> {
        lock(&self.0).entries.iter().cloned().collect()
    }
}
