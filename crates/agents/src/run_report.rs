//! What came of a task: the answer, and what the hub saw of the run. It is kept as JSON beside the task's row, so
//! its words are stable, and a member that an older hub did not write is absent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store::Millis;

/// How a task ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Outcome {
    /// `succeeded`, `failed`, `cancelled` or `lost`.
    pub(crate) status: String,
    /// What the hub's own checks say: not what the agent says.
    pub(crate) verdict: Verdict,
    /// The agent's final message; kept on failure where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// The message as JSON, where an output schema was asked for and it follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) structured: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<Fault>,
    pub(crate) receipt: Receipt,
}

/// Whether the work was proven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// No checks were asked for, or they never ran.
    #[default]
    Unverified,
    /// Every check passed.
    Verified,
    /// A check did not pass.
    Refuted,
}

/// Why a task did not succeed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Fault {
    /// One of [`super::runner::failure::Class`]'s words, or `schema` or `worktree` or `hub`.
    pub(crate) class: String,
    pub(crate) detail: String,
}

/// What the hub saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Receipt {
    pub(crate) attempts: Vec<Attempt>,
    /// Why the runner that the agent names was not tried, and which one was in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instead: Option<String>,
    pub(crate) permission: String,
    /// From the claim to the end.
    pub(crate) wall_ms: u64,
    pub(crate) cpu_ms: u64,
    pub(crate) peak_rss_bytes: u64,
    /// Descendants of the runners that could not be ended.
    pub(crate) processes_left: u32,
    pub(crate) usage: Usage,
    /// From the runner's event stream, in the order of their ends.
    pub(crate) commands: Vec<Command>,
    /// Files that the runner says it changed.
    pub(crate) files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repository: Option<Repository>,
    pub(crate) checks: Vec<Check>,
    /// What the runner wrote at its end, where it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) stderr_tail: String,
}

/// One run of one runner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Attempt {
    pub(crate) runner: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    pub(crate) started_at: Millis,
    pub(crate) wall_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<Fault>,
}

/// Tokens and money, summed over the attempts; absent where no runner told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cached_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_micro_usd: Option<u64>,
}

/// A command that the agent ran, as its runner told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Command {
    pub(crate) command: String,
    pub(crate) exit: Option<i32>,
}

/// The git repository around the working folder, before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Repository {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) head_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) head_after: Option<String>,
    /// `worktree` when the agent worked in a tree of its own, else `none`.
    pub(crate) isolation: String,
    /// Where the worktree is, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kept: Option<String>,
    pub(crate) files: Vec<Touched>,
    pub(crate) insertions: u64,
    pub(crate) deletions: u64,
    /// Files beyond the listed ones.
    pub(crate) more_files: u64,
    /// The change as `git apply` takes it, where the agent had a worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) patch: Option<String>,
    /// The patch was longer than the limit and is left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) patch_left_out: bool,
}

/// A file that differs from before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Touched {
    pub(crate) path: String,
    /// Absent for a binary file.
    pub(crate) insertions: Option<u64>,
    pub(crate) deletions: Option<u64>,
}

/// A command that the hub ran when the agent was gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Check {
    pub(crate) command: Vec<String>,
    pub(crate) passed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit: Option<i32>,
    /// Why it did not run to its end, where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    pub(crate) wall_ms: u64,
    pub(crate) processes_left: u32,
    /// The end of what it wrote, stdout before stderr.
    pub(crate) output_tail: String,
}
