//! Delivery of already validated messages to an existing session.
//!
//! A request that is answered at once gets its answer as JSON. A request that takes longer, or sends other messages
//! before its answer, gets an event stream that can be resumed; so does a client that lists event streams first in
//! its Accept.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Response, StatusCode, request};
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, RequestId};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;

use super::{Endpoint, accepts, kinds, named_revision, request_id};
use crate::rejections;
use crate::response_builders::{empty, event_stream, json};
use crate::sessions::Session;
use adjutant_agents::TcpConnection;
use adjutant_mcp::error::{self, Refusal};
use adjutant_mcp::protocol_version::Revision;

/// Time that a request waits for its answer before it gets an event stream.
const JSON_ANSWER_TIMEOUT: Duration = Duration::from_millis(50);

/// Interval at which a silent stream shows that it is alive.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

impl<H: ServerHandler> Endpoint<H> {
    /// Serves a message of any kind within a session.
    pub(super) async fn deliver(
        &self,
        parts: request::Parts,
        message: ClientJsonRpcMessage,
        session: &Arc<Session>,
    ) -> Response<Body> {
        let id = request_id(&message);
        match named_revision(&parts.headers) {
            Some(Err(error)) => return rejections::refuse(StatusCode::BAD_REQUEST, &Refusal { id, error }),
            // A session's message lacks parts that the stateless revision requires; rmcp reports them.
            Some(Ok(Revision::V2026_07_28)) => return self.sessions(parts, &message).await,
            Some(Ok(_)) | None => {}
        }
        match id {
            Some(id) => self.call(parts, message, id, session).await,
            None => match self.manager.accept_message(session.id(), message).await {
                Ok(()) => empty(StatusCode::ACCEPTED),
                Err(_) => rejections::no_session(None),
            },
        }
    }

    async fn call(
        &self,
        parts: request::Parts,
        mut message: ClientJsonRpcMessage,
        id: RequestId,
        session: &Arc<Session>,
    ) -> Response<Body> {
        if !(accepts(&parts.headers, "application/json") && accepts(&parts.headers, "text/event-stream")) {
            return rejections::not_acceptable(Some(id));
        }
        let claim = match session.claim(&id) {
            Ok(claim) => claim,
            Err(denied) => return denied.response(id.clone()),
        };
        let delivery = session.deliver(&parts.extensions, &id);
        let timeout = if prefers_events(&parts.headers) { Duration::ZERO } else { JSON_ANSWER_TIMEOUT };
        if let JsonRpcMessage::Request(request) = &mut message {
            // The connection of this request, which may be another than the session's first.
            if let Some(link) = parts.extensions.get::<Arc<TcpConnection>>() {
                request.request.extensions_mut().insert(link.clone());
            }
            request.request.extensions_mut().insert(parts);
        }
        let Ok(stream) = self.manager.create_stream(session.id(), message).await else {
            drop(claim);
            return rejections::no_session(Some(id));
        };
        claim.handed_over();
        let mut stream = stream.boxed();
        // The first event is available already, and only names the stream.
        let first = stream.next().await;
        if let Some(event) = first.as_ref().and_then(|first| first.event_id.as_deref()) {
            session.number_stream(event, &id);
        }
        let stream = stream::iter(first).chain(stream);
        let stream =
            if session.tells_cancelled() { or_cancelled(stream, id).boxed() } else { stream.boxed() };
        delivery.follow(self.answered(stream, timeout).await)
    }

    async fn answered(
        &self,
        mut stream: BoxStream<'static, ServerSseMessage>,
        timeout: Duration,
    ) -> Response<Body> {
        let mut before = Vec::new();
        let first = async {
            while let Some(event) = stream.next().await {
                match &event.message {
                    // An event without a message only names the place to resume from.
                    None => before.push(event),
                    Some(message) if is_answer(message) => return Some(message.clone()),
                    Some(_) => {
                        before.push(event);
                        return None;
                    }
                }
            }
            None
        };
        let answer = match timeout {
            Duration::ZERO => None,
            timeout => tokio::time::timeout(timeout, first).await.ok().flatten(),
        };
        match answer.map(|answer| serde_json::to_vec(&*answer)) {
            Some(Ok(bytes)) => json(StatusCode::OK, bytes),
            Some(Err(reason)) => {
                tracing::error!(%reason, "an answer cannot be written");
                rejections::internal(None)
            }
            None => {
                let stop = self.shared.give_up.clone();
                let events = stream::iter(before).chain(stream);
                events_response(events.take_until(async move { stop.cancelled().await }))
            }
        }
    }
}

/// Returns the events of a request, with an answer in any case: rmcp ends the stream of a cancelled request without.
fn or_cancelled(
    events: impl Stream<Item = ServerSseMessage> + Send,
    id: RequestId,
) -> impl Stream<Item = ServerSseMessage> + Send {
    let state = (Box::pin(events), Some(id));
    stream::unfold(state, |(mut events, unanswered)| async move {
        match events.next().await {
            Some(event) => {
                let answered = event.message.as_ref().is_some_and(is_answer);
                Some((event, (events, unanswered.filter(|_| !answered))))
            }
            None => unanswered.map(|id| {
                let answer = JsonRpcMessage::error(error::cancelled(), Some(id));
                (ServerSseMessage::from_message(answer), (events, None))
            }),
        }
    })
}

fn prefers_events(headers: &HeaderMap) -> bool {
    kinds(headers)
        .find(|kind| *kind != "*/*")
        .is_some_and(|kind| kind.eq_ignore_ascii_case("text/event-stream"))
}

fn is_answer(message: &Arc<rmcp::model::ServerJsonRpcMessage>) -> bool {
    matches!(**message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))
}

fn events_response(events: impl Stream<Item = ServerSseMessage> + Send + 'static) -> Response<Body> {
    let lines = stream::unfold(Box::pin(events), |mut events| async move {
        let bytes = match tokio::time::timeout(KEEP_ALIVE_INTERVAL, events.next()).await {
            Ok(event) => event_bytes(&event?),
            Err(_) => Bytes::from_static(b":\n\n"),
        };
        Some((Ok::<_, Infallible>(bytes), events))
    });
    event_stream(Body::from_stream(lines))
}

/// One server-sent event. JSON has no line break, so the message is one `data` line.
fn event_bytes(event: &ServerSseMessage) -> Bytes {
    let mut bytes = Vec::with_capacity(256);
    bytes.extend_from_slice(b"data: ");
    if let Some(message) = &event.message {
        let start = bytes.len();
        if let Err(reason) = serde_json::to_writer(&mut bytes, &**message) {
            tracing::error!(%reason, "an event cannot be written");
            bytes.truncate(start);
        }
    }
    bytes.push(b'\n');
    if let Some(id) = &event.event_id {
        bytes.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    if let Some(retry) = event.retry {
        bytes.extend_from_slice(format!("retry: {}\n", retry.as_millis()).as_bytes());
    }
    bytes.push(b'\n');
    bytes.into()
}
