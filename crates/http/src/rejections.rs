//! Rejections of the HTTP interface itself: as JSON-RPC on `/mcp` and as plain text elsewhere.

use axum::body::{Body, Bytes};
use axum::http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use rmcp::model::RequestId;

use crate::response_builders::{json, typed};
use adjutant_mcp::error::{self, Refusal};

/// Maximum bytes of an inner layer's plain answer that are read.
const MAX_PLAIN_BYTES: usize = 4096;

/// Returns a JSON-RPC error as a whole response.
pub(crate) fn refuse(status: StatusCode, refusal: &Refusal) -> Response<Body> {
    json(status, refusal.to_json().to_string())
}

/// Returns a JSON-RPC error for a request that was rejected before or apart from its method.
pub(crate) fn invalid(
    status: StatusCode,
    id: Option<RequestId>,
    message: impl Into<String>,
) -> Response<Body> {
    refuse(status, &Refusal { id, error: error::invalid_request(message) })
}

/// Returns an internal error; the log has the reason.
pub(crate) fn internal(id: Option<RequestId>) -> Response<Body> {
    refuse(StatusCode::INTERNAL_SERVER_ERROR, &Refusal { id, error: error::internal() })
}

/// Returns the response to a request of an unknown session.
pub(crate) fn no_session(id: Option<RequestId>) -> Response<Body> {
    let message = "the session is unknown or has ended; start a new one with `initialize`";
    invalid(StatusCode::NOT_FOUND, id, message)
}

/// Returns the response to a client that does not accept both kinds of answer.
pub(crate) fn not_acceptable(id: Option<RequestId>) -> Response<Body> {
    let message = "header Accept must list application/json and text/event-stream";
    invalid(StatusCode::NOT_ACCEPTABLE, id, message)
}

/// Returns a rejection outside `/mcp`: one plain sentence.
pub(crate) fn plain(status: StatusCode, message: impl Into<String>) -> Response<Body> {
    typed(status, "text/plain; charset=utf-8", message.into() + "\n")
}

/// Returns the response to a request without a valid token; it names the place to find one.
pub(crate) fn unauthorized(headers: &HeaderMap) -> Response<Body> {
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.split_once(' '));
    let is_token = given
        .is_some_and(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty());
    let message = if is_token {
        "the token is not valid: it was revoked or never existed; `adjutant tokens list` shows the tokens, `adjutant tokens add NAME` makes another"
    } else {
        "a token is needed: send `Authorization: Bearer TOKEN` with a token of `adjutant tokens add NAME`, or with the content of the file `token` in Adjutant's home"
    };
    let mut response = invalid(StatusCode::UNAUTHORIZED, None, message);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

/// Turns a plain-text failure of the protocol layer into a JSON-RPC error with the request's id.
///
/// The status stays. The layer's message about a faulty request is passed on; its message about an internal fault may
/// name internals and stays in the log.
pub(crate) async fn readable(response: Response<Body>, id: Option<RequestId>) -> Response<Body> {
    let status = response.status();
    let is_json = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let allow = response.headers().get(ALLOW).cloned();
    let mut answer = match status {
        StatusCode::NOT_FOUND => no_session(id),
        StatusCode::NOT_ACCEPTABLE => not_acceptable(id),
        StatusCode::METHOD_NOT_ALLOWED => invalid(status, id, "this HTTP method is not served here"),
        _ if status.is_client_error() => invalid(status, id, said(response.into_body()).await),
        _ => internal(id),
    };
    if let Some(allow) = allow {
        answer.headers_mut().insert(ALLOW, allow);
    }
    answer
}

async fn said(body: Body) -> String {
    let bytes = http_body_util::Limited::new(body, MAX_PLAIN_BYTES)
        .collect()
        .await
        .map_or(Bytes::new(), http_body_util::Collected::to_bytes);
    let text = String::from_utf8_lossy(&bytes);
    text.strip_prefix("Bad Request: ").unwrap_or(&text).to_owned()
}
