//! Settings of the recorder.

use std::path::PathBuf;
use std::time::Duration;

use super::table::{Days, Plain};

crate::named_enum! {
    /// The kind of a recorded connection.
    RecordedConnection {
        /// The hub and `codex app-server` or `codex mcp-server`.
        Codex = "codex",
        /// A client of `/mcp`.
        Http = "http",
        /// The hub and the runner of a task.
        Runner = "runner",
        /// A client of the hub's socket.
        Socket = "socket",
        /// A client on stdin and stdout.
        Stdio = "stdio",
        /// A client and a server with `adjutant tap` between them; always recorded.
        Tap = "tap",
    }
}

super::table::settings! {
    /// The settings of the recorder.
    #[derive(Clone, Debug)]
    pub struct RecorderConfig, file File, section "log" {
        /// Connections that are recorded.
        record: Vec<RecordedConnection> = vec![RecordedConnection::Codex], record as Plain;
        /// Maximum bytes of one recording.
        max_recording_bytes: u64 = 64 << 20, max_recording_bytes as Plain;
        /// Maximum bytes of all recordings.
        keep_bytes: u64 = 512 << 20, keep_bytes as Plain;
        /// Number of recordings that are kept.
        keep_count: usize = 500, keep_count as Plain;
        /// Days that a recording is kept.
        keep_for: Duration = Duration::from_hours(14 * 24), keep_days as Days;
    }
    others {
        /// The folder of recordings; `None` for a process without a home, which records nothing.
        folder: Option<PathBuf> = None;
    }
}
