//! The error page: the only place that maps failures to HTTP statuses.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use minijinja::{Value, context};

use super::error::{Failure, Login};
use super::page::{self, Place};

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
                Some("This form is older than the running hub. Go back, reload the page, and send it again."),
            ),
            Self::NoPage => {
                (StatusCode::NOT_FOUND, "No such page", Some("The console has no page at this address."))
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
                Some("The form is larger than the hub accepts in one request."),
            ),
            Self::Busy => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many live pages",
                Some("Close some tabs of this console, then reload. Pages work without the live connection."),
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "Something went wrong here",
                Some("The hub's log has the error."),
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
