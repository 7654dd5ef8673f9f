//! A supervised run: its command, its events and its outcome.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::spool::Spooled;

/// Default time between the request to stop and SIGKILL.
pub const GRACE: Duration = Duration::from_millis(1500);

/// The command of a run. The supervisor adds the variable [`super::MARK`] to `env`, which identifies the processes of
/// the run after a crash.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program, a path or a name on the `PATH` of `env`, and its arguments.
    pub argv: Vec<OsString>,
    /// An absolute folder. It is identified when [`super::start`] is called: a link that is swapped afterwards makes
    /// the start fail.
    pub workdir: PathBuf,
    /// The whole environment; nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// Bytes for stdin, which is closed after them; `None` is `/dev/null`.
    pub stdin: Option<Vec<u8>>,
    /// The limits after which the run is ended.
    pub timeouts: Timeouts,
    /// Time between the request to stop and SIGKILL; by default [`GRACE`].
    pub grace: Duration,
    /// An absolute folder that does not exist yet; the supervisor creates it with mode 0700, and missing parents.
    pub spool: PathBuf,
    /// Bytes kept on disk of each stream, half of them from its head.
    pub cap: u64,
    /// The effect on the run when this process ends.
    pub on_hub_exit: OnHubExit,
    /// Set if the program only starts the command and ends it at a signal, as a sandbox does: the request to stop goes to
    /// the command alone.
    pub is_wrapped: bool,
}

/// The limits of a run; `None` disables a limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    /// For the whole run.
    pub wall: Option<Duration>,
    /// Between two outputs on either stream.
    pub idle: Option<Duration>,
    /// Until the first byte on stdout.
    pub first_output: Option<Duration>,
}

adjutant_base::named_enum! {
    /// The fate of a run when its hub exits.
    #[derive(Default)]
    OnHubExit {
        /// It is killed at once, with all its descendants.
        #[default]
        Kill = "kill",
        /// It continues, and the next hub resumes it with [`super::resume()`].
        Keep = "keep",
    }
}

/// The outcome of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The exit status of the runner's process.
    pub exit: Exit,
    /// The reason for the end of the run.
    pub cause: Cause,
    /// Number of descendants of the runner that could not be killed; 0 is confirmed by the kernel.
    pub processes_left: u32,
    /// Whether all descendants were counted. They were not if the supervisor was killed together with its guard: then
    /// processes that dropped the mark may be left.
    #[serde(default)]
    pub is_counted: bool,
    /// From start to the end of the last process.
    #[serde(rename = "wall_us", with = "micros")]
    pub wall: Duration,
    /// Processor time of the runner and its descendants.
    #[serde(rename = "cpu_us", with = "micros")]
    pub cpu: Duration,
    /// Maximum resident memory of the runner and its descendants that was measured, in bytes.
    pub peak_rss: u64,
    /// Its output on stdout.
    pub stdout: Spooled,
    /// Its output on stderr.
    pub stderr: Spooled,
}

impl Outcome {
    /// Returns the outcome of a run with an unobserved end, with the output in its spool.
    pub(super) fn unobserved(spool: &Path) -> Self {
        Self {
            exit: Exit::Unknown,
            cause: Cause::Lost,
            processes_left: 0,
            is_counted: false,
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
            peak_rss: 0,
            stdout: Spooled::found(spool, "stdout"),
            stderr: Spooled::found(spool, "stderr"),
        }
    }
}

/// The exit status of the runner's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
    /// The program could not be executed.
    NotStarted,
    /// Unknown, because the supervisor was killed.
    Unknown,
}

/// The reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The runner ended by itself.
    Exited,
    /// It was cancelled.
    Cancelled,
    /// It reached this limit.
    TimedOut(Limit),
    /// The hub ended, and the run with it.
    HubGone,
    /// The supervisor was killed. Its guard killed the remaining processes of the run.
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

/// The reason why a run could not be started or resumed.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    /// The program is not installed, or not on the `PATH` that the run gets.
    #[error("the program `{program}` was not found")]
    NotFound {
        /// As it was requested.
        program: String,
    },
    /// The working directory was replaced, or is not a folder.
    #[error("the working directory {0}")]
    Workdir(String),
    /// The arguments or the environment cannot be passed to a process.
    #[error("the command line {0}")]
    Argv(String),
    /// The spool folder cannot be created, or holds no run.
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
