//! Runners: the coding-agent CLIs that do an agent's work, each with its command line per permission level, its
//! environment and its way of telling what happened.
//!
//! Nothing here starts a process: [`Runner::prepare`] says what to start, and a [`Reader`] is fed what the process
//! wrote.

mod claude;
pub(crate) mod codex;
pub(crate) mod command;
mod copilot;
pub(crate) mod environment;
pub(crate) mod failure;
mod gemini;
mod kept;
mod opencode;
pub(crate) mod probe;
pub(crate) mod reader;
mod seen;
pub(crate) mod text;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use command::CommandRunner;
use environment::Environment;
use reader::{Dialect, Reader};

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
    /// What the runner leaves behind for [`Reader::finish`].
    pub(crate) leaves: Leaves,
    /// Whether the runner itself holds the answer to `schema`; where not, the caller validates.
    pub(crate) schema: SchemaHeld,
    /// Reads what this very command line writes.
    pub(crate) reader: Reader,
}

/// Files that a runner writes, those at its end all below `scratch`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leaves {
    /// Its final message as text.
    pub(crate) final_message: Option<PathBuf>,
    /// What the run cost, in the runner's own words.
    pub(crate) usage: Option<PathBuf>,
    /// The folder of Codex's own sessions.
    pub(crate) sessions: Option<PathBuf>,
}

/// Who sees to it that the answer follows the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SchemaHeld {
    /// The CLI was told by a flag of its own.
    ByRunner,
    /// Nobody yet: no schema was asked for, or the CLI has no flag for it.
    #[default]
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

/// Most bytes of a prompt that is given as an argument; Linux takes 131,071 bytes in one.
const ARGUMENT: usize = 120_000;

/// A command line in the making, without its program.
#[derive(Debug, Default)]
struct CommandLine {
    arguments: Vec<OsString>,
    stdin: Option<Vec<u8>>,
    env: Vec<(String, String)>,
    /// Variables that the run must not get though its runner usually does.
    without: Vec<&'static str>,
    files: Vec<(PathBuf, Vec<u8>)>,
    leaves: Leaves,
    schema: SchemaHeld,
    dialect: Option<Dialect>,
}

impl CommandLine {
    fn arg(&mut self, argument: impl Into<OsString>) -> &mut Self {
        self.arguments.push(argument.into());
        self
    }

    fn stdin(&mut self, prompt: &str) {
        self.stdin = Some(prompt.as_bytes().to_vec());
    }

    fn env(&mut self, name: &str, value: impl Into<String>) {
        self.env.push((name.to_owned(), value.into()));
    }
}

impl Request<'_> {
    /// Whether the prompt can travel as an argument without being taken for a flag.
    fn fits_an_argument(&self) -> bool {
        self.prompt.len() <= ARGUMENT && !self.prompt.starts_with('-') && !self.prompt.contains('\0')
    }

    fn refused(&self, runner: &str, reason: &str) -> Refused {
        let (runner, reason) = (runner.to_owned(), reason.to_owned());
        Refused::Permission { runner, permission: self.permission, reason }
    }
}

impl Runner {
    /// The runners that need no configuration.
    pub(crate) const BUILT_IN: [Self; 5] =
        [Self::Codex, Self::Copilot, Self::Claude, Self::Gemini, Self::Opencode];

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

    /// Returns the word that its program is looked for by.
    pub(crate) fn program(&self) -> &str {
        match self {
            Self::Command(command) => command.argv.first().map_or(command.name.as_str(), String::as_str),
            built_in => built_in.name(),
        }
    }

    /// Returns the runner of that name that needs no configuration.
    pub(crate) fn built_in(name: &str) -> Option<Self> {
        Self::BUILT_IN.into_iter().find(|runner| runner.name() == name)
    }

    /// Says what to start for `request`, or why this runner will not.
    pub(crate) fn prepare(&self, request: &Request<'_>) -> Result<Prepared, Refused> {
        let (own, line) = match self {
            Self::Codex => (codex::OWN, codex::command(request)),
            Self::Copilot => (copilot::OWN, copilot::command(request)),
            Self::Claude => (claude::OWN, claude::command(request)),
            Self::Gemini => (gemini::OWN, gemini::command(request)?),
            Self::Opencode => (opencode::OWN, opencode::command(request)),
            Self::Command(runner) => (command::OWN, command::command(runner, request)?),
        };
        let passed: &[String] = if let Self::Command(runner) = self { &runner.pass_env } else { &[] };
        // What holds the level stands last, so that no value of an agent's file undoes it.
        let added = request.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let added = added.chain(line.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut env = request.environment.share(own, passed, added);
        env.retain(|(name, _)| !line.without.iter().any(|without| name == without));
        let sessions = if let Self::Codex = self { codex::sessions(&env) } else { None };
        let mut argv = vec![request.program.as_os_str().to_owned()];
        argv.extend(line.arguments);
        Ok(Prepared {
            argv,
            stdin: line.stdin,
            env,
            files: line.files,
            leaves: Leaves { sessions, ..line.leaves },
            schema: line.schema,
            reader: Reader::new(line.dialect.unwrap_or(Dialect::Text)),
        })
    }
}

#[cfg(test)]
mod tests;
