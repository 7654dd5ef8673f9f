//! The login of users: its form, and the pages around it.

use axum::body::Body;
use axum::extract::{FromRequest as _, Query};
use axum::http::{HeaderValue, Request, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use minijinja::context;

use super::csrf::{self, Forms};
use super::error::Failure;
use super::page::{self, Place};
use super::request::{Fields, SignedForm};
use adjutant_questions::Ticket;

/// The path of the link that begins a login at the identity provider.
pub const OPENID_PATH: &str = "/login/openid";

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

/// Returns the page with the form. `fault` says why the last attempt failed, `next` is the path of the wanted page, and
/// `provider` the name of the identity provider, if users log in at one.
pub fn login_page(status: StatusCode, fault: Option<&str>, next: &str, provider: Option<&str>) -> Response {
    let page = Forms::Login.token().and_then(|csrf| {
        let values = context! { csrf, fault, next => own_page(next), provider, openid => OPENID_PATH };
        page::bare(status, Place::Outside, 0, "login.html", values)
    });
    page.unwrap_or_else(Failure::into_response)
}

/// Reads the address of the link that begins a login at the identity provider, and returns the page to show then; `None` for
/// a link that is not from the page of the login, or is older than the hub.
pub fn read_openid_link(address: &Uri) -> Option<String> {
    let Query(fields) = Query::<Vec<(String, String)>>::try_from_uri(address).ok()?;
    let fields = Fields(fields);
    Forms::Login.check(fields.get(csrf::FIELD)).ok()?;
    Some(own_page(fields.get("next")).to_owned())
}

/// Returns the page for a browser that came back from the identity provider and is logged in; it opens the page `next`.
///
/// A redirect would not do: the provider began this navigation, so a browser would follow it without the cookie of the login,
/// which is `SameSite=Strict`. What this page opens is the hub's own navigation.
pub fn logged_in(next: &str) -> Response {
    let next = own_page(next);
    let page = page::bare(StatusCode::OK, Place::Outside, 0, "logged_in.html", context! { next });
    let mut page = page.unwrap_or_else(Failure::into_response);
    if let Ok(refresh) = HeaderValue::from_str(&format!("0; url={next}")) {
        page.headers_mut().insert(header::REFRESH, refresh);
    }
    page
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
