//! Builders of responses: without a body, of JSON or text, of an event stream.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, Response, StatusCode};

/// Returns a response without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Returns a response with a JSON text.
pub(crate) fn json(status: StatusCode, text: impl Into<Body>) -> Response<Body> {
    typed(status, "application/json", text)
}

/// Returns a response with a body of this content type.
pub(crate) fn typed(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Returns a response with an event stream, which no cache keeps and no proxy holds back.
pub(crate) fn event_stream(events: Body) -> Response<Body> {
    let mut response = typed(StatusCode::OK, "text/event-stream", events);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Returns whether these are the headers of an event stream.
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}
