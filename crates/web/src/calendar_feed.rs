//! `/feeds/SECRET.ics`: a user's calendar for calendar programs. Such a program cannot log in, so the
//! address is the secret; `adjutant users feed` prints and revokes it.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;

use adjutant_app::App;
use adjutant_base::text::hex;

/// The folder of all feeds.
pub(super) const FOLDER: &str = "/feeds/";

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(file): Path<String>,
    headers: HeaderMap,
) -> Response {
    let unknown = || (StatusCode::NOT_FOUND, "there is no such feed\n").into_response();
    let failed = |error: adjutant_assistant::Error| {
        tracing::error!(%error, "a feed cannot be written");
        (StatusCode::INTERNAL_SERVER_ERROR, "the feed is not available now\n").into_response()
    };
    let Some(secret) = file.strip_suffix(".ics") else { return unknown() };
    let user = match app.assistant.user_for_secret(secret).await {
        Ok(Some(user)) => user,
        Ok(None) => return unknown(),
        Err(error) => return failed(error),
    };
    let text = match app.assistant.export(&user, Timestamp::now()).await {
        Ok(text) => text,
        Err(error) => return failed(error),
    };
    let etag = format!("\"{}\"", hex::sha256(&text));
    // A calendar program may keep the feed, but has to ask each time whether it is current.
    let cache_control = (CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if has(&headers, &etag) {
        return (StatusCode::NOT_MODIFIED, [cache_control], [(ETAG, etag)]).into_response();
    }
    let kind = (CONTENT_TYPE, HeaderValue::from_static("text/calendar; charset=utf-8"));
    ([kind, cache_control], [(ETAG, etag)], text).into_response()
}

/// Returns whether the reader has this version already (RFC 9110 13.1.2: compared weakly).
fn has(headers: &HeaderMap, etag: &str) -> bool {
    let listed = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    listed
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == etag)
}
