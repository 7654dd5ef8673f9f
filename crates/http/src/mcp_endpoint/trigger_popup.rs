//! The contract of the popups over HTTP: a POST of `triggerPopup` without a handshake is acknowledged and answered
//! later, on the event stream of the same caller.
//!
//! A caller is who has the token, and beside it the `client` of the query, where one is given. What a caller asked is
//! told to that caller's stream alone; while none is open it waits in the store. Newer clients have sessions, whose
//! requests and streams never come here.

use std::collections::{HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri, request};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::stream;
use rmcp::model::RequestId;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{REVISION, SESSION_ID, Shared, accepts, any_kind};
use crate::http::answer;
use crate::mcp::edge::envelope::Envelope;
use crate::mcp::error::Refusal;
use crate::mcp::popups::{METHOD, read, refused, response};
use crate::popups::{Asker, Delivery, Error, Popups, Route};

/// The longest that a caller may ask to wait.
const LONGEST: Duration = Duration::from_hours(1);

/// How often a silent stream shows that it is alive, and looks for what another hub decided.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Characters of a caller's name.
const NAME: usize = 200;

/// Who listens, and whose POST waits for its own answer.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// The newest stream of each caller: an older one ends, so that nothing is sent twice.
    open: Mutex<HashMap<String, CancellationToken>>,
    waiting: Mutex<HashSet<Route>>,
    /// Streams that broke off since the last [`Self::sweep`].
    broken: Mutex<HashSet<String>>,
}

impl Streams {
    /// Makes the stream of a caller, in the place of an older one.
    fn replace(&self, stream: &str) -> CancellationToken {
        let replaced = CancellationToken::new();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, token| !token.is_cancelled());
        if let Some(older) = open.insert(stream.to_owned(), replaced.clone()) {
            older.cancel();
        }
        replaced
    }

    /// Tells the desk whose stream broke off and was not opened again. Who never opened one is silent at most.
    pub(crate) async fn sweep(&self, popups: &Popups) {
        let broken = std::mem::take(&mut *self.broken.lock().unwrap_or_else(PoisonError::into_inner));
        for stream in broken {
            if !self.is_open(&stream) {
                popups.gone(&session(&stream)).await;
                // It may have come back in between.
                if self.is_open(&stream) {
                    popups.back(&session(&stream)).await;
                }
            }
        }
    }

    /// Notes that a stream is closed, unless another one has taken its place.
    fn closed(&self, stream: &str, replaced: &CancellationToken) {
        if replaced.is_cancelled() {
            return;
        }
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(stream);
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).insert(stream.to_owned());
    }

    /// Whether a caller reads its stream now.
    fn is_open(&self, stream: &str) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).contains_key(stream)
    }

    fn waiting(&self) -> MutexGuard<'_, HashSet<Route>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A POST that waits; when it is gone its answer goes to the stream.
struct Waiting<'a> {
    streams: &'a Streams,
    popups: &'a Popups,
    route: Route,
}

impl<'a> Waiting<'a> {
    fn new(streams: &'a Streams, popups: &'a Popups, route: Route) -> Self {
        streams.waiting().insert(route.clone());
        Self { streams, popups, route }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.streams.waiting().remove(&self.route);
        self.popups.stream_changed(&self.route.stream);
    }
}

/// Returns the id and the params of a request that is the contract's.
pub(super) fn asked(envelope: &Envelope<'_>) -> Option<(RequestId, Option<Value>)> {
    let Envelope::Request { id, method, params } = envelope else { return None };
    let params = params.map(|params| serde_json::from_str(params.get()).unwrap_or_default());
    (method == METHOD).then(|| (id.clone(), params))
}

/// Acknowledges a question, or answers it where the caller prefers to wait.
pub(super) async fn post(
    shared: &Shared,
    parts: &request::Parts,
    id: RequestId,
    params: Option<Value>,
) -> Response<Body> {
    let popups = &shared.app.popups;
    let refuse = |error| answer::refuse(StatusCode::BAD_REQUEST, &Refusal { id: Some(id.clone()), error });
    let draft = match read(params) {
        Ok(draft) => draft,
        Err(error) => return refuse(error),
    };
    let (client, stream) = caller(&parts.uri);
    let route = Route { stream: stream.clone(), request: id.clone().into_json_value().to_string() };
    let asker = Asker { key: stream.clone(), client, session: session(&stream), route: route.clone() };
    let patience = preference(&parts.headers);
    let waiting = patience.map(|_| Waiting::new(&shared.streams, popups, route.clone()));
    let ticket = match popups.ask(asker.clone(), draft).await {
        Ok(entered) => entered.ticket,
        Err(Error::Store(source)) => {
            tracing::error!(error = %source, "the store failed");
            return answer::internal(Some(id));
        }
        Err(refusal) => return refuse(refused(&refusal)),
    };
    let until = patience.map(|patience| Instant::now() + patience);
    if let Some(until) = until {
        let left = until.saturating_duration_since(Instant::now());
        let decided = tokio::select! {
            state = popups.wait(&ticket, left) => state.is_ok_and(|state| state.outcome().is_some()),
            () = shared.give_up.cancelled() => false,
        };
        if decided && let Some(response) = own(popups, &route).await {
            return answer::json(StatusCode::OK, &response);
        }
    }
    drop(waiting);
    if !shared.streams.is_open(&stream) {
        popups.lets_go(&asker, &ticket, popups.settings().silent).await;
        if shared.streams.is_open(&stream) {
            popups.back(&session(&stream)).await;
        }
    }
    let queued = json!({"jsonrpc": "2.0", "result": {"status": "queued"}, "id": id.into_json_value()});
    answer::json(StatusCode::ACCEPTED, &queued)
}

/// The response of a request that is decided, noted as sent.
async fn own(popups: &Popups, route: &Route) -> Option<Value> {
    let due = popups.due(&route.stream, None).await.ok()?;
    let delivery = due.into_iter().find(|delivery| delivery.request == route.request)?;
    popups.sent(&route.stream, delivery.event).await;
    Some(response(&delivery.request, &delivery.question))
}

/// Whether a GET opens the stream of a caller without a session: one that asks for events, or for whatever there is,
/// as most HTTP clients do unless they are told otherwise.
pub(super) fn opens(parts: &request::Parts) -> bool {
    parts.method == Method::GET
        && !parts.headers.contains_key(SESSION_ID)
        && !parts.headers.contains_key(REVISION)
        && (accepts(&parts.headers, "text/event-stream") || any_kind(&parts.headers))
}

/// What one open stream holds on to.
struct Open {
    shared: Shared,
    stream: String,
    changes: watch::Receiver<u64>,
    replaced: CancellationToken,
    /// The last event that the caller says it has, until the first look.
    after: Option<i64>,
    due: VecDeque<Delivery>,
    /// The event that was given to the connection last.
    given: Option<i64>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.streams.closed(&self.stream, &self.replaced);
    }
}

/// Opens the stream of a caller, behind the event that it names as its last.
pub(super) async fn get(shared: &Shared, parts: &request::Parts) -> Response<Body> {
    let after = match parts.headers.get("last-event-id").map(|id| id.to_str().ok()?.parse::<i64>().ok()) {
        None => None,
        Some(Some(after)) => Some(after),
        Some(None) => {
            let message = "header Last-Event-ID is no id of an event of this stream";
            return answer::invalid(StatusCode::BAD_REQUEST, None, message);
        }
    };
    let (_, stream) = caller(&parts.uri);
    let open = Open {
        changes: shared.app.popups.stream_changes(&stream),
        replaced: shared.streams.replace(&stream),
        shared: shared.clone(),
        stream,
        after,
        due: VecDeque::new(),
        given: None,
    };
    // Once it is open, so that no look finds it closed and gone.
    shared.app.popups.back(&session(&open.stream)).await;
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
        let popups = self.shared.app.popups.clone();
        // Asking for the next one means that the connection took the last.
        if let Some(event) = self.given.take() {
            popups.sent(&self.stream, event).await;
        }
        loop {
            if let Some(delivery) = self.due.pop_front() {
                self.given = Some(delivery.event);
                let data = response(&delivery.request, &delivery.question).to_string();
                return Some(Event::default().id(delivery.event.to_string()).data(data));
            }
            self.changes.mark_unchanged();
            match popups.due(&self.stream, self.after.take()).await {
                Ok(due) => {
                    let waiting = self.shared.streams.waiting();
                    let stream = &self.stream;
                    let taken = |delivery: &Delivery| {
                        waiting.contains(&Route { stream: stream.clone(), request: delivery.request.clone() })
                    };
                    self.due.extend(due.into_iter().filter(|delivery| !taken(delivery)));
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
                () = tokio::time::sleep(HEARTBEAT) => {}
                () = self.replaced.cancelled() => return None,
                () = self.shared.app.shutdown.cancelled() => return None,
            }
        }
    }
}

/// What a caller without a session calls itself, and the key of its stream.
fn caller(uri: &Uri) -> (String, String) {
    let pairs = uri.query().unwrap_or_default().split('&');
    let client = pairs.filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == "client");
    let client: String = client.map_or("", |(_, value)| value).chars().take(NAME).collect();
    let stream = format!("contract:{client}");
    (client, stream)
}

/// What a caller's stream is called at the desk: it stays the same when the stream breaks off and comes back.
fn session(stream: &str) -> String {
    format!("stream:{stream}")
}

/// How long a caller prefers to wait for the answer (RFC 7240).
fn preference(headers: &HeaderMap) -> Option<Duration> {
    let preferences = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut all = preferences.flat_map(|value| value.split([',', ';']));
    let seconds = all.find_map(|one| one.trim().strip_prefix("wait=")?.parse::<u64>().ok())?;
    Some(Duration::from_secs(seconds).min(LONGEST))
}
