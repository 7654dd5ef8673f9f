//! Command line of a runner: what it is built from, and its parts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::custom::config::CustomRunner;
use super::environment::RunnerEnv;
use crate::definition::Permission;

/// The variants of a runner's command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandVariant {
    /// This program's own: structured events, the prompt on stdin, the permission level asked for.
    Native,
    /// The documented one of the `agents` contract, to the letter where the prompt fits into an argument.
    Contract,
}

/// The input of a runner's command line.
#[derive(Debug)]
pub struct AttemptSpec<'a> {
    /// The runner's executable, as [`crate::selector`] found it.
    pub program: &'a Path,
    /// Persona and task, already joined.
    pub prompt: &'a str,
    /// An absolute, checked path.
    pub workdir: &'a Path,
    /// A folder for the files of this attempt alone; it exists when the process starts.
    pub scratch: &'a Path,
    pub permission: Permission,
    pub model: Option<&'a str>,
    /// JSON Schema that the final message must follow.
    pub schema: Option<&'a serde_json::Value>,
    /// The session of an earlier attempt of the same runner, to resume.
    pub session: Option<&'a str>,
    pub variant: CommandVariant,
    /// The hub's environment; the runner gets its allowed part.
    pub environment: &'a RunnerEnv,
    /// The agent's own variables, added on top.
    pub env: &'a BTreeMap<String, String>,
}

/// Files that a runner writes.
#[derive(Clone, Debug, Default)]
pub struct OutputFiles {
    /// The final message as text, below `scratch`.
    pub final_message: Option<PathBuf>,
    /// The usage of the run in the runner's own format, below `scratch`.
    pub usage: Option<PathBuf>,
    /// The folder of Codex's own sessions.
    pub sessions: Option<PathBuf>,
}

/// Whether a runner itself enforces the schema of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaEnforcement {
    /// The runner got the schema by a flag.
    Runner,
    /// No schema was asked for, or the runner has no flag for it.
    #[default]
    None,
}

/// Why a runner rejects an attempt. The text is for the user or the model that asked; it names no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The CLI cannot enforce the permission level.
    #[error("{runner} cannot run at permission level `{}`: {reason}", permission.name())]
    Permission { runner: String, permission: Permission, reason: String },
    /// The CLI lacks a feature.
    #[error("{runner} cannot {what}")]
    Unable { runner: String, what: &'static str },
}

/// The format of a runner's stdout, which depends on the runner and on the command line.
#[derive(Clone, Debug)]
pub(super) enum OutputFormat {
    /// `codex exec --json`
    Codex,
    /// `copilot --output-format json`
    Copilot,
    /// The final message of `copilot -p`, with statistics on stderr.
    CopilotText,
    /// `claude --output-format stream-json`
    Claude,
    /// `gemini --output-format stream-json`
    Gemini,
    /// `opencode run --format json`
    Opencode,
    /// The final message, as text, and nothing else.
    Text,
    /// The format that the configuration describes.
    Custom(Arc<CustomRunner>),
}

/// Most bytes of a prompt that is given as an argument; Linux takes 131,071 bytes in one.
pub(super) const MAX_ARGUMENT: usize = 120_000;

/// A command line under construction, without its program.
#[derive(Debug, Default)]
pub(super) struct CommandLine {
    pub(super) arguments: Vec<OsString>,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) env: Vec<(String, String)>,
    /// Variables that this attempt must not get, although its runner may have them.
    pub(super) without: Vec<&'static str>,
    pub(super) files: Vec<(PathBuf, Vec<u8>)>,
    pub(super) output_files: OutputFiles,
    pub(super) schema: SchemaEnforcement,
    pub(super) format: Option<OutputFormat>,
}

impl CommandLine {
    pub(super) fn arg(&mut self, argument: impl Into<OsString>) -> &mut Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds an option with its value, if there is one.
    pub(super) fn option(&mut self, name: &str, value: Option<&str>) {
        self.arguments.extend(value.into_iter().flat_map(|value| [name, value]).map(OsString::from));
    }

    pub(super) fn stdin(&mut self, prompt: &str) {
        self.stdin = Some(prompt.as_bytes().to_vec());
    }

    pub(super) fn env(&mut self, name: &str, value: impl Into<String>) {
        self.env.push((name.to_owned(), value.into()));
    }
}

impl AttemptSpec<'_> {
    /// Returns whether the prompt can be an argument without being read as a flag.
    pub(super) fn fits_an_argument(&self) -> bool {
        self.prompt.len() <= MAX_ARGUMENT && !self.prompt.starts_with('-') && !self.prompt.contains('\0')
    }

    /// Returns the refusal of a runner that cannot enforce the permission level.
    pub(super) fn rejection(&self, runner: &str, reason: &str) -> Rejection {
        let (runner, reason) = (runner.to_owned(), reason.to_owned());
        Rejection::Permission { runner, permission: self.permission, reason }
    }
}
