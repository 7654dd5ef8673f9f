//! The thread that writes all recordings of a process.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, SystemTime};

use super::OVERHEAD;
use super::chunker::{self, Lines};
use super::format::{Direction, Entry, Header};
use super::segments::{Parts, prune};
use adjutant_base::config::recorder::RecorderConfig;

/// Bytes that are gathered before a write, if more follow at once.
const GATHER: usize = 256 << 10;

/// The HTTP request, 0 for none, and the direction that bytes belong to.
pub(super) type Source = (u64, Direction);

/// A request to the writer's thread.
#[derive(Debug)]
pub(super) enum Job {
    /// Begins a recording in `file`, or in the folder of recordings.
    Open {
        recording: u64,
        header: Box<Header>,
        file: Option<PathBuf>,
    },
    Take {
        recording: u64,
        at: SystemTime,
        since: Duration,
        source: Source,
        missed: u64,
        what: What,
    },
    Close {
        recording: u64,
    },
    /// Answers after all earlier requests are written.
    Flush(SyncSender<()>),
}

/// An event to be recorded.
#[derive(Debug)]
pub(super) enum What {
    Bytes(Vec<u8>),
    /// One message, which may contain line ends.
    Whole(Vec<u8>),
    End,
    Exit(i32),
}

impl What {
    /// Returns the number of its bytes.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Bytes(bytes) | Self::Whole(bytes) => bytes.len(),
            Self::End | Self::Exit(_) => 0,
        }
    }
}

/// The writer of all open recordings.
pub(super) struct Writer {
    config: RecorderConfig,
    waiting: Arc<AtomicUsize>,
    open: HashMap<u64, Open>,
}

struct Open {
    parts: Parts,
    /// The bytes after the last line end of each source that has any.
    lines: BTreeMap<Source, Lines>,
    seq: u64,
    /// Entries that are not written yet.
    out: Vec<u8>,
    /// The last time on each clock.
    at: i64,
    us: u64,
}

impl Writer {
    /// Creates a writer. `waiting` counts the bytes in its queue.
    pub(super) fn new(config: RecorderConfig, waiting: Arc<AtomicUsize>) -> Self {
        Self { config, waiting, open: HashMap::new() }
    }

    /// Writes until all senders are dropped.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            self.job(job);
            while let Ok(job) = jobs.try_recv() {
                self.job(job);
            }
            self.open.values_mut().for_each(Open::write);
        }
    }

    fn job(&mut self, job: Job) {
        match job {
            Job::Open { recording, header, file } => {
                let folder = self.config.folder.clone().unwrap_or_default();
                let apart = file.is_some();
                let path = file.unwrap_or_else(|| folder.join(format!("{}.jsonl", header.session)));
                if !apart {
                    let now = SystemTime::now();
                    prune(&folder, &self.config, now);
                }
                self.open
                    .insert(recording, Open::new(Parts::new(path, *header, self.config.max_recording_bytes)));
            }
            Job::Take { recording, at, since, source, missed, what } => {
                self.waiting.fetch_sub(what.weight() + OVERHEAD, Ordering::Relaxed);
                if let Some(open) = self.open.get_mut(&recording) {
                    let at = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                    open.at = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
                    open.us = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
                    open.take(source, missed, what);
                }
            }
            Job::Close { recording } => {
                if let Some(mut open) = self.open.remove(&recording) {
                    open.rest();
                    open.write();
                }
            }
            Job::Flush(done) => {
                self.open.values_mut().for_each(Open::write);
                let _ = done.send(());
            }
        }
    }
}

impl Open {
    fn new(parts: Parts) -> Self {
        Self { parts, lines: BTreeMap::new(), seq: 0, out: Vec::new(), at: 0, us: 0 }
    }

    fn take(&mut self, source: Source, missed: u64, what: What) {
        let mut lines = self.lines.remove(&source).unwrap_or_default();
        if missed > 0 {
            lines.rest(|line, more| self.line(source, line, more));
            self.entry(source, |entry| entry.missed = missed);
        }
        match what {
            What::Bytes(bytes) => lines.push(&bytes, |line, more| self.line(source, line, more)),
            What::Whole(bytes) => {
                chunker::pieces(&bytes, &mut |line, more| self.line(source, line, more));
            }
            What::End => {
                lines.rest(|line, more| self.line(source, line, more));
                self.entry(source, |entry| entry.end = true);
            }
            What::Exit(code) => self.entry(source, |entry| entry.exit = Some(code)),
        }
        if !lines.is_empty() {
            self.lines.insert(source, lines);
        }
    }

    /// Records the bytes after the last line end of each source.
    fn rest(&mut self) {
        for (source, mut lines) in std::mem::take(&mut self.lines) {
            lines.rest(|line, more| self.line(source, line, more));
        }
    }

    fn entry(&mut self, (call, direction): Source, fill: impl FnOnce(&mut Entry<'_>)) {
        let mut entry = Entry { call, ..Entry::new(self.seq + 1, self.at, self.us, direction) };
        fill(&mut entry);
        self.put(&entry);
    }

    fn line(&mut self, (call, direction): Source, line: &[u8], more: bool) {
        let entry = Entry::new(self.seq + 1, self.at, self.us, direction).with_bytes(line);
        self.put(&Entry { call, more, ..entry });
    }

    fn put(&mut self, entry: &Entry<'_>) {
        self.seq += 1;
        // Writing an entry as JSON into a vector cannot fail.
        let _ = serde_json::to_writer(&mut self.out, entry);
        self.out.push(b'\n');
        if self.out.len() > GATHER {
            self.write();
        }
    }

    fn write(&mut self) {
        if self.out.is_empty() {
            return;
        }
        if let Some(lost) = self.parts.write(&self.out) {
            // The lost entries had numbers, so the gap in the numbers shows the loss.
            let entry = Entry { missed: lost, ..Entry::new(self.seq + 1, self.at, self.us, Direction::Note) };
            self.out.clear();
            self.put(&entry);
            let _ = self.parts.write(&self.out);
        }
        self.out.clear();
        self.out.shrink_to(GATHER);
    }
}
