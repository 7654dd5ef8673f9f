//! Checks and their results.

use std::path::PathBuf;

use serde_json::{Value, json};

/// How it is, the better first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    /// There is nothing to look at here.
    Skipped,
    Ok,
    /// It works, or would, but the person may want to know.
    Warn,
    /// Something does not work.
    Fail,
}

impl Status {
    /// Returns the word that programs read.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What may be done about it without asking: nothing here loses what a person wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fix {
    /// Take rights away from everybody else.
    Mode { path: PathBuf, mode: u32 },
    /// Remove a socket that nobody listens on.
    Unlink(PathBuf),
    /// Start a hub in the background.
    StartHub,
    /// End the processes that a killed supervisor left behind, by the folder of their run.
    EndRun(PathBuf),
}

/// What a check found.
#[derive(Clone, Debug)]
pub(super) struct CheckResult {
    pub(super) status: Status,
    /// One sentence fragment.
    pub(super) detail: String,
    /// What to do about it.
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

    /// Adds what `--fix` may do about it.
    pub(super) fn fixed_by(mut self, fixes: impl IntoIterator<Item = Fix>) -> Self {
        self.fixes.extend(fixes);
        self
    }
}

/// A check that was made.
#[derive(Clone, Debug)]
pub(super) struct Check {
    /// Stays the same from version to version: programs ask for it.
    pub(super) id: String,
    pub(super) found: CheckResult,
    /// What `--fix` did about it.
    pub(super) fixed: Option<String>,
}

impl Check {
    pub(super) fn new(id: &str, found: CheckResult) -> Self {
        Self { id: id.to_owned(), found, fixed: None }
    }

    /// Returns it as programs read it; the shape is documented in docs/doctor.md.
    pub(super) fn json(&self) -> Value {
        json!({
            "id": self.id,
            "status": self.found.status.word(),
            "detail": self.found.detail,
            "remedy": self.found.remedy,
            "fixable": !self.found.fixes.is_empty(),
            "fixed": self.fixed,
        })
    }
}
