//! Runners: the coding-agent CLIs that do a task, each with its command lines, its environment and its output format.
//!
//! No runner starts a process: [`Runner::prepare`] returns the command to start, and an [`OutputParser`] reads what the
//! process writes.

mod claude;
pub mod codex;
pub(crate) mod command_line;
mod copilot;
pub mod custom;
pub mod environment;
pub mod failure;
mod gemini;
mod head_tail_buffer;
mod opencode;
pub(crate) mod output_parser;
pub mod probe;
pub(crate) mod progress;
pub(crate) mod run_state;
pub(crate) mod sanitize;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use command_line::OutputFormat;
use custom::config::CustomRunner;
use output_parser::OutputParser;

pub use command_line::{AttemptSpec, CommandVariant, OutputFiles, Rejection, SchemaEnforcement};

/// A CLI that can run an agent.
#[derive(Clone, Debug)]
pub enum Runner {
    Codex,
    Copilot,
    Claude,
    Gemini,
    Opencode,
    /// Any other CLI, as the configuration describes it.
    Custom(Arc<CustomRunner>),
}

/// A runner's command line, ready to be started.
#[derive(Debug)]
pub struct PreparedCommand {
    pub argv: Vec<OsString>,
    /// Written to the process and closed; `None` means an empty stdin.
    pub stdin: Option<Vec<u8>>,
    /// The whole environment of the process.
    pub env: Vec<(OsString, OsString)>,
    /// Files to write before the start, all below `scratch`.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// The files to read for [`OutputParser::finish`].
    pub output_files: OutputFiles,
    /// Whether the runner itself enforces `schema`; otherwise the executor validates the answer.
    pub schema: SchemaEnforcement,
    /// Parses the output of this very command line.
    pub parser: OutputParser,
}

impl Runner {
    /// The runners that need no configuration.
    pub(crate) const BUILT_IN: [Self; 5] =
        [Self::Codex, Self::Copilot, Self::Claude, Self::Gemini, Self::Opencode];

    /// Returns the name in commands and files: `codex`, or the configured one.
    pub fn name(&self) -> &str {
        match self {
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Custom(custom) => &custom.name,
        }
    }

    /// Returns the name by which its program is searched on the `PATH`.
    pub fn program(&self) -> &str {
        match self {
            Self::Custom(custom) => custom.argv.first().map_or(custom.name.as_str(), String::as_str),
            built_in => built_in.name(),
        }
    }

    /// Returns the command that prints the version of the runner, whose program is at `program`; `None` for a custom
    /// runner whose configuration names no such command, because its own command may do anything.
    pub fn version_command(&self, program: &Path) -> Option<Vec<OsString>> {
        match self {
            Self::Custom(custom) if custom.version_command.is_empty() => None,
            Self::Custom(custom) => Some(custom.version_command.iter().map(OsString::from).collect()),
            Self::Codex | Self::Copilot | Self::Claude | Self::Gemini | Self::Opencode => {
                Some(vec![program.into(), "--version".into()])
            }
        }
    }

    /// Returns the built-in runner of a name.
    pub(crate) fn built_in(name: &str) -> Option<Self> {
        Self::BUILT_IN.into_iter().find(|runner| runner.name() == name)
    }

    /// Builds the command line of an attempt, or returns why this runner rejects it.
    pub fn prepare(&self, spec: &AttemptSpec<'_>) -> Result<PreparedCommand, Rejection> {
        let (variables, line) = match self {
            Self::Codex => (codex::VARIABLES, codex::command(spec)),
            Self::Copilot => (copilot::VARIABLES, copilot::command(spec)),
            Self::Claude => (claude::VARIABLES, claude::command(spec)),
            Self::Gemini => (gemini::VARIABLES, gemini::command(spec)?),
            Self::Opencode => (opencode::VARIABLES, opencode::command(spec)),
            Self::Custom(runner) => (custom::VARIABLES, custom::command(runner, spec)?),
        };
        let passed: &[String] = if let Self::Custom(runner) = self { &runner.pass_env } else { &[] };
        // The variables that enforce the level come last, so that no value of an agent's file overrides them.
        let added = spec.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let added = added.chain(line.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut env = spec.environment.for_runner(variables, passed, added);
        env.retain(|(name, _)| !line.without.iter().any(|without| name == without));
        let sessions = if let Self::Codex = self { codex::sessions(&env) } else { None };
        let mut argv = vec![spec.program.as_os_str().to_owned()];
        argv.extend(line.arguments);
        Ok(PreparedCommand {
            argv,
            stdin: line.stdin,
            env,
            files: line.files,
            output_files: OutputFiles { sessions, ..line.output_files },
            schema: line.schema,
            parser: OutputParser::new(line.format.unwrap_or(OutputFormat::Text)),
        })
    }
}

#[cfg(test)]
mod tests;
