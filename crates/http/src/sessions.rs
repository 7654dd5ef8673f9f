//! Sessions of the handshake revisions: bounded in number, and ended when idle, never during a call.
//!
//! rmcp holds the sessions. Its idle timeout would end one during a long call, so it is switched off and this module
//! counts the running calls. [`Registry`] knows the sessions of all mounts, [`Sessions`] is one endpoint's view of it:
//! a session is served by the endpoint that opened it and is unknown to the others.

mod rmcp_sessions;
mod transport;
mod undelivered_responses;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use axum::http::Extensions;
use rmcp::model::{Implementation, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::SessionManager as _;
use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::delivery::Delivery;
use crate::stateless_clients::Callers;
use crate::streams::Streams;
use adjutant_app::App;
use adjutant_base::mutex::lock;
use adjutant_host::recorder::Recording;
use adjutant_mcp::ToolsetSelection;
use adjutant_mcp::deliveries::Deliveries;
use adjutant_mcp::protocol_version::Revision;
use adjutant_questions::Questions;
pub(crate) use rmcp_sessions::Sessions;
use undelivered_responses::UndeliveredResponses;

/// Maximum requests in flight in one session, as on a stream.
pub(crate) const MAX_IN_FLIGHT: usize = 512;

tokio::task_local! {
    /// The place for the session that is being opened; released if none is opened.
    static PLACE: Cell<Option<OwnedSemaphorePermit>>;
}

/// All sessions of one listener.
#[derive(Debug)]
pub(crate) struct Registry {
    inner: LocalSessionManager,
    live: Mutex<HashMap<SessionId, Live>>,
    places: Arc<Semaphore>,
    idle: Duration,
    /// Ends event streams that belong to no call.
    stop: CancellationToken,
}

/// The lifetime of one session.
#[derive(Debug)]
pub(crate) struct Session {
    id: SessionId,
    endpoint: &'static str,
    state: Mutex<Use>,
    opened_by: OnceLock<Opener>,
    responses: Mutex<UndeliveredResponses>,
    /// Records all that its client sends and receives, from the handshake on.
    pub recording: OnceLock<Recording>,
}

/// The opener of a session.
#[derive(Debug)]
struct Opener {
    app: Arc<App>,
    /// The session's name as an asker.
    asks_as: String,
    /// The name of the token; requests with a different token do not find the session.
    token: String,
    deliveries: Arc<Deliveries>,
}

/// A session in the registry.
#[derive(Debug)]
struct Live {
    session: Arc<Session>,
    /// Released when the session leaves the registry, though its last task may still be ending.
    _place: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
struct Use {
    in_flight: HashMap<RequestId, Call>,
    /// Open event streams.
    streams: usize,
    last: Instant,
    /// The revision agreed in the handshake.
    revision: Option<Revision>,
}

/// The kind of a request in flight, as far as the format of its answer depends on it.
#[derive(Debug)]
enum Call {
    /// The answer repeats the client's description of itself, as the contracts require.
    Initialize(Box<Implementation>),
    Other,
}

/// The reason why a session rejects a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The id is in flight.
    Duplicate,
    Busy,
}

impl Session {
    fn new(id: SessionId, endpoint: &'static str) -> Self {
        let state = Use { in_flight: HashMap::new(), streams: 0, last: Instant::now(), revision: None };
        Self {
            id,
            endpoint,
            state: Mutex::new(state),
            opened_by: OnceLock::new(),
            responses: Mutex::default(),
            recording: OnceLock::new(),
        }
    }

    /// Sets the session's opener: its name as an asker, so that its end is recorded with its questions, the name of its
    /// token, and the outcomes that are on their way to it.
    pub(crate) fn opened_by(
        &self,
        app: Arc<App>,
        asks_as: String,
        token: String,
        deliveries: Arc<Deliveries>,
    ) {
        // A session is opened once.
        let _ = self.opened_by.set(Opener { app, asks_as, token, deliveries });
    }

    /// Returns the name of the token that opened the session; empty for the hub's own.
    pub(crate) fn token(&self) -> &str {
        self.opened_by.get().map_or("", |opener| &opener.token)
    }

    async fn ended(&self) {
        if let Some(opener) = self.opened_by.get() {
            opener.app.questions.session_closed(&opener.asks_as).await;
        }
    }

    /// Begins the delivery of the response to a request.
    pub(crate) fn deliver(self: &Arc<Self>, extensions: &Extensions, id: &RequestId) -> Delivery {
        lock(&self.responses).open(id);
        self.follow(extensions, id.clone())
    }

    /// Begins the delivery of the response on a stream that is resumed after `event`.
    pub(crate) fn redeliver(self: &Arc<Self>, extensions: &Extensions, event: &str) -> Option<Delivery> {
        let (id, outcomes) = lock(&self.responses).resume(event)?;
        if let Some(opener) = self.opened_by.get() {
            for outcome in outcomes {
                opener.deliveries.attach(id.clone(), outcome.claim(&opener.app));
            }
        }
        Some(self.follow(extensions, id))
    }

    fn follow(self: &Arc<Self>, extensions: &Extensions, id: RequestId) -> Delivery {
        let claims = {
            let session = self.clone();
            move |id: &RequestId| session.deliveries().map_or_else(Vec::new, |all| all.take(id))
        };
        let (session, asked) = (self.clone(), id.clone());
        let has_outcome = move || session.deliveries().is_some_and(|all| all.has(&asked));
        let (session, asked, received) = (self.clone(), id.clone(), claims.clone());
        let received = async move {
            lock(&session.responses).receive(&asked);
            for claim in received(&asked) {
                claim.confirm().await;
            }
        };
        let session = self.clone();
        Delivery::new(extensions, has_outcome, received, move || {
            if lock(&session.responses).lose(&id) {
                drop(claims(&id));
            }
        })
    }

    fn deliveries(&self) -> Option<&Deliveries> {
        self.opened_by.get().map(|opener| &*opener.deliveries)
    }

    /// Records the stream of a request by the id of its first event.
    pub(crate) fn number_stream(&self, event: &str, id: &RequestId) {
        lock(&self.responses).number(event, id);
    }

    /// Records that a response passes. Without a reader its outcomes stay undelivered.
    fn pass(&self, id: &RequestId, message: &ServerJsonRpcMessage) {
        let Some(deliveries) = self.deliveries() else { return };
        let claims = deliveries.take(id);
        if lock(&self.responses).pass(id, message, &claims) {
            for claim in claims {
                deliveries.attach(id.clone(), claim);
            }
        }
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    /// Counts a request as in flight; after [`Claim::handed_over`], until it is answered or cancelled.
    pub(crate) fn claim<'a>(&'a self, id: &'a RequestId) -> Result<Claim<'a>, Denied> {
        let mut state = lock(&self.state);
        state.last = Instant::now();
        if state.in_flight.contains_key(id) {
            return Err(Denied::Duplicate);
        }
        if state.in_flight.len() >= MAX_IN_FLIGHT {
            return Err(Denied::Busy);
        }
        state.in_flight.insert(id.clone(), Call::Other);
        Ok(Claim { session: self, id })
    }

    fn release(&self, id: &RequestId) {
        let mut state = lock(&self.state);
        state.in_flight.remove(id);
        state.last = Instant::now();
    }

    /// Returns the revision agreed in the handshake; `None` before.
    pub(crate) fn revision(&self) -> Option<Revision> {
        lock(&self.state).revision
    }

    /// Returns whether a cancelled request is answered all the same, as the assistant's contract requires.
    pub(crate) fn tells_cancelled(&self) -> bool {
        ToolsetSelection::from_name(self.endpoint) == Some(ToolsetSelection::Assistant)
            && self.revision() == Some(Revision::V2024_11_05)
    }

    /// Returns whether the handshake agreed on the only revision with batches.
    pub(crate) fn takes_batches(&self) -> bool {
        self.revision() == Some(Revision::V2025_03_26)
    }

    /// Returns how long the session has been idle; `None` while a request or a stream is open.
    fn idle_for(&self, now: Instant) -> Option<Duration> {
        let state = lock(&self.state);
        (state.in_flight.is_empty() && state.streams == 0).then(|| now.saturating_duration_since(state.last))
    }
}

/// A request in flight that is not handed over yet. It is released on drop, as when its client leaves meanwhile.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    session: &'a Session,
    id: &'a RequestId,
}

impl Claim<'_> {
    /// Keeps the request in flight until its answer.
    pub(crate) fn handed_over(self) {
        std::mem::forget(self);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.session.release(self.id);
    }
}

/// An open event stream, counted until it is dropped.
struct OpenStream(Arc<Session>);

impl OpenStream {
    fn new(session: Arc<Session>) -> Self {
        lock(&session.state).streams += 1;
        Self(session)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.streams -= 1;
        state.last = Instant::now();
    }
}

impl Registry {
    /// Makes a registry of at most `limit` sessions. A session that was idle for `idle` may be ended.
    pub(crate) fn new(limit: usize, idle: Duration, stop: CancellationToken) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = None;
        Self {
            inner,
            live: Mutex::default(),
            places: Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))),
            idle,
            stop,
        }
    }

    /// Finds a session that `endpoint` opened.
    pub(crate) fn find(&self, endpoint: &str, id: &str) -> Option<Arc<Session>> {
        lock(&self.live)
            .get(id)
            .map(|live| &live.session)
            .filter(|session| session.endpoint == endpoint)
            .cloned()
    }

    /// Takes a place for the session that `opening` may open. If all are taken, the longest idle session is ended, of the
    /// token with the most sessions: a client that opens too many ends its own. `None` when no session is idle.
    pub(crate) async fn with_place<T>(&self, opening: impl Future<Output = T>) -> Option<T> {
        let mut place = self.places.clone().try_acquire_owned().ok();
        if place.is_none()
            && let Some(id) = self.longest_idle()
        {
            let _ = self.end(&id).await;
            place = self.places.clone().try_acquire_owned().ok();
        }
        let place = place?;
        Some(PLACE.scope(Cell::new(Some(place)), opening).await)
    }

    /// Ends idle sessions, stateless clients without recent requests, and askers with broken streams, until `stop`.
    pub(crate) async fn sweep(&self, callers: &Callers, streams: &Streams, questions: &Questions) {
        let pause = (self.idle / 4).clamp(Duration::from_millis(50), Duration::from_secs(30));
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            callers.sweep();
            streams.sweep(questions).await;
            let now = Instant::now();
            let idle: Vec<SessionId> = lock(&self.live)
                .iter()
                .filter(|(_, live)| live.session.idle_for(now).is_some_and(|idle| idle >= self.idle))
                .map(|(id, _)| id.clone())
                .collect();
            for id in idle {
                let _ = self.end(&id).await;
            }
        }
    }

    async fn end(&self, id: &SessionId) -> Result<(), LocalSessionManagerError> {
        let live = lock(&self.live).remove(id);
        let closed = self.inner.close_session(id).await;
        if let Some(live) = live {
            live.session.ended().await;
        }
        closed.inspect_err(|error| tracing::debug!(%error, "a session did not close in order"))
    }

    fn longest_idle(&self) -> Option<SessionId> {
        let now = Instant::now();
        let live = lock(&self.live);
        let mut counts = HashMap::<&str, usize>::new();
        for live in live.values() {
            *counts.entry(live.session.token()).or_default() += 1;
        }
        let idle = live
            .iter()
            .filter_map(|(id, live)| Some(((counts[live.session.token()], live.session.idle_for(now)?), id)));
        idle.max_by_key(|(rank, _)| *rank).map(|(_, id)| id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_idle_only_when_nothing_runs_in_it() {
        let session = Arc::new(Session::new("1".into(), "test"));
        let later = Instant::now() + Duration::from_hours(1);
        assert!(session.idle_for(later).is_some());
        let id = RequestId::Number(1);
        let claim = session.claim(&id).unwrap();
        assert_eq!(session.idle_for(later), None, "a call runs");
        assert_eq!(session.claim(&id).unwrap_err(), Denied::Duplicate);
        let stream = OpenStream::new(session.clone());
        drop(claim);
        assert_eq!(session.idle_for(later), None, "a stream is open");
        drop(stream);
        assert!(session.idle_for(later).is_some());
    }

    #[test]
    fn requests_in_flight_are_bounded() {
        let session = Session::new("1".into(), "test");
        for number in 0..MAX_IN_FLIGHT {
            session.claim(&RequestId::Number(i64::try_from(number).unwrap())).unwrap().handed_over();
        }
        assert_eq!(session.claim(&RequestId::Number(-1)).unwrap_err(), Denied::Busy);
    }
}
