//! Progress and result of an attempt, in terms that all runners share.

use super::failure::Failure;
use adjutant_host::process::{Cause, Exit};

/// An event in the output of a runner. Texts are bounded and free of escape sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A message of the agent.
    Text(String),
    /// The agent's reasoning, where the runner shows it.
    Thinking(String),
    CommandStarted {
        command: String,
    },
    CommandEnded {
        command: String,
        exit: Option<i32>,
    },
    ToolStarted {
        tool: String,
    },
    ToolEnded {
        tool: String,
        result: ToolResult,
    },
    /// Paths as the runner names them.
    FilesChanged(Vec<String>),
    /// A warning or a retry of the runner.
    Notice(String),
}

/// How a tool call of the agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolResult {
    Done,
    Failed,
}

/// The end of an attempt whose process has exited.
#[derive(Clone, Copy, Debug)]
pub struct AttemptEnd<'a> {
    pub exit: Exit,
    pub cause: Cause,
    /// The beginning and the end of stderr; some kilobytes are enough.
    pub stderr: &'a str,
    /// The contents of the files that [`super::OutputFiles`] names, where they exist.
    pub final_message: Option<&'a [u8]>,
    pub usage: Option<&'a [u8]>,
}

/// The result of one attempt.
#[derive(Clone, Debug, Default)]
pub struct AttemptResult {
    /// The final message; present on success, and kept on failure where there was one.
    pub message: Option<String>,
    pub usage: Usage,
    /// The id by which the runner resumes this session.
    pub session: Option<String>,
    /// The model that really answered, where the runner names it.
    pub model: Option<String>,
    /// Commands in the order of their ends; the first 1,000.
    pub commands: Vec<RanCommand>,
    /// Files that the runner reports as changed; the first 1,000.
    pub files: Vec<String>,
    /// `None` is success: the runner reported its own success, and the message is not empty.
    pub failure: Option<Failure>,
}

/// A command that the agent ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanCommand {
    pub command: String,
    /// `None` where the runner does not report it.
    pub exit: Option<i32>,
}

/// The usage of an attempt; `None` where the runner does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read, the cached ones included.
    pub input_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
}
