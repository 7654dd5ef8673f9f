//! The ring buffer of a session's latest events, for followers of any speed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::event::EventBatch;
use adjutant_base::mutex::lock;

/// Entries that are kept, and about their bytes in total; a slower follower misses the oldest.
const MAX_ENTRIES: usize = 65_536;
const MAX_BYTES: usize = 32 << 20;
/// Memory of an entry without the text of its line.
const ENTRY_OVERHEAD_BYTES: usize = 512;

/// One line of Codex, or one command of Adjutant.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// Counts from 1 in this session.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at: i64,
    pub batch: Arc<EventBatch>,
}

/// The latest entries.
#[derive(Debug)]
pub struct EventLog {
    ring: Mutex<Ring>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<(LogEntry, usize)>,
    bytes: usize,
    last: u64,
    ended: bool,
}

/// The result of one read.
#[derive(Debug)]
pub enum LogRead {
    Entries(Vec<LogEntry>),
    /// The number of entries that were dropped before they were read.
    Missed(u64),
    /// There will be no more.
    End,
}

impl EventLog {
    pub(super) fn new() -> Self {
        Self { ring: Mutex::default(), changed: watch::Sender::new(0) }
    }

    /// Appends an entry; `bytes` is the length of its line.
    pub(super) fn push(&self, at: i64, batch: EventBatch, bytes: usize) -> LogEntry {
        let bytes = bytes + ENTRY_OVERHEAD_BYTES;
        let mut ring = lock(&self.ring);
        ring.last += 1;
        let entry = LogEntry { seq: ring.last, at, batch: Arc::new(batch) };
        ring.entries.push_back((entry.clone(), bytes));
        ring.bytes += bytes;
        while ring.entries.len() > MAX_ENTRIES || (ring.bytes > MAX_BYTES && ring.entries.len() > 1) {
            if let Some((_, bytes)) = ring.entries.pop_front() {
                ring.bytes -= bytes;
            }
        }
        drop(ring);
        self.changed.send_replace(entry.seq);
        entry
    }

    /// Marks the log as complete.
    pub(super) fn end(&self) {
        lock(&self.ring).ended = true;
        self.changed.send_modify(|_| ());
    }

    /// Returns the number of the last entry.
    pub fn last_seq(&self) -> u64 {
        *self.changed.borrow()
    }

    /// Returns at most `limit` entries after the entry `after`, and waits for the first one if there is none yet.
    pub async fn next(&self, after: u64, limit: usize) -> LogRead {
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            {
                let ring = lock(&self.ring);
                let first = ring.last + 1 - ring.entries.len() as u64;
                if first > after + 1 {
                    return LogRead::Missed(first - after - 1);
                }
                if ring.last > after {
                    let skip = usize::try_from(after + 1 - first).unwrap_or(usize::MAX);
                    let entries = ring.entries.iter().skip(skip).take(limit);
                    return LogRead::Entries(entries.map(|(entry, _)| entry.clone()).collect());
                }
                if ring.ended {
                    return LogRead::End;
                }
            }
            if changed.changed().await.is_err() {
                return LogRead::End;
            }
        }
    }
}
