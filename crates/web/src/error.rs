//! Failures of a page, each with the values that its error page shows.

use std::fmt::Display;

/// A reason to ask a browser for a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// The request has no login. A logged-in browser does not send its login if another site opens the address, so the
    /// page offers to open it again.
    Missing,
    /// The opened link has expired or was used before.
    Spent,
    /// An agent may have started the process that used the link, which was given to a browser.
    Elsewhere,
}

/// A request that gets no page.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// There is no item of this kind (`prompt`, `agent`, `question`, `task`, `thread`) and name; `near` has similar names.
    NotFound {
        kind: &'static str,
        name: String,
        near: Vec<String>,
    },
    /// The file of a prompt or an agent exists, but it cannot be served.
    Broken {
        kind: &'static str,
        name: String,
        reason: String,
    },
    /// The name is an alias; the page has this path.
    Moved(String),
    NoPage,
    /// The form is not from one of this hub's pages, or the page is older than the hub.
    Stale,
    /// The role of the user does not include the act, or the question is for others.
    NotIncluded,
    /// The browser is not logged in.
    LoginNeeded(Login),
    /// The request itself is wrong; the sentence says how.
    BadRequest(&'static str),
    /// The path exists for another method.
    WrongMethod,
    /// The body is over the limit.
    TooLarge,
    /// Too many live streams at once.
    Busy,
    /// An internal error; the log has the detail.
    Internal,
}

impl Failure {
    /// Returns the failure of a request for an unknown item.
    pub(super) fn not_found(kind: &'static str, name: String) -> Self {
        Self::NotFound { kind, name, near: Vec::new() }
    }

    /// Logs an error that the reader cannot do anything about.
    pub(super) fn internal(error: impl Display) -> Self {
        tracing::error!(error = %error, "page failed");
        Self::Internal
    }
}

/// Answers a path without a route.
pub(super) async fn no_such_page() -> Failure {
    Failure::NoPage
}

/// Answers a path that has a route for another method.
pub(super) async fn wrong_method() -> Failure {
    Failure::WrongMethod
}
