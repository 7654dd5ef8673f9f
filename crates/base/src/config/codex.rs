//! Settings of Codex threads.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::table::{Plain, Seconds};

/// A protocol of Codex.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// `app-server` if the installed version has it in the form that this program supports, else `mcp-server`.
    #[default]
    Auto,
    AppServer,
    McpServer,
}

super::table::settings! {
    /// The settings of Codex threads.
    #[derive(Clone, Debug)]
    pub struct CodexConfig, file File, section "codex" {
        /// The Codex program; `codex` on the PATH if not set.
        program: Option<String> = None, program as Plain;
        /// Protocol of Codex: `auto`, `app-server` or `mcp-server`.
        backend: Backend = Backend::Auto, backend as Plain;
        /// Seconds after which an unanswered approval counts as denied.
        approval_timeout: Duration = Duration::from_mins(10), approval_timeout_seconds as Seconds;
        /// Seconds that a thread without a turn keeps its process.
        idle: Duration = Duration::from_mins(15), idle_seconds as Seconds;
        /// Maximum number of threads with a process at once.
        max_sessions: usize = 32, max_sessions as Plain;
    }
    others {
        /// Working folder of a thread if its prompt names none.
        folder: Option<PathBuf> = None;
        /// Folder of the runs. `None`: below the system's folder for temporary files.
        spool: Option<PathBuf> = None;
        /// Folder of the worktrees of threads. `None`: there are none.
        worktrees: Option<PathBuf> = None;
    }
}
