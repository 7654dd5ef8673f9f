//! Settings of runners, in `config.toml` and in a `--runner-config` file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::table::{Row, to_toml};

/// A `--runner-config` file; `config.toml` has the same two keys at its top.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunnersConfig {
    #[serde(default)]
    pub runners: Vec<RunnerEntry>,
    /// The wait after a usage limit without an end, in minutes.
    pub runner_cooldown_minutes: Option<u64>,
}

impl RunnersConfig {
    /// Returns the two keys with their values.
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![
            Row::new(
                "",
                "runner_cooldown_minutes",
                to_toml(&self.runner_cooldown_minutes),
                "Minutes for which a runner at its usage limit is not tried, if the runner names no time.",
            ),
            Row::new(
                "",
                "runners",
                self.runners.len().to_string(),
                "Number of runners that the file configures; with none the built-in runners are used.",
            ),
        ]
    }
}

super::table::table! {
    /// One runner. The keys below `program` describe a CLI that the hub has no support for, and need `command`.
    #[derive(Clone, Debug, Default)]
    pub struct RunnerEntry {
        /// `codex`, `copilot`, `claude`, `gemini`, `opencode`, or the name of a custom runner; required.
        pub name: String,
        /// Lower goes first.
        pub priority: Option<i64>,
        /// Models that the runner supports; none means every model.
        #[serde(default)]
        pub models: Vec<String>,
        /// Path of the program, if it is not on the PATH.
        pub program: Option<PathBuf>,
        /// Folders that the runner's program may write in the hub's sandbox at every level, besides its own.
        #[serde(default)]
        pub writable: Vec<PathBuf>,
        /// Hosts of its model, which a list in `network` leaves reachable, besides those that are known of it.
        #[serde(default)]
        pub hosts: Vec<String>,
        /// Seconds that it may retry or wait for its model without progress; then it is ended, and the task has the
        /// reason of its last retry. A custom runner, which reports no retries, is ended after that time without output.
        /// None and 0 mean no limit but `idle_timeout_seconds`.
        pub stall_seconds: Option<u64>,
        /// Custom runner: program and arguments, with placeholders.
        pub command: Option<Vec<String>>,
        /// Custom runner: program and arguments that print its version; without them nothing asks for it.
        #[serde(default)]
        pub version_command: Vec<String>,
        /// Custom runner: `prompt` or `empty`.
        pub stdin: Option<String>,
        /// Custom runner: `stdout`, `file`, or `json:` and a dotted path.
        pub final_message: Option<String>,
        /// Environment variables that are set for the runner.
        #[serde(default)]
        pub env: BTreeMap<String, String>,
        /// Names of environment variables that are passed on to the runner.
        #[serde(default)]
        pub pass_env: Vec<String>,
        /// Permission levels that the command line enforces: `read-only`, `workspace-write`, `full`.
        #[serde(default)]
        pub levels: Vec<String>,
        /// Words in a failed run's output that indicate a usage limit.
        #[serde(default)]
        pub usage_limit: Vec<String>,
        /// Words in a failed run's output that indicate a missing login.
        #[serde(default)]
        pub authentication: Vec<String>,
    }
}
