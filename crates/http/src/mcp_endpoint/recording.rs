//! Recording of HTTP exchanges: bodies, and the headers that the protocol uses. No other header is read, so a recording
//! never holds a token or a cookie.

use std::sync::OnceLock;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, Response};
use http_body_util::BodyExt as _;
use rmcp::ServerHandler;

use super::{Endpoint, Named, SESSION_ID, token_name};
use crate::response_builders::is_event_stream;
use adjutant_base::config::recorder::RecordedConnection;
use adjutant_base::text::hex;
use adjutant_host::recorder::Recording;
use adjutant_host::recorder::format::Direction;
use adjutant_host::recorder::http_head::{HEADERS, Head};

/// Characters of a header's value that are recorded.
const MAX_VALUE_CHARS: usize = 300;

impl<H: ServerHandler> Endpoint<H> {
    /// Answers a request, and records both if HTTP is recorded.
    pub(super) async fn recorded(&self, request: Request) -> Response<Body> {
        if !self.shared.app.recorder.records(RecordedConnection::Http) {
            return self.answer(request).await;
        }
        let (parts, body) = request.into_parts();
        // The body was read whole earlier; see `Endpoint::answer`.
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
        let token = token_name(&parts.extensions).to_owned();
        let named = self.session(&parts.headers, &token);
        let recording = match &named {
            Named::Session(session) => self.recording(&session.recording),
            Named::Nothing | Named::Gone => self.recording(&self.recording),
        };
        let opens = parts.method == Method::POST
            && matches!(named, Named::Nothing)
            && memchr::memmem::find(&bytes, b"\"initialize\"").is_some();
        // Only the answer shows whether a session was opened.
        let recording = if opens { self.new_recording() } else { recording };
        let begun = recording.clone();
        let recording = recording.next_call();
        recording.note(&head(parts.method.as_str(), &parts.headers, alias).to_string());
        if parts.method == Method::POST {
            recording.whole(Direction::C2s, &bytes);
        }
        let response = self.answer(Request::from_parts(parts, Body::from(bytes))).await;
        if opens && let Named::Session(session) = self.session(response.headers(), &token) {
            let _ = session.recording.set(begun);
        }
        self.record(response, recording).await
    }

    /// Records a response: a JSON body at once, an event stream as its events arrive.
    async fn record(&self, response: Response<Body>, recording: Recording) -> Response<Body> {
        recording.note(&head(&format!("HTTP {}", response.status()), response.headers(), alias).to_string());
        let (parts, body) = response.into_parts();
        if is_event_stream(&parts.headers) {
            let recorded = body.map_frame(move |frame| {
                if let Some(bytes) = frame.data_ref() {
                    recording.bytes(Direction::S2c, bytes);
                }
                frame
            });
            return Response::from_parts(parts, Body::new(recorded));
        }
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_else(|_| Bytes::new());
        if !bytes.is_empty() {
            recording.whole(Direction::S2c, &bytes);
        }
        Response::from_parts(parts, Body::from(bytes))
    }

    fn recording(&self, place: &OnceLock<Recording>) -> Recording {
        place.get_or_init(|| self.new_recording()).clone()
    }

    fn new_recording(&self) -> Recording {
        self.shared.app.recorder.recording(RecordedConnection::Http, &format!("server {}", self.name))
    }
}

/// Returns the recorded part of a head, with session ids replaced by `session`.
pub(crate) fn head(start: &str, headers: &HeaderMap, session: fn(&str) -> String) -> Head {
    let shown =
        HEADERS.iter().flat_map(|name| headers.get_all(*name).iter().map(move |value| (*name, value)));
    let shown = shown.map(|(name, value)| {
        let value = match value.to_str() {
            Ok(value) if name == SESSION_ID => session(value),
            Ok(value) => value.chars().take(MAX_VALUE_CHARS).collect(),
            Err(_) => "(no text)".to_owned(),
        };
        (name, value)
    });
    Head { start: start.to_owned(), headers: shown.collect() }
}

/// Returns the name of a session in recordings: stable for one session, and useless to a reader.
fn alias(session: &str) -> String {
    format!("session-{}", &hex::sha256(session)[..8])
}
