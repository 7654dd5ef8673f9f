//! What a browser gets when there is no page: statuses live here alone.

use std::fmt::Display;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use minijinja::{Value, context};

use super::page::{self, Place};

/// Why a browser is asked to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Login {
    /// It shows no login. One that has it keeps it to itself when it is sent here from elsewhere, so the page is
    /// offered again.
    Missing,
    /// The link that it opened is worth nothing any more.
    Spent,
}

/// Why there is no page.
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

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, title, text) = match &self {
            Self::NoPrompt { .. } => (StatusCode::NOT_FOUND, "No such prompt", None),
            Self::BrokenPrompt { reason, .. } => {
                (StatusCode::NOT_FOUND, "This prompt cannot be served", Some(reason.as_str()))
            }
            Self::NoAgent { .. } => (StatusCode::NOT_FOUND, "No such agent", None),
            Self::BrokenAgent { reason, .. } => {
                (StatusCode::NOT_FOUND, "This agent cannot be served", Some(reason.as_str()))
            }
            Self::NoTask { .. } => (StatusCode::NOT_FOUND, "No such task", None),
            Self::NoThread { .. } => (StatusCode::NOT_FOUND, "No such thread", None),
            Self::NoQuestion { .. } => (StatusCode::NOT_FOUND, "No such question", None),
            Self::Stale => (
                StatusCode::FORBIDDEN,
                "Nothing was done",
                Some("This form is older than the running hub. Go back, reload the page, and do it again."),
            ),
            Self::NoPage => {
                (StatusCode::NOT_FOUND, "No such page", Some("The address leads nowhere in this console."))
            }
            Self::LoginNeeded(login) => {
                let text = match login {
                    Login::Missing => "This browser is not logged in.",
                    Login::Spent => "This link was used before, or its two minutes are over.",
                };
                (StatusCode::UNAUTHORIZED, "Who is there?", Some(text))
            }
            Self::BadRequest(text) => (StatusCode::BAD_REQUEST, "That request cannot be read", Some(*text)),
            Self::WrongMethod => (
                StatusCode::METHOD_NOT_ALLOWED,
                "Wrong method",
                Some("This address exists, but not for this method."),
            ),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "Too much at once",
                Some("The form holds more than the hub takes in one request."),
            ),
            Self::Busy => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many live pages",
                Some("Close some tabs of this console, then reload. Pages work without the live connection."),
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "Something went wrong here",
                Some("The hub's log says what happened."),
            ),
        };
        let (kind, name, near): (_, _, &[String]) = match &self {
            Self::NoPrompt { name, near } => ("prompt", Some(name), near),
            Self::BrokenPrompt { name, .. } => ("prompt", Some(name), &[]),
            Self::NoAgent { name, near } => ("agent", Some(name), near),
            Self::BrokenAgent { name, .. } => ("agent", Some(name), &[]),
            Self::NoTask { id } => ("task", Some(id), &[]),
            Self::NoThread { id } => ("thread", Some(id), &[]),
            Self::NoQuestion { ticket } => ("question", Some(ticket), &[]),
            _ => ("", None, &[]),
        };
        let near: Vec<Value> = near.iter().map(Value::from).collect();
        let login = matches!(self, Self::LoginNeeded(_));
        let again = matches!(self, Self::LoginNeeded(Login::Missing));
        let place = if login { Place::Outside } else { Place::Nowhere };
        let values = context! { login, again, status => status.as_u16(), title, text, kind, name, near };
        // The error page itself may be what fails; then a line of text has to do.
        page::bare(status, place, "error.html", values)
            .unwrap_or_else(|_| (status, [(header::CACHE_CONTROL, "no-store")], title).into_response())
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
