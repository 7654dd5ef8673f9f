//! Which runners there are, as `config.toml` and a `--runner-config` file say it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// A `--runner-config` file; in `config.toml` the same two keys stand at the top.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunnersConfig {
    #[serde(default)]
    pub(crate) runners: Vec<RunnerEntry>,
    /// How long a runner rests after a usage limit that did not say how long it lasts.
    pub(crate) runner_cooldown_minutes: Option<u64>,
}

/// One runner. The keys below `program` describe a CLI that is not known here, and need `command`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunnerEntry {
    pub(crate) name: String,
    /// Lower goes first.
    pub(crate) priority: Option<i64>,
    /// The models it runs; none means every model.
    #[serde(default)]
    pub(crate) models: Vec<String>,
    /// Where its program is, when it is not on the PATH.
    pub(crate) program: Option<PathBuf>,
    /// Program and arguments, with placeholders.
    pub(crate) command: Option<Vec<String>>,
    /// `prompt` or `empty`.
    pub(crate) stdin: Option<String>,
    /// `stdout`, `file`, or `json:` and a dotted path.
    pub(crate) final_message: Option<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) pass_env: Vec<String>,
    /// `read-only`, `workspace-write`, `full`: what its command line really holds.
    #[serde(default)]
    pub(crate) levels: Vec<String>,
    /// Words in the output of a failed run that tell a usage limit.
    #[serde(default)]
    pub(crate) usage_limit: Vec<String>,
    /// Words in the output of a failed run that tell a missing login.
    #[serde(default)]
    pub(crate) authentication: Vec<String>,
}
