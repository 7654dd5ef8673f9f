//! Runners: the coding-agent CLIs that do an agent's work, each with its command line per permission level, its
//! environment and its way of telling what happened.
//!
//! Nothing here starts a process or reads the disk: [`Runner::prepare`] says what to start, a [`Reader`] is fed what
//! the process wrote, and both are plain functions of their arguments.

pub(crate) mod environment;
pub(crate) mod failure;
pub(crate) mod reader;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use environment::Environment;
use reader::Reader;

use super::definition::Permission;

/// A CLI that can run an agent.
#[derive(Clone, Debug)]
pub(crate) enum Runner {
    Codex,
    Copilot,
    Claude,
    Gemini,
    Opencode,
    /// Any other CLI, as the configuration describes it.
    Command(Arc<CommandRunner>),
}

/// Which of a runner's command lines is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Our own: structured events, the prompt on stdin, the permission level asked for.
    Own,
    /// The documented one of the `agents` contract, to the letter where the prompt fits into an argument.
    Contract,
}

/// One run, as the room asks for it.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// The runner's executable, as [`crate::agents::select`] found it.
    pub(crate) program: &'a Path,
    /// Persona and task, already put together.
    pub(crate) prompt: &'a str,
    /// Absolute, checked.
    pub(crate) workdir: &'a Path,
    /// A folder for files that belong to this run alone; it exists when the process starts.
    pub(crate) scratch: &'a Path,
    pub(crate) permission: Permission,
    pub(crate) model: Option<&'a str>,
    /// JSON Schema that the final message must follow.
    pub(crate) schema: Option<&'a serde_json::Value>,
    /// The session of an earlier run of the same runner, to go on with.
    pub(crate) resume: Option<&'a str>,
    pub(crate) form: Form,
    /// The hub's environment, of which the run gets what the runner may have.
    pub(crate) environment: &'a Environment,
    /// Variables of the agent's own, on top.
    pub(crate) env: &'a BTreeMap<String, String>,
}

/// What to start.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) argv: Vec<OsString>,
    /// Written to the process and closed; `None` means an empty stdin.
    pub(crate) stdin: Option<Vec<u8>>,
    /// The whole environment of the process.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Files to write before the start, all below `scratch`.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    /// Where the runner leaves its final message; its text is handed to [`Reader::finish`].
    pub(crate) final_message: Option<PathBuf>,
    /// Whether the runner itself holds the answer to `schema`; where not, the caller validates.
    pub(crate) schema: SchemaHeld,
    /// Reads what this very command line writes.
    pub(crate) reader: Reader,
}

/// Who sees to it that the answer follows the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaHeld {
    /// The CLI was told by a flag of its own.
    ByRunner,
    /// Nobody yet: no schema was asked for, or the CLI has no flag for it.
    ByNobody,
}

/// Why a runner will not start this. The text is for the person or the model who asked; it names no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// The CLI has no way to hold the level.
    #[error("{runner} cannot run at permission level `{}`: {reason}", permission.name())]
    Permission { runner: String, permission: Permission, reason: String },
    /// The CLI has no way to do it.
    #[error("{runner} cannot {what}")]
    Unable { runner: String, what: &'static str },
}

/// A CLI that the configuration describes.
#[derive(Debug)]
pub(crate) struct CommandRunner {
    pub(crate) name: String,
}

impl Runner {
    /// Returns the name that people write: `codex`, or the configured one.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Command(command) => &command.name,
        }
    }

    /// Says what to start for `request`, or why this runner will not.
    pub(crate) fn prepare(&self, request: &Request<'_>) -> Result<Prepared, Refused> {
        let _ = request;
        Err(Refused::Unable { runner: self.name().to_owned(), what: "run yet" })
    }
}
