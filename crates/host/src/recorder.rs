//! The recorder: every byte of a connection, in both directions, as it was.
//!
//! A [`Tape`] takes bytes where they are read and written, and never waits: a thread of its own cuts them into lines
//! ([`chunker`]), gives each a number, and writes them ([`writer`], [`segments`]). What cannot be kept is counted and left
//! out; a full disk is logged once and breaks nothing. [`reader`] finds recordings and reads them again, [`redact`] takes
//! secrets out of what leaves the machine, [`replay`] plays one side of a recording.

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
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use adjutant_base::config::log::{Edge, LogConfig};
use adjutant_base::text::timefmt;
use format::{Direction, FORMAT, Header};
pub use tee::RecordedStream;
use writer::{Job, What, Writer};

/// Bytes that wait for the disk; past this they are counted and left out.
const BACKLOG: usize = 64 << 20;
/// What an entry weighs beside its bytes.
const OVERHEAD: usize = 128;
/// How long the end of a process waits for the disk.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Makes tapes. Cheap to clone; all clones share one thread, which starts with the first tape.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: LogConfig,
    /// `None` when the thread could not be started.
    writer: OnceLock<Option<Sender<Job>>>,
    waiting: Arc<AtomicUsize>,
    tapes: AtomicU64,
}

/// What a recording is of, for its header.
#[derive(Clone, Debug)]
pub struct Subject {
    pub edge: Edge,
    /// In a few words, such as `codex app-server 0.169.0`.
    pub about: String,
    /// The command line of the other side, where this program started it.
    pub command: Vec<String>,
}

impl Recorder {
    /// Does no I/O.
    pub fn new(config: LogConfig) -> Self {
        let writer = OnceLock::new();
        Self(Arc::new(Inner { config, writer, waiting: Arc::default(), tapes: AtomicU64::new(0) }))
    }

    /// Tells whether an edge is recorded.
    pub fn records(&self, edge: Edge) -> bool {
        self.0.config.folder.is_some() && self.0.config.record.contains(&edge)
    }

    /// Returns a tape for a new session at an edge; a silent one where that edge is not recorded.
    pub fn tape(&self, edge: Edge, about: &str) -> Tape {
        self.tape_of(Subject { edge, about: about.to_owned(), command: Vec::new() })
    }

    /// The same, of a command that this program starts.
    pub fn tape_of(&self, subject: Subject) -> Tape {
        if !self.records(subject.edge) {
            return Tape::silent();
        }
        self.begin(subject, None)
    }

    /// Records into a file that does not exist yet, whatever the configuration says.
    pub fn tape_into(&self, subject: Subject, file: PathBuf) -> Tape {
        self.begin(subject, Some(file))
    }

    /// Waits until what was recorded so far is written, for a moment at most: a disk that hangs keeps nobody.
    pub fn flush(&self) {
        if let Some(Some(writer)) = self.0.writer.get() {
            let (done, written) = sync_channel(1);
            if writer.send(Job::Flush(done)).is_ok() {
                let _ = written.recv_timeout(LAST_WORDS);
            }
        }
    }

    fn begin(&self, subject: Subject, file: Option<PathBuf>) -> Tape {
        let Some(writer) = self.writer() else { return Tape::silent() };
        let number = self.0.tapes.fetch_add(1, Ordering::Relaxed);
        let Subject { edge, about, command } = subject;
        let started = timefmt::stamp(SystemTime::now());
        let day = started.replace(['-', ':'], "");
        let header = Header {
            recording: FORMAT,
            adjutant: env!("CARGO_PKG_VERSION").to_owned(),
            edge,
            session: format!("{edge}-{day}-{}-{number}", std::process::id()),
            about,
            started,
            pid: std::process::id(),
            command,
            part: 0,
            redacted: None,
        };
        let reel = Reel {
            number,
            began: Instant::now(),
            writer,
            waiting: self.0.waiting.clone(),
            calls: AtomicU64::new(0),
            missed: Default::default(),
            order: Mutex::default(),
        };
        let _ = reel.writer.send(Job::Open { tape: number, header: Box::new(header), file });
        Tape { reel: Some(Arc::new(reel)), call: 0 }
    }

    fn writer(&self) -> Option<Sender<Job>> {
        let start = || {
            let (jobs, queue) = channel();
            let writer = Writer::new(self.0.config.clone(), self.0.waiting.clone());
            // It ends with the last sender, or with the process.
            let started =
                std::thread::Builder::new().name("recorder".to_owned()).spawn(move || writer.run(&queue));
            started.inspect_err(|error| tracing::warn!(%error, "nothing is recorded")).ok().map(|_| jobs)
        };
        self.0.writer.get_or_init(start).clone()
    }
}

/// What takes the bytes of one session. Cheap to clone; the recording ends with the last clone.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    reel: Option<Arc<Reel>>,
    /// The request of HTTP whose bytes it takes.
    call: u64,
}

#[derive(Debug)]
struct Reel {
    number: u64,
    began: Instant,
    writer: Sender<Job>,
    waiting: Arc<AtomicUsize>,
    /// Requests of HTTP so far.
    calls: AtomicU64,
    /// Bytes of each direction that were left out since the last that were taken.
    missed: [AtomicU64; Direction::COUNT],
    /// Held while a line is written and put on the tape, so that no answer to it can be there first.
    order: Mutex<()>,
}

impl Tape {
    /// A tape that takes nothing.
    pub fn silent() -> Self {
        Self::default()
    }

    /// Returns the same tape for the next request of HTTP: what it takes is known by that request's number.
    pub fn next_call(&self) -> Self {
        let number = |reel: &Arc<Reel>| reel.calls.fetch_add(1, Ordering::Relaxed) + 1;
        Self { call: self.reel.as_ref().map_or(0, number), reel: self.reel.clone() }
    }

    /// Takes bytes as they pass; where lines end in them does not matter.
    pub fn bytes(&self, direction: Direction, bytes: &[u8]) {
        self.take(direction, bytes, What::Bytes);
    }

    /// Takes one message, which may have line ends within it.
    pub fn whole(&self, direction: Direction, bytes: &[u8]) {
        self.take(direction, bytes, What::Whole);
    }

    /// Notes that nothing more will come in a direction.
    pub fn end(&self, direction: Direction) {
        self.send(direction, What::End);
    }

    /// Notes something that a reader wants to know, such as the name of a thread.
    pub fn note(&self, text: &str) {
        self.take(Direction::Note, text.as_bytes(), What::Whole);
    }

    /// Notes how the server's process ended.
    pub fn exited(&self, code: i32) {
        self.send(Direction::Note, What::Exit(code));
    }

    /// Keeps the tape for a writer that does not wait: what is read meanwhile is recorded after what it wrote.
    fn in_order(&self) -> Option<MutexGuard<'_, ()>> {
        self.reel.as_ref().map(|reel| reel.order.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self, direction: Direction, bytes: &[u8], what: fn(Vec<u8>) -> What) {
        let Some(reel) = &self.reel else { return };
        let weight = bytes.len() + OVERHEAD;
        if reel.waiting.load(Ordering::Relaxed) + weight > BACKLOG {
            reel.missed[direction as usize].fetch_add(bytes.len() as u64, Ordering::Relaxed);
            return;
        }
        self.send(direction, what(bytes.to_vec()));
    }

    fn send(&self, direction: Direction, what: What) {
        let Some(reel) = &self.reel else { return };
        let missed = reel.missed[direction as usize].swap(0, Ordering::Relaxed);
        let since = reel.began.elapsed();
        reel.waiting.fetch_add(what.weight() + OVERHEAD, Ordering::Relaxed);
        let at = SystemTime::now();
        // The thread ends only with the process.
        let (tape, source) = (reel.number, (self.call, direction));
        let _ = reel.writer.send(Job::Take { tape, at, since, source, missed, what });
    }
}

impl Drop for Reel {
    fn drop(&mut self) {
        let _ = self.writer.send(Job::Close { tape: self.number });
    }
}
