//! Checks and their results.

use std::path::PathBuf;

use serde_json::{Value, json};

adjutant_base::named_enum! {
    /// Status of a check, the best first.
    Status {
        /// There is nothing to check.
        Skipped = "skipped",
        Ok = "ok",
        /// It works, but needs attention.
        Warn = "warn",
        /// It does not work.
        Fail = "fail",
    }
}

/// Repair of `--fix`. None of them loses data of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fix {
    /// Remove the rights of other users.
    Mode { path: PathBuf, mode: u32 },
    /// Remove a socket that nobody listens on.
    Unlink(PathBuf),
    /// Start a hub in the background.
    StartHub,
    /// End the processes of a killed supervisor, by the folder of their run.
    EndRun(PathBuf),
}

/// Result of a check.
#[derive(Clone, Debug)]
pub(super) struct CheckResult {
    pub(super) status: Status,
    /// One sentence fragment.
    pub(super) detail: String,
    /// Remedy, one sentence fragment.
    pub(super) remedy: Option<String>,
    pub(super) fixes: Vec<Fix>,
}

impl CheckResult {
    fn new(status: Status, detail: impl Into<String>, remedy: Option<String>) -> Self {
        Self { status, detail: detail.into(), remedy, fixes: Vec::new() }
    }

    pub(super) fn ok(detail: impl Into<String>) -> Self {
        Self::new(Status::Ok, detail, None)
    }

    pub(super) fn skipped(detail: impl Into<String>) -> Self {
        Self::new(Status::Skipped, detail, None)
    }

    pub(super) fn warn(detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Status::Warn, detail, Some(remedy.into()))
    }

    pub(super) fn fail(detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Status::Fail, detail, Some(remedy.into()))
    }

    /// Adds repairs for `--fix`.
    pub(super) fn fixed_by(mut self, fixes: impl IntoIterator<Item = Fix>) -> Self {
        self.fixes.extend(fixes);
        self
    }
}

/// A check with its result.
#[derive(Clone, Debug)]
pub(super) struct Check {
    /// The same in every version, because programs use it.
    pub(super) id: String,
    pub(super) found: CheckResult,
    /// The outcome of the repair by `--fix`.
    pub(super) fixed: Option<String>,
}

impl Check {
    pub(super) fn new(id: &str, found: CheckResult) -> Self {
        Self { id: id.to_owned(), found, fixed: None }
    }

    /// Returns the check as JSON, as docs/doctor.md documents it.
    pub(super) fn json(&self) -> Value {
        json!({
            "id": self.id,
            "status": self.found.status,
            "detail": self.found.detail,
            "remedy": self.found.remedy,
            "fixable": !self.found.fixes.is_empty(),
            "fixed": self.fixed,
        })
    }
}
