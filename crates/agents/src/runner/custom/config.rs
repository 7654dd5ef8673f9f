//! Configuration of a custom runner.

use std::collections::BTreeMap;

use crate::definition::Permission;

/// A CLI that the configuration describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomRunner {
    pub name: String,
    /// Program and arguments; `{prompt}`, `{workdir}`, `{model}`, `{permission}`, `{final_message_file}` and
    /// `{resume}` are replaced. An argument with a value that is missing is left out.
    pub argv: Vec<String>,
    /// Program and arguments that print its version; empty if nothing may ask for it.
    pub version_command: Vec<String>,
    pub stdin: Stdin,
    pub answer: Answer,
    /// Values on top of the environment.
    pub env: BTreeMap<String, String>,
    /// Names of variables that are passed on from the hub's environment.
    pub pass_env: Vec<String>,
    /// The permission levels that this command line really enforces, as its author states.
    pub levels: Vec<Permission>,
    /// Words on stderr or in the output of a failed run that mean a usage limit, lower case.
    pub usage_limit: Vec<String>,
    /// Words that mean a missing login, lower case.
    pub authentication: Vec<String>,
}

/// The content of the stdin of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    Prompt,
    Empty,
}

/// The place of the final message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All of stdout.
    Stdout,
    /// The file that `{final_message_file}` names.
    File,
    /// A value in the JSON on stdout: keys and indices, in the last line that has it, else in the whole.
    Json(Vec<String>),
}
