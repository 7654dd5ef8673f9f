//! End and result of an attempt, in terms that all runners share.

use super::failure::Failure;
use crate::run_report::{CommandRun, Usage};
use adjutant_host::process::{Cause, Exit};

/// How a tool call of the agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolResult {
    Done,
    Failed,
    /// The runner did not let it run.
    Denied,
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
    pub commands: Vec<CommandRun>,
    /// Commands and tools that the runner denied; the first 1,000.
    pub denied: Vec<String>,
    /// Files that the runner reports as changed; the first 1,000.
    pub files: Vec<String>,
    /// `None` is success: the runner reported its own success, and the message is not empty.
    pub failure: Option<Failure>,
}
