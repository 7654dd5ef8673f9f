//! The error page: the only place that maps failures to HTTP statuses.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use minijinja::{Value, context};

use super::error::{Failure, Login};
use super::page::{self, Place};
use super::{is_asset, is_feed};
use adjutant_app::App;

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.response(0);
        response.extensions_mut().insert(self);
        response
    }
}

/// Shows the number of pending questions on an error page, as every page does. A failure itself has no access to the hub.
/// What a browser gets without a login shows none.
pub(super) async fn with_pending(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_open = is_asset(request.uri().path()) || is_feed(request.uri().path());
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Failure>() {
        Some(failure) if !is_open => failure.response(page::count_pending(&app).await),
        Some(_) | None => response,
    }
}

impl Failure {
    fn response(&self, pending: u64) -> Response {
        let (kind, name, near) = match self {
            Self::NotFound { kind, name, near } => (*kind, Some(name), near.as_slice()),
            Self::Broken { kind, name, .. } => (*kind, Some(name), &[][..]),
            _ => ("", None, &[][..]),
        };
        let [no_such, not_served] = [format!("No such {kind}"), format!("This {kind} cannot be served")];
        let not_found = StatusCode::NOT_FOUND;
        let (status, title, text) = match self {
            Self::Moved(path) => return (page::headers(), Redirect::temporary(path)).into_response(),
            Self::NotFound { .. } => (not_found, no_such.as_str(), None),
            Self::Broken { reason, .. } => (not_found, not_served.as_str(), Some(reason.as_str())),
            Self::NoPage => (not_found, "No such page", Some("The console has no page at this address.")),
            Self::Stale => (
                StatusCode::FORBIDDEN,
                "Nothing was done",
                Some("This form is older than the running hub. Go back, reload the page, and send it again."),
            ),
            Self::NotIncluded => (
                StatusCode::FORBIDDEN,
                "Not with your role",
                Some(
                    "Your role does not include this. The owner of the hub changes it with `adjutant users role`.",
                ),
            ),
            Self::LoginNeeded(login) => {
                let text = match login {
                    Login::Missing => "This browser is not logged in.",
                    Login::Spent => "This link was used before, or its two minutes are over.",
                    Login::Elsewhere => {
                        "This link was given to another program, and an agent may have started this one."
                    }
                };
                (StatusCode::UNAUTHORIZED, "Log in", Some(text))
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
        let near: Vec<Value> = near.iter().map(Value::from).collect();
        let login = matches!(self, Self::LoginNeeded(_));
        let again = matches!(self, Self::LoginNeeded(Login::Missing));
        let print = matches!(self, Self::LoginNeeded(Login::Elsewhere));
        let place = if login { Place::Outside } else { Place::Nowhere };
        let values =
            context! { login, again, print, status => status.as_u16(), title, text, kind, name, near };
        // The error page itself may have failed; then the response is a line of text.
        page::bare(status, place, pending, "error.html", values).unwrap_or_else(|_| {
            (status, [(header::CACHE_CONTROL, "no-store")], title.to_owned()).into_response()
        })
    }
}
