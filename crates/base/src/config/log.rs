//! What the flight recorder keeps.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Where lines pass between this program and another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Edge {
    /// `codex app-server` or `codex mcp-server`, which the hub talks with.
    Codex,
    /// A client of `/mcp`.
    Http,
    /// The command line of an agent that a task was handed to.
    Runner,
    /// A client of the hub's socket.
    Socket,
    /// A client on stdin and stdout.
    Stdio,
    /// Two strangers with `adjutant tap` between them; recorded because that was asked for.
    Tap,
}

impl Edge {
    /// The word in the file's name and on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Http => "http",
            Self::Runner => "runner",
            Self::Socket => "socket",
            Self::Stdio => "stdio",
            Self::Tap => "tap",
        }
    }
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The settings of the recorder.
#[derive(Clone, Debug)]
pub(crate) struct LogConfig {
    /// The edges that are recorded.
    pub(crate) record: Vec<Edge>,
    /// Where recordings are kept; `None` records nothing, for a process without a home.
    pub(crate) folder: Option<PathBuf>,
    /// Bytes of one recording: half of them from its beginning, the rest from its end.
    pub(crate) largest: u64,
    /// Bytes of all recordings; the oldest go first.
    pub(crate) keep_bytes: u64,
    /// Recordings that are kept.
    pub(crate) keep_count: usize,
    /// A recording goes when nothing was added to it for so long.
    pub(crate) keep_for: Duration,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            record: vec![Edge::Codex],
            folder: None,
            largest: 64 << 20,
            keep_bytes: 512 << 20,
            keep_count: 500,
            keep_for: Duration::from_hours(14 * 24),
        }
    }
}
