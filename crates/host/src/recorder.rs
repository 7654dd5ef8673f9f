//! The recorder of connections: every byte in both directions, unchanged.
//!
//! A [`Recording`] records bytes where they are read and written, and never waits: a separate thread splits them into lines
//! ([`chunker`]), numbers the lines, and writes them ([`writer`], [`segments`]). Bytes that cannot be kept are counted
//! and left out; a full disk is logged once and breaks nothing. [`reader`] finds and reads recordings, [`redact`]
//! removes secrets from text that leaves the machine, [`replay`] plays one side of a recording.

mod chunker;
pub mod format;
pub mod http_head;
pub mod reader;
pub mod redact;
pub mod replay;
mod segments;
mod tee;
mod writer;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use adjutant_base::config::recorder::{RecordedConnection, RecorderConfig};
use adjutant_base::mutex::lock;
use adjutant_base::text::timefmt;
use format::{Direction, FORMAT, Header};
pub use tee::RecordedStream;
use writer::{Job, What, Writer};

/// Maximum bytes that wait for the disk; more are counted and left out.
const BACKLOG: usize = 64 << 20;
/// Bytes that count for an entry in addition to its content.
const OVERHEAD: usize = 128;
/// Timeout of the last writes at the end of a process.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Starts recordings. Cheap to clone; all clones share one thread, which starts with the first recording.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: RecorderConfig,
    /// `None` if the thread could not be started.
    writer: OnceLock<Option<Sender<Job>>>,
    waiting: Arc<AtomicUsize>,
    recordings: AtomicU64,
}

/// The subject of a recording, for its header.
#[derive(Clone, Debug)]
pub struct Subject {
    pub connection: RecordedConnection,
    /// A short description, such as `codex app-server 0.169.0`.
    pub about: String,
    /// The command line of the other side, if this program started it.
    pub command: Vec<String>,
}

impl Recorder {
    /// Creates a recorder without any I/O.
    pub fn new(config: RecorderConfig) -> Self {
        let writer = OnceLock::new();
        Self(Arc::new(Inner { config, writer, waiting: Arc::default(), recordings: AtomicU64::new(0) }))
    }

    /// Returns whether connections of this kind are recorded.
    pub fn records(&self, connection: RecordedConnection) -> bool {
        self.0.config.folder.is_some() && self.0.config.record.contains(&connection)
    }

    /// Returns a recording for a new connection of this kind; a silent recording if the kind is not recorded.
    pub fn recording(&self, connection: RecordedConnection, about: &str) -> Recording {
        self.recording_of(Subject { connection, about: about.to_owned(), command: Vec::new() })
    }

    /// Like [`Self::recording`], for a command that this program starts.
    pub fn recording_of(&self, subject: Subject) -> Recording {
        if !self.records(subject.connection) {
            return Recording::silent();
        }
        self.begin(subject, None)
    }

    /// Records into a file that does not exist yet, regardless of the configuration.
    pub fn recording_into(&self, subject: Subject, file: PathBuf) -> Recording {
        self.begin(subject, Some(file))
    }

    /// Waits until all bytes recorded so far are written, for a few seconds at most, because a disk may hang.
    pub fn flush(&self) {
        if let Some(Some(writer)) = self.0.writer.get() {
            let (done, written) = sync_channel(1);
            if writer.send(Job::Flush(done)).is_ok() {
                let _ = written.recv_timeout(LAST_WORDS);
            }
        }
    }

    fn begin(&self, subject: Subject, file: Option<PathBuf>) -> Recording {
        let Some(writer) = self.writer() else { return Recording::silent() };
        let number = self.0.recordings.fetch_add(1, Ordering::Relaxed);
        let Subject { connection, about, command } = subject;
        let started = timefmt::stamp(SystemTime::now());
        let day = started.replace(['-', ':'], "");
        let header = Header {
            recording: FORMAT,
            adjutant: env!("CARGO_PKG_VERSION").to_owned(),
            connection,
            session: format!("{}-{day}-{}-{number}", connection.name(), std::process::id()),
            about,
            started,
            pid: std::process::id(),
            command,
            part: 0,
        };
        let state = RecordingState {
            number,
            began: Instant::now(),
            writer,
            waiting: self.0.waiting.clone(),
            calls: AtomicU64::new(0),
            missed: Default::default(),
            order: Mutex::default(),
        };
        let _ = state.writer.send(Job::Open { recording: number, header: Box::new(header), file });
        Recording { state: Some(Arc::new(state)), call: 0 }
    }

    fn writer(&self) -> Option<Sender<Job>> {
        let start = || {
            let (jobs, queue) = channel();
            let writer = Writer::new(self.0.config.clone(), self.0.waiting.clone());
            // The thread ends with the last sender, or with the process.
            let started =
                std::thread::Builder::new().name("recorder".to_owned()).spawn(move || writer.run(&queue));
            started.inspect_err(|error| tracing::warn!(%error, "nothing is recorded")).ok().map(|_| jobs)
        };
        self.0.writer.get_or_init(start).clone()
    }
}

/// The recording of one connection. Cheap to clone; the recording ends with the last clone.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    state: Option<Arc<RecordingState>>,
    /// The number of the HTTP request that the bytes belong to; 0 for none.
    call: u64,
}

#[derive(Debug)]
struct RecordingState {
    number: u64,
    began: Instant,
    writer: Sender<Job>,
    waiting: Arc<AtomicUsize>,
    /// Number of HTTP requests so far.
    calls: AtomicU64,
    /// Bytes of each direction that were left out since the last recorded ones.
    missed: [AtomicU64; Direction::ALL.len()],
    /// Held while a line is written and recorded, so that no answer to it is recorded first.
    order: Mutex<()>,
}

impl Recording {
    /// Returns a recording that records nothing.
    pub fn silent() -> Self {
        Self::default()
    }

    /// Returns the same recording for the next HTTP request; its bytes carry the number of that request.
    pub fn next_call(&self) -> Self {
        let number = |state: &Arc<RecordingState>| state.calls.fetch_add(1, Ordering::Relaxed) + 1;
        Self { call: self.state.as_ref().map_or(0, number), state: self.state.clone() }
    }

    /// Records bytes as they pass; they may begin or end within a line.
    pub fn bytes(&self, direction: Direction, bytes: &[u8]) {
        self.take(direction, bytes, What::Bytes);
    }

    /// Records one message, which may contain line ends.
    pub fn whole(&self, direction: Direction, bytes: &[u8]) {
        self.take(direction, bytes, What::Whole);
    }

    /// Records the end of a direction.
    pub fn end(&self, direction: Direction) {
        self.send(direction, What::End);
    }

    /// Records a note for readers, such as the name of a thread.
    pub fn note(&self, text: &str) {
        self.take(Direction::Note, text.as_bytes(), What::Whole);
    }

    /// Records the exit code of the server's process.
    pub fn exited(&self, code: i32) {
        self.send(Direction::Note, What::Exit(code));
    }

    /// Locks the order of lines during a write, so that bytes that are read meanwhile are recorded after the written
    /// ones.
    fn in_order(&self) -> Option<MutexGuard<'_, ()>> {
        self.state.as_ref().map(|state| lock(&state.order))
    }

    fn take(&self, direction: Direction, bytes: &[u8], what: fn(Vec<u8>) -> What) {
        let Some(state) = &self.state else { return };
        let weight = bytes.len() + OVERHEAD;
        if state.waiting.load(Ordering::Relaxed) + weight > BACKLOG {
            state.missed[direction as usize].fetch_add(bytes.len() as u64, Ordering::Relaxed);
            return;
        }
        self.send(direction, what(bytes.to_vec()));
    }

    fn send(&self, direction: Direction, what: What) {
        let Some(state) = &self.state else { return };
        let missed = state.missed[direction as usize].swap(0, Ordering::Relaxed);
        let since = state.began.elapsed();
        state.waiting.fetch_add(what.weight() + OVERHEAD, Ordering::Relaxed);
        let at = SystemTime::now();
        // Sending cannot fail, because the thread ends only with the process.
        let (recording, source) = (state.number, (self.call, direction));
        let _ = state.writer.send(Job::Take { recording, at, since, source, missed, what });
    }
}

impl Drop for RecordingState {
    fn drop(&mut self) {
        let _ = self.writer.send(Job::Close { recording: self.number });
    }
}
