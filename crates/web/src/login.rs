//! The login of users: its form, and the pages around it.

use axum::body::Body;
use axum::extract::FromRequest as _;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use minijinja::context;

use super::csrf::{self, Forms};
use super::error::Failure;
use super::page::{self, Place};
use super::request::{Fields, SignedForm};
use adjutant_questions::Ticket;

/// Maximum bytes of the name of a user.
const MAX_NAME_BYTES: usize = 200;

/// The form that a user sent to log in.
pub struct LoginForm {
    pub user: String,
    pub password: String,
    /// The path of the page to show after the login.
    pub next: String,
}

/// Reads the form. The error is the response to a request without a valid form of the console.
pub async fn read_login(request: Request<Body>) -> Result<LoginForm, Response> {
    let fields = Fields::from_request(request, &()).await.map_err(Failure::into_response)?;
    Forms::Login.check(fields.get(csrf::FIELD)).map_err(Failure::into_response)?;
    let user = fields.get("user").trim().to_owned();
    if user.len() > MAX_NAME_BYTES {
        return Err(Failure::BadRequest("The name of the user is too long.").into_response());
    }
    Ok(LoginForm {
        user,
        password: fields.get("password").to_owned(),
        next: own_page(fields.get("next")).to_owned(),
    })
}

/// Reads the form that logs out. The error is the response to a request without a valid form of the console.
pub async fn read_logout(request: Request<Body>) -> Result<(), Response> {
    SignedForm::from_request(request, &()).await.map(drop).map_err(Failure::into_response)
}

/// Returns the page with the form. `fault` says why the last attempt failed, and `next` is the path of the wanted page.
pub fn login_page(status: StatusCode, fault: Option<&str>, next: &str) -> Response {
    let page = Forms::Login.token().and_then(|csrf| {
        page::bare(status, Place::Outside, "login.html", context! { csrf, fault, next => own_page(next) })
    });
    page.unwrap_or_else(Failure::into_response)
}

/// Returns the page for an act that the user's role does not include.
pub fn not_allowed() -> Response {
    Failure::NotIncluded.into_response()
}

/// Returns `path` if it is the page of a question, else `/`, because a link can name any address as its next page.
fn own_page(path: &str) -> &str {
    let is_question = path
        .strip_prefix("/questions/")
        .is_some_and(|ticket| Ticket::parse(ticket).is_some_and(|parsed| parsed.as_str() == ticket));
    if is_question { path } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_of_a_question_is_shown_after_a_login() {
        let page = "/questions/q00000000000000000000";
        assert_eq!(own_page(page), page);
        for path in [
            "",
            "/settings",
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "/questions",
            "/questions/../settings",
            "/questions/q0",
            "/questions/q00000000000000000000/undo",
            "/questions/q00000000000000000000?x",
            "/questions/q00000000000000000000\r\nset-cookie: a=b",
            "/questions/Q00000000000000000000",
            "javascript:alert(1)",
        ] {
            assert_eq!(own_page(path), "/", "{path:?}");
        }
    }
}
