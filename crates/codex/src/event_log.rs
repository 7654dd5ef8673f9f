//! What a session said lately, in order, for whoever follows it at their own speed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::happened::Heard;

/// Entries that are kept, and about the bytes that they weigh together; who is slower misses the oldest.
const ENTRIES: usize = 65_536;
const BYTES: usize = 32 << 20;
/// What an entry weighs beside its line's own text: what was read out of it, and the places where that lies.
const OVERHEAD: usize = 512;

/// One line of Codex, or one act of ours.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Counts from 1 in this session.
    pub(crate) seq: u64,
    /// When, in milliseconds since 1970.
    pub(crate) at: i64,
    pub(crate) heard: Arc<Heard>,
}

/// The latest entries.
#[derive(Debug)]
pub(crate) struct Log {
    ring: Mutex<Ring>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<(Entry, usize)>,
    bytes: usize,
    last: u64,
    ended: bool,
}

/// What a follower gets.
#[derive(Debug)]
pub(crate) enum Followed {
    Entries(Vec<Entry>),
    /// So many entries are gone that it had not read.
    Missed(u64),
    /// There will be no more.
    End,
}

impl Log {
    pub(super) fn new() -> Self {
        Self { ring: Mutex::default(), changed: watch::Sender::new(0) }
    }

    /// Appends an entry; `bytes` is what its line had.
    pub(super) fn push(&self, at: i64, heard: Heard, bytes: usize) -> Entry {
        let bytes = bytes + OVERHEAD;
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.last += 1;
        let entry = Entry { seq: ring.last, at, heard: Arc::new(heard) };
        ring.entries.push_back((entry.clone(), bytes));
        ring.bytes += bytes;
        while ring.entries.len() > ENTRIES || (ring.bytes > BYTES && ring.entries.len() > 1) {
            if let Some((_, bytes)) = ring.entries.pop_front() {
                ring.bytes -= bytes;
            }
        }
        drop(ring);
        self.changed.send_replace(entry.seq);
        entry
    }

    /// Says that nothing more will come.
    pub(super) fn end(&self) {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.changed.send_modify(|_| ());
    }

    /// Returns the number of the last entry.
    pub(crate) fn last(&self) -> u64 {
        *self.changed.borrow()
    }

    /// Returns what comes after the entry `after`, at most `most` of it, waiting for it where there is nothing yet.
    pub(crate) async fn next(&self, after: u64, most: usize) -> Followed {
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            {
                let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
                let first = ring.last + 1 - ring.entries.len() as u64;
                if first > after + 1 {
                    return Followed::Missed(first - after - 1);
                }
                if ring.last > after {
                    let skip = usize::try_from(after + 1 - first).unwrap_or(usize::MAX);
                    let entries = ring.entries.iter().skip(skip).take(most);
                    return Followed::Entries(entries.map(|(entry, _)| entry.clone()).collect());
                }
                if ring.ended {
                    return Followed::End;
                }
            }
            if changed.changed().await.is_err() {
                return Followed::End;
            }
        }
    }
}
