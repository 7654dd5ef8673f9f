//! A supervised run: its command, its events and its outcome.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::spool::Spooled;

/// How long a runner has between the request to stop and SIGKILL.
pub const GRACE: Duration = Duration::from_millis(1500);

/// What to run. The supervisor adds one variable to `env`, [`super::MARK`], by which the run's processes are
/// known after a crash.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program, a path or a name on the `PATH` of `env`, and its arguments.
    pub argv: Vec<OsString>,
    /// An absolute folder. What it is when [`super::start`] is called is what the runner works in: a link that is
    /// swapped afterwards makes the start fail.
    pub workdir: PathBuf,
    /// The whole environment; nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// Bytes for stdin, which is closed after them; `None` is `/dev/null`.
    pub stdin: Option<Vec<u8>>,
    /// When the run is ended by itself.
    pub timeouts: Timeouts,
    /// How long the runner has between the request to stop and SIGKILL; usually [`GRACE`].
    pub grace: Duration,
    /// An absolute folder that does not exist yet; the supervisor makes it, 0700, and what is missing above it.
    pub spool: PathBuf,
    /// Bytes kept on disk of each stream, half of them from its head.
    pub cap: u64,
    /// What happens to the run when this process ends.
    pub on_hub_exit: OnHubExit,
}

/// The limits of a run; `None` is no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    /// For the whole run.
    pub wall: Option<Duration>,
    /// Between two outputs, on whichever stream.
    pub idle: Option<Duration>,
    /// Until the first byte on stdout.
    pub first_output: Option<Duration>,
}

/// What happens to a run when the hub ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnHubExit {
    /// It is killed at once, with all its descendants.
    Kill,
    /// It goes on, and the next hub takes it up with [`super::resume()`].
    Keep,
}

/// A line of the runner's stdout, without its end, invalid UTF-8 replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputLine {
    /// The line, at most 1 MiB of it.
    pub text: String,
    /// The same as it was written, where `text` is not.
    pub raw: Option<Vec<u8>>,
    /// Bytes of this line that were left out at its end.
    pub cut: u64,
    /// Bytes of stdout that were lost before this line, because they fell out of the spool before they were read.
    pub missed: u64,
}

/// How a run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// What the runner's own process returned.
    pub exit: Exit,
    /// Why the run is over.
    pub cause: Cause,
    /// Descendants of the runner that could not be ended; 0 is proven by the kernel, not guessed.
    pub processes_left: u32,
    /// From start to the end of the last process.
    #[serde(rename = "wall_us", with = "micros")]
    pub wall: Duration,
    /// Processor time of the runner and its descendants.
    #[serde(rename = "cpu_us", with = "micros")]
    pub cpu: Duration,
    /// Largest resident memory of the runner and its descendants together that was seen, in bytes.
    pub peak_rss: u64,
    /// What it wrote to stdout.
    pub stdout: Spooled,
    /// What it wrote to stderr.
    pub stderr: Spooled,
}

impl Outcome {
    /// The end of a run that nobody saw, as far as its spool tells.
    pub(super) fn unseen(spool: &Path) -> Self {
        Self {
            exit: Exit::Unknown,
            cause: Cause::Lost,
            processes_left: 0,
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
            peak_rss: 0,
            stdout: Spooled::found(spool, "stdout"),
            stderr: Spooled::found(spool, "stderr"),
        }
    }
}

/// What the runner's process returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
    /// It never ran: the program could not be executed.
    NotStarted,
    /// Nobody saw its end: the supervisor was killed.
    Unknown,
}

/// Why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The runner ended by itself.
    Exited,
    /// It was cancelled.
    Cancelled,
    /// It ran into this limit.
    TimedOut(Limit),
    /// The hub ended, and the run with it.
    HubGone,
    /// The supervisor was killed; what could be found of the run was ended.
    Lost,
}

/// A limit of [`Timeouts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The whole run.
    Wall,
    /// No output.
    Idle,
    /// No first output.
    FirstOutput,
}

/// Why a run could not be started or taken up.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    /// The program is not installed, or not on the `PATH` that the run gets.
    #[error("the program `{program}` was not found")]
    NotFound {
        /// As it was asked for.
        program: String,
    },
    /// The working directory is not what it was, or not a folder.
    #[error("the working directory {0}")]
    Workdir(String),
    /// argv or the environment cannot be given to a process.
    #[error("the command line {0}")]
    Argv(String),
    /// The spool folder cannot be made, or there is no run in it.
    #[error("the spool folder {0}")]
    Spool(String),
    /// The supervisor or the runner could not be started.
    #[error("the run could not be started: {0}")]
    Spawn(String),
}

/// Durations in JSON, as whole microseconds.
mod micros {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_micros)
    }
}
