//! The contract of the questions over HTTP: a POST of `triggerPopup` without a handshake is acknowledged and answered
//! later, on the event stream of the same caller.
//!
//! A caller is identified by the token and the `client` of the query, if the query has one. An answer is sent to the
//! stream of its caller only, and is kept in the store while that stream is closed. Newer clients have sessions;
//! requests and streams of sessions never come here.

use std::collections::{HashSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use axum::http::{HeaderMap, Method, Response, StatusCode, request};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::stream;
use rmcp::model::RequestId;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{REVISION, SESSION_ID, Shared, accepts, any_kind, token_name};
use crate::delivery::{Delivery, is_acknowledged};
use crate::rejections;
use crate::response_builders;
use crate::streams::{Streams, session_of};
use adjutant_agents::TcpConnection;
use adjutant_mcp::error::Refusal;
use adjutant_mcp::transport::envelope::Envelope;
use adjutant_mcp::trigger_popup::{METHOD, read, refused, response};
use adjutant_questions::{Asker, Delivery as Delivered, DeliveryClaim, Error, Questions, Route};

/// Longest wait that a caller may ask for.
const MAX_WAIT: Duration = Duration::from_hours(1);

/// Interval at which a silent stream shows that it is alive and queries decisions by other hubs.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Maximum number of characters of a caller's name.
const MAX_NAME_CHARS: usize = 200;

/// A waiting POST; when it ends, its answer goes to the stream instead.
struct Waiting {
    streams: Arc<Streams>,
    questions: Arc<Questions>,
    route: Route,
}

impl Waiting {
    fn new(shared: &Shared, route: Route) -> Self {
        shared.streams.waiting().insert(route.clone());
        Self { streams: shared.streams.clone(), questions: shared.app.questions.clone(), route }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.streams.waiting().remove(&self.route);
        self.questions.notify_stream(&self.route.stream);
    }
}

/// Returns the id and the params of a request of the contract.
pub(super) fn asked(envelope: &Envelope<'_>) -> Option<(RequestId, Option<Value>)> {
    let Envelope::Request { id, method, params } = envelope else { return None };
    let params = params.map(|params| serde_json::from_str(params.get()).unwrap_or_default());
    (method == METHOD).then(|| (id.clone(), params))
}

/// Acknowledges a question, or answers it if the caller prefers to wait.
pub(super) async fn post(
    shared: &Shared,
    parts: &request::Parts,
    id: RequestId,
    params: Option<Value>,
) -> Response<Body> {
    let questions = &shared.app.questions;
    let refuse =
        |error| rejections::refuse(StatusCode::BAD_REQUEST, &Refusal { id: Some(id.clone()), error });
    let draft = match read(params) {
        Ok(draft) => draft,
        Err(error) => return refuse(error),
    };
    if let Some(connection) = parts.extensions.get::<Arc<TcpConnection>>() {
        connection.has_asked().store(true, Ordering::Relaxed);
    }
    let (client, stream) = caller(shared, parts);
    let route = Route { stream: stream.clone(), request: id.clone().into_json_value().to_string() };
    let asker = Asker {
        key: stream.clone(),
        place: String::new(),
        client,
        session: session_of(&stream),
        route: route.clone(),
    };
    let timeout = preference(&parts.headers);
    let waiting = timeout.map(|_| Waiting::new(shared, route.clone()));
    let ticket = match questions.ask(asker.clone(), draft).await {
        Ok(entered) => entered.ticket,
        Err(Error::Store(source)) => {
            tracing::error!(error = %source, "the store failed");
            return rejections::internal(Some(id));
        }
        Err(refusal) => return refuse(refused(&refusal)),
    };
    let until = timeout.map(|timeout| Instant::now() + timeout);
    if let Some(until) = until {
        let left = until.saturating_duration_since(Instant::now());
        let decided = tokio::select! {
            state = questions.wait(&ticket, left) => state.is_ok_and(|state| state.outcome().is_some()),
            () = shared.give_up.cancelled() => false,
        };
        if decided && let Some((event, response)) = own(questions, &route).await {
            let questions = questions.clone();
            // Until this response has arrived, the same question asked again waits and does not get the same answer.
            let claim = questions.claim_delivery(&stream, &ticket);
            let received = async move {
                questions.mark_sent(&stream, event, None).await;
                drop((waiting, claim));
            };
            let response = response_builders::json(StatusCode::OK, response.to_string());
            return Delivery::new(&parts.extensions, || true, received, || {}).follow(response);
        }
    }
    drop(waiting);
    if !shared.streams.is_open(&stream) {
        questions.start_lease(&asker, &ticket, questions.settings().silence_timeout).await;
        if shared.streams.is_open(&stream) {
            questions.session_resumed(&session_of(&stream)).await;
        }
    }
    let queued = json!({"jsonrpc": "2.0", "result": {"status": "queued"}, "id": id.into_json_value()});
    response_builders::json(StatusCode::ACCEPTED, queued.to_string())
}

/// Returns the response to a decided request, with the number of its event.
async fn own(questions: &Questions, route: &Route) -> Option<(i64, Value)> {
    let due = questions.stream_deliveries(&route.stream, None).await.ok()?;
    let delivery = due.into_iter().find(|delivery| delivery.request == route.request)?;
    Some((delivery.event, response(&delivery.request, &delivery.question)))
}

/// Returns whether a request opens the stream of a caller without a session: a GET that accepts events, or any media
/// type, as most HTTP clients do by default.
pub(super) fn opens(parts: &request::Parts) -> bool {
    parts.method == Method::GET
        && !parts.headers.contains_key(SESSION_ID)
        && !parts.headers.contains_key(REVISION)
        && (accepts(&parts.headers, "text/event-stream") || any_kind(&parts.headers))
}

/// The state of one open stream.
struct Open {
    shared: Shared,
    stream: String,
    changes: watch::Receiver<u64>,
    replaced: CancellationToken,
    /// The last event that the caller reports to have, until the first query.
    after: Option<i64>,
    due: VecDeque<Delivered>,
    connection: Option<Arc<TcpConnection>>,
    /// Events that were passed to the connection, and that the caller may not have.
    given: Vec<(i64, DeliveryClaim)>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.streams.closed(&self.stream, &self.replaced);
    }
}

/// Opens the stream of a caller after the event that the caller names as its last.
pub(super) async fn get(shared: &Shared, parts: &request::Parts) -> Response<Body> {
    let after = match parts.headers.get("last-event-id").map(|id| id.to_str().ok()?.parse::<i64>().ok()) {
        None => None,
        Some(Some(after)) => Some(after),
        Some(None) => {
            let message = "header Last-Event-ID is not the id of an event of this stream";
            return rejections::invalid(StatusCode::BAD_REQUEST, None, message);
        }
    };
    let (_, stream) = caller(shared, parts);
    if let Some(after) = after {
        // The caller has the event that it names, also if the acknowledgement of that event was lost.
        shared.app.questions.mark_sent(&stream, after, Some(after)).await;
    }
    let open = Open {
        changes: shared.app.questions.stream_changes(&stream),
        replaced: shared.streams.replace(&stream),
        shared: shared.clone(),
        stream,
        after,
        due: VecDeque::new(),
        connection: parts.extensions.get().cloned(),
        given: Vec::new(),
    };
    // Called only after the stream is open, so that no sweep finds it closed.
    shared.app.questions.session_resumed(&session_of(&open.stream)).await;
    let events = stream::unfold(open, |mut open| async move {
        let event = open.next().await?;
        Some((Ok::<_, Infallible>(event), open))
    });
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl Open {
    /// Waits for the next event; `None` ends the stream.
    async fn next(&mut self) -> Option<Event> {
        let questions = self.shared.app.questions.clone();
        loop {
            if let Some(delivery) = self.due.pop_front() {
                let claim = questions.claim_delivery(&self.stream, &delivery.question.ticket);
                self.given.push((delivery.event, claim));
                let data = response(&delivery.request, &delivery.question).to_string();
                return Some(Event::default().id(delivery.event.to_string()).data(data));
            }
            self.changes.mark_unchanged();
            // A waiting POST delivers its own answer, which the store returns as due until then. The waiting POSTs are
            // read before the store too, because one may deliver its answer and stop waiting while the store is read.
            let waiting = |open: &Self| open.shared.streams.waiting_on(&open.stream);
            let before = waiting(self);
            match questions.stream_deliveries(&self.stream, self.after.take()).await {
                Ok(due) => {
                    let waiting: HashSet<_> = before.into_iter().chain(waiting(self)).collect();
                    let taken = |delivery: &Delivered| waiting.contains(&delivery.request);
                    let given =
                        |delivery: &Delivered| self.given.iter().any(|(event, _)| *event == delivery.event);
                    let fresh = |delivery: &Delivered| !taken(delivery) && !given(delivery);
                    self.due.extend(due.into_iter().filter(fresh));
                }
                Err(error) => {
                    tracing::warn!(%error, "a stream's events cannot be read");
                    return None;
                }
            }
            if !self.due.is_empty() {
                continue;
            }
            tokio::select! {
                changed = self.changes.changed() => changed.ok()?,
                acknowledged = is_acknowledged(self.connection.as_deref()), if !self.given.is_empty() => {
                    if !acknowledged {
                        return None;
                    }
                    for (event, claim) in std::mem::take(&mut self.given) {
                        questions.mark_sent(&self.stream, event, Some(event)).await;
                        drop(claim);
                    }
                }
                () = tokio::time::sleep(HEARTBEAT) => {}
                () = self.replaced.cancelled() => return None,
                () = self.shared.app.shutdown.cancelled() => return None,
            }
        }
    }
}

/// Returns the name of a caller without a session, and the key of its stream. The token identifies the caller; the
/// name only separates the streams of one token.
fn caller(shared: &Shared, parts: &request::Parts) -> (String, String) {
    let pairs = parts.uri.query().unwrap_or_default().split('&');
    let client = pairs.filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == "client");
    let client: String = client.map_or("", |(_, value)| value).chars().take(MAX_NAME_CHARS).collect();
    // The name of a token has no colon.
    let stream = format!("{}contract:{}:{client}", shared.app.machine(), token_name(&parts.extensions));
    (client, stream)
}

/// Returns how long a caller prefers to wait for the answer (RFC 7240).
fn preference(headers: &HeaderMap) -> Option<Duration> {
    let preferences = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut all = preferences.flat_map(|value| value.split([',', ';']));
    let seconds = all.find_map(|one| one.trim().strip_prefix("wait=")?.parse::<u64>().ok())?;
    Some(Duration::from_secs(seconds).min(MAX_WAIT))
}
