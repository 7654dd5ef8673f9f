//! One MCP server on one path: Streamable HTTP as each revision wants it, checked by the same edge as stdio.
//!
//! A request is read here exactly as on a stream, then handed to rmcp in the words of what was read. Which of two
//! rmcp services gets it is decided per request: `initialize`, and whatever names a session, belongs to the sessions
//! of the handshake revisions; everything else stands alone. Standing alone without `_meta` means a client that never
//! shook hands: it is served as 2024-11-05, with one JSON answer, so that a single `curl` works.

mod alone;
mod batch;
mod popups;
mod record;
mod within;

use std::sync::{Arc, OnceLock};

use axum::body::{Body, Bytes};
use axum::extract::{Query, Request};
use axum::http::header::{ACCEPT, HeaderValue};
use axum::http::{Extensions, HeaderMap, Method, Response, StatusCode, Uri, request};
use axum::routing::{MethodRouter, any};
use http_body_util::Full;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcMessage, RequestId};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::agents::Link;
use crate::app::App;
use crate::app::clients::{Connected, Transport};
use crate::config::rooms::Room;
use crate::http::answer;
use crate::http::callers::Callers;
use crate::http::caught::Caught;
use crate::http::sessions::{Denied, IN_FLIGHT, Registry, Session, Sessions};
use crate::mcp;
use crate::mcp::assistant::enclosed::enclose;
use crate::mcp::changes::Telling;
use crate::mcp::dialect::Revision;
use crate::mcp::edge::envelope::{self, Envelope};
use crate::mcp::edge::message;
use crate::mcp::error::{self, Refusal};
use crate::recorder::Tape;
pub(super) use record::head;

const SESSION_ID: &str = "mcp-session-id";
const REVISION: &str = "mcp-protocol-version";
const BOTH_KINDS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The revision of a client that never said one.
const FIRST_REVISION: &str = "2024-11-05";

use alone::Modern;
pub(crate) use popups::Streams;

tokio::task_local! {
    /// Whose request is being handed over; rmcp asks for a handler without saying for whom.
    static CALLER: Called;
}

/// Who a handler is for.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub(crate) connected: Arc<Connected>,
    /// The connection that the first request came over.
    pub(crate) link: Option<Arc<Link>>,
    /// What the address adds to the client's name, as `?client=…`.
    pub(crate) client: Option<String>,
    /// Of the subscription that is asked for.
    pub(crate) telling: Option<Arc<Telling>>,
}

#[derive(Deserialize)]
struct Address {
    client: Option<String>,
}

impl Called {
    fn new(connected: Arc<Connected>, uri: &Uri, extensions: &Extensions) -> Self {
        let address = Query::<Address>::try_from_uri(uri).ok();
        Self {
            connected,
            link: extensions.get().cloned(),
            client: address.and_then(|Query(address)| address.client),
            telling: None,
        }
    }
}

/// What all mounts of one listener share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) app: Arc<App>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) callers: Arc<Callers>,
    /// Of the popups' contract.
    pub(crate) streams: Arc<Streams>,
    /// Cancelled when the grace period is over: ends every call and stream.
    pub(crate) give_up: CancellationToken,
}

/// One server, ready to answer.
struct Mount<H> {
    name: &'static str,
    /// Whether the contract of the popups is served here.
    asks: bool,
    shared: Shared,
    manager: Arc<Sessions>,
    /// Takes what no session has.
    tape: OnceLock<Tape>,
    sessions: StreamableHttpService<Caught<H>, Sessions>,
    alone: StreamableHttpService<Caught<H>, NeverSessionManager>,
}

/// The session that a request names.
enum Named {
    Session(Arc<Session>),
    Nothing,
    /// It names one that is unknown here, or several.
    Gone,
}

/// Mounts the server `name` whose handlers `factory` makes: one for each session, one for each request that stands
/// alone.
pub(crate) fn mcp_service<H, F>(name: &'static str, shared: Shared, factory: F) -> MethodRouter
where
    H: ServerHandler,
    F: Fn(Called) -> H + Send + Sync + 'static,
{
    let factory = Arc::new(factory);
    let make = move || match CALLER.try_with(Called::clone) {
        Ok(caller) => Ok(Caught(factory(caller))),
        Err(_) => Err(std::io::Error::other("a handler was asked for outside a request")),
    };
    // The guard in front has checked Host and Origin for every route, and the body's size.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_max_request_body_bytes(usize::MAX)
        .with_cancellation_token(shared.give_up.clone())
        .with_json_response(true);
    let manager = Arc::new(Sessions { registry: shared.registry.clone(), mount: name });
    let sessions = StreamableHttpService::new(make.clone(), manager.clone(), config.clone());
    let alone = config.with_legacy_session_mode(false);
    let alone = StreamableHttpService::new(make, Arc::new(NeverSessionManager::default()), alone);
    let asks = mcp::Server::from_name(name).is_some_and(|server| server.has(Room::Popups));
    let mount = Arc::new(Mount { name, asks, shared, manager, tape: OnceLock::new(), sessions, alone });
    any(move |request: Request| {
        let mount = mount.clone();
        async move { mount.recorded(request).await }
    })
}

impl<H: ServerHandler> Mount<H> {
    async fn answer(&self, request: Request) -> Response<Body> {
        let (mut parts, body) = request.into_parts();
        if parts.method != Method::POST {
            return self.other(parts).await;
        }
        // The body was read whole before, so this neither waits nor copies.
        let Ok(bytes) = axum::body::to_bytes(body, usize::MAX).await else {
            return answer::invalid(StatusCode::BAD_REQUEST, None, "the body could not be read");
        };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes).trim_ascii();
        let Ok(text) = std::str::from_utf8(bytes) else {
            let refusal = Refusal { id: None, error: error::not_json("the body is not UTF-8") };
            return self.refused(&parts, None, refusal);
        };
        if any_kind(&parts.headers) {
            parts.headers.insert(ACCEPT, BOTH_KINDS);
        }
        let opened = envelope::open(text);
        // Whatever session it names: the stateless revision has none.
        if let Some(asked) = opened.as_ref().ok().and_then(Modern::read) {
            return self.modern(parts, text, asked).await;
        }
        let session = match self.session(&parts.headers) {
            Named::Session(session) => Some(session),
            Named::Nothing => None,
            Named::Gone => {
                return answer::no_session(match opened {
                    Ok(Envelope::Request { id, .. }) => Some(id),
                    _ => None,
                });
            }
        };
        if text.starts_with('[')
            && let Some(session) = &session
            && session.takes_batches()
        {
            return self.batch(&parts, text, session).await;
        }
        let envelope = match opened {
            Ok(envelope) => envelope,
            Err(refusal) => return self.refused(&parts, session.as_deref(), refusal),
        };
        if self.asks()
            && session.is_none()
            && let Some((id, params)) = popups::asked(&envelope)
        {
            return popups::post(&self.shared, &parts, id, params).await;
        }
        let message = match message::typed(envelope) {
            Ok(Some(message)) => self.shaped(&parts, message, session.as_deref()).map(Some),
            typed => typed,
        };
        match message {
            Ok(Some(message)) => self.message(parts, message, session.as_deref()).await,
            Ok(None) => accepted(),
            Err(refusal) => self.refused(&parts, session.as_deref(), refusal),
        }
    }

    /// Refuses in the shape of the server's contract.
    fn refused(&self, parts: &request::Parts, session: Option<&Session>, refusal: Refusal) -> Response<Body> {
        let error = match (mcp::Server::from_name(self.name), revision(parts, session)) {
            (Some(server), Some(revision)) => error::in_contract(server, revision, refusal.error),
            _ => refusal.error,
        };
        refused(&Refusal { error, ..refusal })
    }

    /// The message as the handler gets it: what the contract of 2024-11-05 answers in its own shape is enclosed.
    fn shaped(
        &self,
        parts: &request::Parts,
        message: ClientJsonRpcMessage,
        session: Option<&Session>,
    ) -> Result<ClientJsonRpcMessage, Refusal> {
        match (mcp::Server::from_name(self.name), revision(parts, session)) {
            (Some(server), Some(revision)) => enclose(server, revision, message),
            _ => Ok(message),
        }
    }

    /// Whether the popups' contract is served here now: in the server of all rooms the room may be switched off.
    fn asks(&self) -> bool {
        let switched = self.name == mcp::Server::All.name();
        self.asks && (!switched || self.shared.app.rooms.has(Room::Popups, ""))
    }

    fn session(&self, headers: &HeaderMap) -> Named {
        let mut ids = headers.get_all(SESSION_ID).iter();
        let found = match (ids.next(), ids.next()) {
            (None, _) => return Named::Nothing,
            (Some(id), None) => id.to_str().ok().and_then(|id| self.shared.registry.find(self.name, id)),
            (Some(_), Some(_)) => None,
        };
        found.map_or(Named::Gone, Named::Session)
    }

    async fn message(
        &self,
        mut parts: request::Parts,
        message: ClientJsonRpcMessage,
        session: Option<&Session>,
    ) -> Response<Body> {
        let (id, initialize) = match &message {
            JsonRpcMessage::Request(request) => {
                let initialize = matches!(request.request, ClientRequest::InitializeRequest(_));
                (Some(request.id.clone()), initialize)
            }
            JsonRpcMessage::Notification(_) | JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                (None, false)
            }
        };
        if let Some(session) = session {
            let response = self.within(parts, message, session).await;
            return answer::readable(response, id).await;
        }
        let response = match &id {
            Some(id) if initialize => self.open(parts, &message, id).await,
            _ => {
                if let Some(Err(error)) = named_revision(&parts.headers) {
                    return answer::refuse(StatusCode::BAD_REQUEST, &Refusal { id, error });
                }
                parts.headers.entry(REVISION).or_insert(HeaderValue::from_static(FIRST_REVISION));
                // The one answer is JSON, so a client that knows no event streams may ask.
                if accepts(&parts.headers, "application/json") {
                    parts.headers.insert(ACCEPT, BOTH_KINDS);
                }
                match rewritten(parts, &message) {
                    Some(request) => self.alone(request, None).await,
                    None => answer::internal(id.clone()),
                }
            }
        };
        answer::readable(response, id).await
    }

    /// Opens a session, if there is a place for one.
    async fn open(
        &self,
        parts: request::Parts,
        message: &ClientJsonRpcMessage,
        id: &RequestId,
    ) -> Response<Body> {
        let opening = async {
            let connected = self.shared.app.clients.enter(Transport::HttpSession, self.name, None);
            let asks_as = self.shared.app.session_of(connected.id);
            let called = Called::new(Arc::new(connected), &parts.uri, &parts.extensions);
            let response = CALLER.scope(called, self.sessions(parts, message)).await;
            if let Named::Session(session) = self.session(response.headers()) {
                session.asks_as(self.shared.app.popups.clone(), asks_as);
            }
            response
        };
        self.shared.registry.with_place(opening).await.unwrap_or_else(|| {
            let refusal = Refusal { id: Some(id.clone()), error: error::sessions_full() };
            answer::refuse(StatusCode::SERVICE_UNAVAILABLE, &refusal)
        })
    }

    async fn sessions(&self, parts: request::Parts, message: &ClientJsonRpcMessage) -> Response<Body> {
        match rewritten(parts, message) {
            Some(request) => self.sessions.handle(request).await.map(Body::new),
            None => answer::internal(None),
        }
    }

    /// GET opens a session's event stream, DELETE ends a session; nothing else is served.
    async fn other(&self, mut parts: request::Parts) -> Response<Body> {
        if self.asks() && popups::opens(&parts) {
            return popups::get(&self.shared, &parts).await;
        }
        if parts.method == Method::GET && any_kind(&parts.headers) {
            parts.headers.insert(ACCEPT, BOTH_KINDS);
        }
        if matches!(self.session(&parts.headers), Named::Gone) {
            return answer::no_session(None);
        }
        let request = request::Request::from_parts(parts, Full::new(Bytes::new()));
        let response = self.sessions.handle(request).await.map(Body::new);
        answer::readable(response, None).await
    }
}

impl Denied {
    fn status(self) -> StatusCode {
        match self {
            Self::Duplicate => StatusCode::BAD_REQUEST,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn refusal(self, id: RequestId) -> Refusal {
        let error = match self {
            Self::Duplicate => {
                error::invalid_request(format!("request {id} is still in flight; its answer is on the way"))
            }
            Self::Busy => error::busy(false, IN_FLIGHT),
        };
        Refusal { id: Some(id), error }
    }
}

/// The request for rmcp, with the message in rmcp's own words: what it reads is what was checked.
fn rewritten(parts: request::Parts, message: &ClientJsonRpcMessage) -> Option<request::Request<Full<Bytes>>> {
    let bytes = serde_json::to_vec(message)
        .inspect_err(|reason| tracing::error!(%reason, "a message that was read cannot be written"))
        .ok()?;
    Some(request::Request::from_parts(parts, Full::new(Bytes::from(bytes))))
}

fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// A well-formed request whose parameters do not fit gets its answer like any other; a body that is no request is a
/// bad request of HTTP too.
fn refused(refusal: &Refusal) -> Response<Body> {
    let status = match refusal.error.code {
        ErrorCode::INVALID_PARAMS => StatusCode::OK,
        _ => StatusCode::BAD_REQUEST,
    };
    answer::refuse(status, refusal)
}

/// The revision of what a client sends: its session's, else what its header says.
fn revision(parts: &request::Parts, session: Option<&Session>) -> Option<Revision> {
    match (session, named_revision(&parts.headers)) {
        (Some(session), _) => session.revision(),
        (None, Some(named)) => named.ok(),
        (None, None) => Revision::parse(FIRST_REVISION),
    }
}

/// The revision that the header names, or the refusal of one that is not served here.
fn named_revision(headers: &HeaderMap) -> Option<Result<Revision, ErrorData>> {
    let named = String::from_utf8_lossy(headers.get(REVISION)?.as_bytes());
    Some(Revision::parse(&named).ok_or_else(|| error::unknown_revision(&named)))
}

/// Says whether a client takes whatever comes, by its silence or by `*/*`.
fn any_kind(headers: &HeaderMap) -> bool {
    !headers.contains_key(ACCEPT) || accepts(headers, "*/*")
}

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    kinds(headers).any(|one| one.eq_ignore_ascii_case(kind))
}

/// The media types that a client takes, in its order.
fn kinds(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|one| one.split(';').next().unwrap_or_default().trim())
}
