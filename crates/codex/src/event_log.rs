//! The events of a session, for followers of any speed: the latest in memory, the earlier ones in a file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::event::EventBatch;
use adjutant_base::mutex::lock;

/// Entries that are in memory, and about their bytes in total; a slower follower reads the file.
const MAX_ENTRIES: usize = 16_384;
const MAX_BYTES: usize = 8 << 20;
/// Bytes of the file; a follower that is slower still misses entries.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Entries of the file for one known position.
const STRIDE: u64 = 64;
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

/// All entries, as far as memory and disk hold them.
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
    spilled: Spill,
}

/// The file with the entries that are no longer in memory, from the first one on.
#[derive(Debug, Default)]
struct Spill {
    path: PathBuf,
    file: Option<Arc<File>>,
    bytes: u64,
    last: u64,
    /// The position of each [`STRIDE`]th entry.
    starts: Vec<u64>,
    failed: bool,
}

impl Spill {
    fn push(&mut self, entry: &LogEntry) {
        if !self.failed
            && let Err(error) = self.write(entry)
        {
            self.failed = true;
            tracing::warn!(%error, "slow followers of a session will miss events");
        }
    }

    fn write(&mut self, entry: &LogEntry) -> io::Result<()> {
        let mut line = serde_json::to_vec(&(entry.seq, entry.at, &*entry.batch))?;
        line.push(b'\n');
        if self.bytes + line.len() as u64 > MAX_FILE_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let file = if let Some(file) = &self.file {
            file
        } else {
            let file =
                File::options().read(true).append(true).create_new(true).mode(0o600).open(&self.path)?;
            self.file.insert(Arc::new(file))
        };
        (&**file).write_all(&line)?;
        if (entry.seq - 1).is_multiple_of(STRIDE) {
            self.starts.push(self.bytes);
        }
        self.bytes += line.len() as u64;
        self.last = entry.seq;
        Ok(())
    }

    /// Returns a reader of at most `limit` entries after `after`, if the file has the next one.
    fn reader(&self, after: u64, limit: usize) -> Option<impl FnOnce() -> io::Result<Vec<LogEntry>> + use<>> {
        let file = self.file.clone().filter(|_| after < self.last)?;
        let from = At { file, offset: *self.starts.get(usize::try_from(after / STRIDE).ok()?)? };
        let skip = usize::try_from(after % STRIDE).ok()?;
        let limit = limit.min(usize::try_from(self.last - after).unwrap_or(limit));
        Some(move || {
            BufReader::new(from)
                .split(b'\n')
                .skip(skip)
                .take(limit)
                .map(|line| {
                    let (seq, at, batch) = serde_json::from_slice(&line?)?;
                    Ok(LogEntry { seq, at, batch: Arc::new(batch) })
                })
                .collect()
        })
    }
}

/// A position in a file that is written at the same time.
struct At {
    file: Arc<File>,
    offset: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read_at(buffer, self.offset)?;
        self.offset += length as u64;
        Ok(length)
    }
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
    /// Does no I/O. `path` is that of a new file for the earlier entries.
    pub(super) fn new(path: PathBuf) -> Self {
        let spilled = Spill { path, ..Spill::default() };
        Self { ring: Mutex::new(Ring { spilled, ..Ring::default() }), changed: watch::Sender::new(0) }
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
            if let Some((entry, bytes)) = ring.entries.pop_front() {
                ring.bytes -= bytes;
                ring.spilled.push(&entry);
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
            let (first, reader) = {
                let ring = lock(&self.ring);
                (ring.last + 1 - ring.entries.len() as u64, ring.spilled.reader(after, limit))
            };
            if let Some(reader) = reader.filter(|_| first > after + 1)
                && let Ok(Ok(entries)) = tokio::task::spawn_blocking(reader).await
            {
                return LogRead::Entries(entries);
            }
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
