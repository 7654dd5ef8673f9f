//! Compression of pages, the script and the style sheet with gzip. Streams of events and other files stay as they are.
//!
//! The length of a compressed page depends on all of its text, also on what a request or an agent put there. The only secret
//! of a page is its form token, which no other page repeats ([`crate::csrf`]).

use std::io::{self, Write as _};

use axum::body::{self, Body};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::error::Failure;

/// The level of a file that is compressed once.
pub(super) const BEST: u32 = 9;
/// The level of a page, which is compressed at each request: it becomes a sixth of its size, and a higher level saves a tenth of
/// that for twice the time.
const FAST: u32 = 1;

/// Compresses a page if the client accepts it. A page is whole in memory.
pub(super) async fn gzip(request: Request, next: Next) -> Response {
    let wanted = request.method() != Method::HEAD && accepts_gzip(request.headers());
    let response = next.run(request).await;
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("text/html")) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    parts.headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if !wanted {
        return Response::from_parts(parts, body);
    }
    let compressed = match body::to_bytes(body, usize::MAX).await {
        Ok(page) => compressed(&page, FAST),
        Err(error) => Err(io::Error::other(error)),
    };
    match compressed {
        Ok(bytes) => {
            parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(bytes))
        }
        Err(error) => Failure::internal(error).into_response(),
    }
}

/// Returns `bytes` in gzip; `level` is 1 for the fastest to 9 for the smallest.
pub(super) fn compressed(bytes: &[u8], level: u32) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::new(level));
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Returns whether a request accepts gzip (RFC 9110, section 12.5.3). A weight of 0 means that it does not.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight =
            weight.trim().strip_prefix("q=").map_or(1.0, |number| number.trim().parse().unwrap_or(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && weight > 0.0
    })
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};

    use super::accepts_gzip;

    #[test]
    fn gzip_is_accepted_by_its_name_and_a_weight_above_zero() {
        for (sent, accepted) in [
            ("gzip", true),
            ("gzip, deflate, br, zstd", true),
            ("br;q=1.0, GZIP;q=0.2", true),
            ("deflate,gzip ; q=1", true),
            ("gzip;q=0", false),
            ("gzip;q=0.000, br", false),
            ("gzip;q=x", false),
            ("identity", false),
            ("gzipped", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(sent))]);
            assert_eq!(accepts_gzip(&headers), accepted, "{sent}");
        }
    }
}
