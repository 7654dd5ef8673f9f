//! How Codex sessions are driven.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

/// Which protocol of Codex is spoken.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Backend {
    /// `app-server` where the installed version has it as it is known here, else `mcp-server`.
    #[default]
    Auto,
    AppServer,
    McpServer,
}

/// The settings of the room `codex`.
#[derive(Clone, Debug)]
pub(crate) struct CodexConfig {
    /// Its program, a path or a name on the PATH; `None` is `codex`.
    pub(crate) program: Option<String>,
    pub(crate) backend: Backend,
    /// An approval that nobody answers is denied after this.
    pub(crate) approval_timeout: Duration,
    /// A thread without a turn lets its process go after this, where a new one can take it up.
    pub(crate) idle: Duration,
    /// Threads with a process at once.
    pub(crate) most_sessions: usize,
    /// Where a thread works whose prompt names no folder.
    pub(crate) folder: Option<PathBuf>,
    /// Where the runs have their folders. `None`: below the system's folder for temporary files.
    pub(crate) spool: Option<PathBuf>,
}

impl Default for CodexConfig {
    fn default() -> Self {
        Self {
            program: None,
            backend: Backend::Auto,
            approval_timeout: Duration::from_mins(10),
            idle: Duration::from_mins(15),
            most_sessions: 32,
            folder: None,
            spool: None,
        }
    }
}
