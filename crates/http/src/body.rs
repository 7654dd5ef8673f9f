//! Request bodies: read whole, under a size and a time limit, for every route.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;

/// Timeout for a whole body to arrive.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Reads a whole body of at most `limit` bytes. An announced length over the limit is rejected unread. The
/// error is the status and the message of the rejection.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Incoming,
    limit: usize,
) -> Result<Bytes, (StatusCode, String)> {
    let too_large = || {
        let message = format!("the request body is over the limit of {limit} bytes");
        (StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    if headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        let message = "compressed request bodies are not accepted".to_owned();
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > u64::try_from(limit).unwrap_or(u64::MAX)) {
        return Err(too_large());
    }
    match tokio::time::timeout(TIMEOUT, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => {
            let message = "the request body ended early or is not framed correctly".to_owned();
            Err((StatusCode::BAD_REQUEST, message))
        }
        Err(_) => {
            let message = format!("the request body did not arrive within {} seconds", TIMEOUT.as_secs());
            Err((StatusCode::REQUEST_TIMEOUT, message))
        }
    }
}
