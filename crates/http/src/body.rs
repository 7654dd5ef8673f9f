//! Request bodies: read whole, under a size and a time limit, for every route.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;

/// Timeout for a whole body to arrive.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A rejected or incomplete body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    TooLarge { limit: usize },
    TooSlow,
    Encoded,
    Broken,
}

impl BodyError {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Encoded => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Broken => StatusCode::BAD_REQUEST,
        }
    }

    pub(crate) fn message(self) -> String {
        match self {
            Self::TooLarge { limit } => format!("the request body is over the limit of {limit} bytes"),
            Self::TooSlow => format!("the request body did not arrive within {} seconds", TIMEOUT.as_secs()),
            Self::Encoded => "compressed request bodies are not accepted".to_owned(),
            Self::Broken => "the request body ended early or is not framed correctly".to_owned(),
        }
    }
}

/// Reads a whole body of at most `limit` bytes. An announced length over the limit is rejected unread.
pub(crate) async fn read(headers: &HeaderMap, body: Incoming, limit: usize) -> Result<Bytes, BodyError> {
    if headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        return Err(BodyError::Encoded);
    }
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > u64::try_from(limit).unwrap_or(u64::MAX)) {
        return Err(BodyError::TooLarge { limit });
    }
    match tokio::time::timeout(TIMEOUT, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge { limit }),
        Ok(Err(_)) => Err(BodyError::Broken),
        Err(_) => Err(BodyError::TooSlow),
    }
}
