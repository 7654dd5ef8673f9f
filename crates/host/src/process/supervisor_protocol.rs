//! The protocol between the hub and a supervisor: one JSON value a line.
//!
//! The hub writes a [`SpawnRequest`] as the first line of the supervisor's stdin, then the bytes for the runner's
//! stdin, and leaves the pipe open: the pipe ends with the hub. Further lines are [`Request`]s. The supervisor writes
//! [`Event`]s to its stdout: `refused`, or `started`, `line`s and one `ended`. The socket `control` in the spool folder
//! of a run with `on_hub_exit: keep` has the same protocol: [`Request`]s in, events out, and `attach` requests all
//! lines from the first one on.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::output_line::OutputLine;
use super::supervised_run::{Command, Error, OnHubExit, Outcome, Timeouts};

/// Maximum bytes of a [`SpawnRequest`].
pub(super) const MAX_SPAWN_REQUEST_BYTES: usize = 16 << 20;
/// Maximum bytes for the runner's stdin.
pub(super) const MAX_INPUT_BYTES: u64 = 64 << 20;
/// File names in the spool folder.
pub(super) const CONTROL: &str = "control";
pub(super) const LOCK: &str = "lock";
pub(super) const NOT_STARTED: &str = "not-started";
pub(super) const OUTCOME: &str = "outcome.json";
pub(super) const RECORD: &str = "run.json";

/// The request to start a runner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpawnRequest {
    pub(super) argv: Vec<OsText>,
    pub(super) workdir: Workdir,
    pub(super) env: Vec<(OsText, OsText)>,
    /// Number of bytes for the runner's stdin after this line; `null` is `/dev/null`.
    pub(super) stdin: Option<u64>,
    /// The supervisor's stderr is a socket to the hub, and becomes the runner's stdin and stdout.
    #[serde(default)]
    pub(super) live: bool,
    pub(super) wall_ms: Option<u64>,
    pub(super) idle_ms: Option<u64>,
    pub(super) first_output_ms: Option<u64>,
    pub(super) grace_ms: u64,
    pub(super) spool: OsText,
    pub(super) cap: u64,
    pub(super) on_hub_exit: OnHubExit,
    #[serde(default)]
    pub(super) is_wrapped: bool,
    /// The value of [`super::MARK`] in the runner's environment.
    pub(super) mark: String,
}

/// A validated folder with its identity.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Workdir {
    pub(super) path: OsText,
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl SpawnRequest {
    pub(super) fn limits(&self) -> Limits {
        let wall = self.wall_ms.map(Duration::from_millis);
        Limits { wall, grace: Duration::from_millis(self.grace_ms) }
    }

    /// Returns the command of the request.
    pub(super) fn into_command(self, input: Option<Vec<u8>>) -> Command {
        Command {
            argv: self.argv.into_iter().map(|text| text.0).collect(),
            workdir: self.workdir.path.0.into(),
            env: self.env.into_iter().map(|(name, value)| (name.0, value.0)).collect(),
            stdin: input,
            timeouts: Timeouts {
                wall: self.wall_ms.map(Duration::from_millis),
                idle: self.idle_ms.map(Duration::from_millis),
                first_output: self.first_output_ms.map(Duration::from_millis),
            },
            grace: Duration::from_millis(self.grace_ms),
            spool: self.spool.0.into(),
            cap: self.cap,
            on_hub_exit: self.on_hub_exit,
            is_wrapped: self.is_wrapped,
        }
    }
}

/// A request to a running supervisor.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// End the run.
    Cancel,
    /// Send the lines from the first one on, and the end.
    Attach,
}

/// An event from a supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub(super) enum Event {
    /// The runner was not started.
    Refused { error: Error },
    /// The runner's process exists.
    Started { runner: i32 },
    /// A line of the runner's stdout.
    Line(OutputLine),
    /// The run and all its processes have ended.
    Ended { outcome: Outcome },
}

/// The record of a run, for the case that its supervisor is killed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) supervisor: i32,
    /// The process id of the guard and its start time. The guard ends the processes that a killed supervisor leaves.
    #[serde(default)]
    pub(super) guard: Option<(i32, u64)>,
    pub(super) runner: i32,
    /// Start time of the runner, in the kernel's ticks since boot.
    pub(super) runner_start: u64,
    pub(super) mark: String,
    #[serde(default)]
    pub(super) limits: Limits,
}

/// The times after which a supervisor should have ended its run.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Limits {
    pub(super) wall: Option<Duration>,
    pub(super) grace: Duration,
}

/// Text of the operating system in JSON. A byte that is not UTF-8 becomes `\0` and two hex digits, because no argument,
/// variable or path contains a zero byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub(super) struct OsText(pub(super) OsString);

impl From<&OsStr> for OsText {
    fn from(text: &OsStr) -> Self {
        Self(text.to_owned())
    }
}

impl From<OsText> for String {
    fn from(text: OsText) -> Self {
        let mut json = String::with_capacity(text.0.len());
        for chunk in text.0.as_bytes().utf8_chunks() {
            json.push_str(chunk.valid());
            for byte in chunk.invalid() {
                let _ = write!(json, "\0{byte:02x}");
            }
        }
        json
    }
}

impl From<String> for OsText {
    fn from(json: String) -> Self {
        if !json.contains('\0') {
            return Self(json.into());
        }
        let mut parts = json.split('\0');
        let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        for part in parts {
            let (digits, rest) = part.split_at_checked(2).unwrap_or(("", part));
            bytes.extend(u8::from_str_radix(digits, 16));
            bytes.extend(rest.as_bytes());
        }
        Self(OsString::from_vec(bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{OsString, OsStringExt, OsText};

    proptest! {
        #[test]
        fn any_os_text_survives_json(bytes in proptest::collection::vec(1u8.., 0..40)) {
            let text = OsText(OsString::from_vec(bytes));
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<OsText>(&json).unwrap(), text);
        }
    }
}
