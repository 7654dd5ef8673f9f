//! Settings of the recorder.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::table::{Days, Plain};

/// Where lines pass between this program and another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Edge {
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
    pub fn as_str(self) -> &'static str {
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

super::table::settings! {
    /// The settings of the recorder.
    #[derive(Clone, Debug)]
    pub struct LogConfig, file File, section "log" {
        /// Connections that are recorded.
        record: Vec<Edge> = vec![Edge::Codex], record as Plain;
        /// Maximum bytes of one recording.
        largest: u64 = 64 << 20, max_recording_bytes as Plain;
        /// Maximum bytes of all recordings.
        keep_bytes: u64 = 512 << 20, keep_bytes as Plain;
        /// Number of recordings that are kept.
        keep_count: usize = 500, keep_count as Plain;
        /// Days that a recording is kept.
        keep_for: Duration = Duration::from_hours(14 * 24), keep_days as Days;
    }
    others {
        /// Where recordings are kept; `None` records nothing, for a process without a home.
        folder: Option<PathBuf> = None;
    }
}
