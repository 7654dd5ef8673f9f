//! Candidate of the selection: a runner with its priority and models.

use std::path::PathBuf;
use std::time::Duration;

use crate::runner::Runner;

/// A runner with its priority and models.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub runner: Runner,
    /// A lower number is tried first.
    pub priority: i64,
    /// Empty means every model.
    pub models: Vec<String>,
    /// The configured path of the program; otherwise it is searched on the `PATH`.
    pub program: Option<PathBuf>,
    /// Folders that the program may write in the hub's sandbox.
    pub(crate) writable: Vec<PathBuf>,
    /// Hosts of its model, besides those that are known of the runner.
    pub(crate) hosts: Vec<String>,
    /// How long it may wait for its model without progress; `None` means for ever.
    pub(crate) stall: Option<Duration>,
}

impl Candidate {
    /// Returns a runner without configuration: for every model, with its program on the `PATH`.
    pub(super) fn built_in(runner: Runner, priority: i64) -> Self {
        let (models, writable, hosts) = (Vec::new(), Vec::new(), Vec::new());
        Self { runner, priority, models, program: None, writable, hosts, stall: None }
    }

    /// Returns whether the runner runs `model`.
    pub(crate) fn supports(&self, model: Option<&str>) -> bool {
        model.is_none_or(|model| self.models.is_empty() || self.models.iter().any(|known| known == model))
    }
}
