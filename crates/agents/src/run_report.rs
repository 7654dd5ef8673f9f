//! Outcome of a task with its run report: what the hub itself saw of the run.
//!
//! It is stored as JSON next to the task's row, so its member names are stable, and a member that an older hub did not
//! write is absent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::runner::failure::Failure;
use adjutant_host::git::ChangedFile;
use adjutant_store::Millis;
use adjutant_store::tasks::Ending;

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub status: Ending,
    /// The result of the hub's own checks.
    #[serde(default)]
    pub verdict: Verification,
    /// The agent's final message; also of a failed run, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The message as JSON, where an output schema was asked for and the message follows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureReport>,
    #[serde(default, rename = "run_report")]
    pub report: RunReport,
}

/// Whether the checks confirmed the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// No checks were asked for, or a check did not run to its end and none failed.
    #[default]
    Unverified,
    /// Every check passed.
    Verified,
    /// A check did not pass, or a read-only run changed something or kept the hub from seeing it.
    Refuted,
}

impl Outcome {
    /// Returns the outcome of a task that ended like this, with an empty run report.
    pub fn new(status: Ending) -> Self {
        Self {
            status,
            verdict: Verification::default(),
            message: None,
            structured: None,
            failure: None,
            report: RunReport::default(),
        }
    }
}

/// Why a task did not succeed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailureReport {
    /// One of [`super::runner::failure::Class`]'s words, or `schema`, `lost` or `hub`.
    pub class: String,
    pub detail: String,
}

impl From<&Failure> for FailureReport {
    fn from(failure: &Failure) -> Self {
        Self { class: failure.class.name().to_owned(), detail: failure.detail.clone() }
    }
}

/// The hub's own record of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunReport {
    /// The name of the worker that ran it; absent where the hub's own machine did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    pub attempts: Vec<Attempt>,
    /// Why the runner that the agent names was not tried, and which one was in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    pub permission: String,
    /// From the claim to the end.
    pub wall_ms: u64,
    pub cpu_ms: u64,
    pub peak_rss_bytes: u64,
    /// Descendants of the runners that could not be ended.
    pub processes_left: u32,
    /// Set if neither a supervisor nor its guard could count, so that others may be left too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_uncounted: bool,
    pub usage: Usage,
    /// From the runner's event stream, in the order of their ends.
    pub commands: Vec<CommandRun>,
    /// Commands and tools that the runner denied to the agent; they did not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// Why a part of the runner's output is missing, besides what is over the limit; a sentence fragment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_missing: Option<String>,
    /// Files that the runner says it changed.
    pub files: Vec<String>,
    /// Why the hub does not know which files changed; a sentence fragment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_unknown: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<Repository>,
    /// The commands that the hub ran in a new worktree before the agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<Check>,
    pub checks: Vec<Check>,
    /// Whether the agent's file says that the result is not an error although a check did not pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub checks_may_fail: bool,
    /// The end of the stderr of a runner that failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr_tail: String,
}

/// One run of one runner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attempt {
    pub runner: String,
    /// A name of [`super::sandbox::Holder`]: what held the permission level; empty at `full`, and where it did not run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub held_by: String,
    /// `none`, or the hosts that it may reach; empty where it has the network of the machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub network: String,
    /// Hosts with ports that it asked for and was refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_hosts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub started_at: Millis,
    pub wall_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureReport>,
}

/// Tokens and cost, summed over the attempts; absent where no runner reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
}

/// A command that the agent ran, as its runner reported it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandRun {
    pub command: String,
    pub exit: Option<i32>,
    /// The runner reported its start and no end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
}

/// The git repository around the working folder, before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repository {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_after: Option<String>,
    /// Commits from the first HEAD to the second one, where git can count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// `worktree` when the agent worked in a separate tree, else `none`.
    pub isolation: String,
    /// Where the worktree is, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The reference of the worker's commit in the caller's repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    pub files: Vec<ChangedFile>,
    pub insertions: u64,
    pub deletions: u64,
    /// Files beyond the listed ones.
    pub more_files: u64,
    /// Changes of the repository besides files, such as `branch "x" created`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub git_changes: Vec<String>,
    /// Files and folders that are ignored since the run changed a `.gitignore`, so their content was not compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// The repository has rules by which files are ignored. The ignored files were not compared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ignores_files: bool,
    /// Files of the caller's own tree that changed while the agent worked in a worktree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caller_files: Vec<String>,
    /// Why it is not known whether files of the caller's own tree changed; a sentence fragment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller_unknown: Option<String>,
    /// The change as `git apply` takes it, where the agent had a worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// The patch was longer than the limit and is left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub patch_left_out: bool,
}

/// A command that the hub ran: a check when the agent was gone, or the setup of a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Check {
    pub command: Vec<String>,
    pub passed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Why it did not run to its end, where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Files that the run changed, and that the check runs or takes its commands from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_by_run: Vec<String>,
    pub wall_ms: u64,
    pub processes_left: u32,
    /// As in the run report.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_uncounted: bool,
    /// The end of what it wrote, stdout before stderr.
    pub output_tail: String,
}
