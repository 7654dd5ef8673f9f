//! Failures of a page, each with the values that its error page shows.

use std::fmt::Display;

/// A reason to ask a browser for a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// It shows no login. One that has it keeps it to itself when it is sent here from elsewhere, so the page is
    /// offered again.
    Missing,
    /// The link that it opened is worth nothing any more.
    Spent,
}

/// A request that gets no page.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no prompt of this name; the names that are close to it.
    NoPrompt {
        name: String,
        near: Vec<String>,
    },
    /// The prompt's file is there, but it cannot be served.
    BrokenPrompt {
        name: String,
        reason: String,
    },
    /// There is no agent of this name; the names that are close to it.
    NoAgent {
        name: String,
        near: Vec<String>,
    },
    /// The agent's file is there, but it cannot be served.
    BrokenAgent {
        name: String,
        reason: String,
    },
    /// There is no question of this name.
    NoQuestion {
        ticket: String,
    },
    /// There is no task of this name.
    NoTask {
        id: String,
    },
    /// There is no thread of this name.
    NoThread {
        id: String,
    },
    NoPage,
    /// The form is not one of this hub's pages, or the page is older than the hub.
    Stale,
    /// The browser has not shown a login.
    LoginNeeded(Login),
    /// The request itself is wrong; the sentence says how.
    BadRequest(&'static str),
    /// The path exists for another method.
    WrongMethod,
    /// The body is over the limit.
    TooLarge,
    /// Too many live streams at once.
    Busy,
    /// Our fault; the log has the detail.
    Internal,
}

impl Failure {
    /// Logs an error that the reader cannot do anything about.
    pub(super) fn internal(error: impl Display) -> Self {
        tracing::error!(error = %error, "page failed");
        Self::Internal
    }
}

/// Answers a path that no route has.
pub(super) async fn no_such_page() -> Failure {
    Failure::NoPage
}

/// Answers a route's path asked with another method.
pub(super) async fn wrong_method() -> Failure {
    Failure::WrongMethod
}
