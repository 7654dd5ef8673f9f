//! One MCP server on one path: Streamable HTTP by protocol version, with the same decoder as stdio.
//!
//! A request is decoded here exactly as on a stream, then encoded again for one of two rmcp services. `initialize`
//! and every request that names a session go to the sessions of the handshake revisions; any other request is
//! stateless. A stateless request without `_meta` is from a client without a handshake: it is served as 2024-11-05,
//! with one JSON answer, so that a single `curl` works.

mod batch;
mod in_session;
mod recording;
mod stateless;
mod trigger_popup;

use std::convert::Infallible;
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

use crate::auth::TokenName;
use crate::catch_panic::CatchPanic;
use crate::rejections;
use crate::response_builders::empty;
use crate::sessions::{Denied, MAX_IN_FLIGHT, Registry, Session, Sessions};
use crate::stateless_clients::Callers;
use crate::streams::Streams;
use adjutant_agents::TcpConnection;
use adjutant_app::App;
use adjutant_app::agent_processes::CHECK_HEADER;
use adjutant_app::client_registry::{ClientHandle, ConnectionKind};
use adjutant_base::config::toolsets::Toolset;
use adjutant_host::recorder::Recording;
use adjutant_mcp as mcp;
use adjutant_mcp::assistant::http_wrapping::wrap;
use adjutant_mcp::deliveries::Deliveries;
use adjutant_mcp::error::{self, Refusal};
use adjutant_mcp::protocol_version::Revision;
use adjutant_mcp::subscriptions::SubscriberState;
use adjutant_mcp::transport::decode;
use adjutant_mcp::transport::envelope::{self, Envelope};
pub(super) use recording::head;

const SESSION_ID: &str = "mcp-session-id";
const REVISION: &str = "mcp-protocol-version";
const BOTH_KINDS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The revision of a client that named none.
const FIRST_REVISION: &str = "2024-11-05";

use stateless::StatelessRequest;

tokio::task_local! {
    /// The context of the request in dispatch. It is task-local because rmcp asks for a handler without a context.
    static CALLER: HandlerContext;
}

/// The client that a handler serves.
#[derive(Clone, Debug)]
pub(crate) struct HandlerContext {
    pub connected: Arc<ClientHandle>,
    /// The connection that the first request came over.
    pub link: Option<Arc<TcpConnection>>,
    /// The address's addition to the client's name, as `?client=…`.
    pub client: Option<String>,
    /// The name of the agent's token; empty for the hub's own.
    pub token: String,
    /// Outcomes of questions that are on their way to the client.
    pub deliveries: Arc<Deliveries>,
    /// The state of the requested subscription.
    pub subscriber: Option<Arc<SubscriberState>>,
}

#[derive(Deserialize)]
struct Address {
    client: Option<String>,
}

impl HandlerContext {
    fn new(connected: Arc<ClientHandle>, uri: &Uri, extensions: &Extensions) -> Self {
        let address = Query::<Address>::try_from_uri(uri).ok();
        Self {
            connected,
            link: extensions.get().cloned(),
            client: address.and_then(|Query(address)| address.client),
            token: token_name(extensions).to_owned(),
            deliveries: Arc::default(),
            subscriber: None,
        }
    }
}

/// The state shared by all mounts of one listener.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub app: Arc<App>,
    pub registry: Arc<Registry>,
    pub callers: Arc<Callers>,
    /// The event streams of the questions' contract.
    pub streams: Arc<Streams>,
    /// Cancelled when the grace period is over: ends every call and stream.
    pub give_up: CancellationToken,
}

/// The MCP server on one path.
struct Endpoint<H> {
    name: &'static str,
    /// The toolsets of the hub that are served here; `None` for another server.
    server: Option<mcp::ToolsetSelection>,
    shared: Shared,
    manager: Arc<Sessions>,
    /// Records messages without a session.
    recording: OnceLock<Recording>,
    sessions: StreamableHttpService<CatchPanic<H>, Sessions>,
    stateless: StreamableHttpService<CatchPanic<H>, NeverSessionManager>,
}

/// The session that a request names.
enum Named {
    Session(Arc<Session>),
    Nothing,
    /// The request names an unknown session, or several.
    Gone,
}

/// Returns the route of the server `name`. `factory` makes its handlers: one for each session, one for each stateless
/// request.
pub(crate) fn mcp_service<H, F>(name: &'static str, shared: Shared, factory: F) -> MethodRouter
where
    H: ServerHandler,
    F: Fn(HandlerContext) -> H + Send + Sync + 'static,
{
    let factory = Arc::new(factory);
    let requests = shared.app.requests.clone();
    let make = move || match CALLER.try_with(HandlerContext::clone) {
        Ok(caller) => Ok(CatchPanic(factory(caller), requests.clone())),
        Err(_) => Err(std::io::Error::other("a handler was asked for outside a request")),
    };
    // The guard in front has checked Host and Origin for every route, and the body's size.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_max_request_body_bytes(usize::MAX)
        .with_cancellation_token(shared.give_up.clone())
        .with_json_response(true);
    let manager = Arc::new(Sessions { registry: shared.registry.clone(), endpoint: name });
    let sessions = StreamableHttpService::new(make.clone(), manager.clone(), config.clone());
    let stateless = config.with_legacy_session_mode(false);
    let stateless = StreamableHttpService::new(make, Arc::new(NeverSessionManager::default()), stateless);
    let server = mcp::ToolsetSelection::from_name(name);
    let recording = OnceLock::new();
    let endpoint = Arc::new(Endpoint { name, server, shared, manager, recording, sessions, stateless });
    any(move |request: Request| {
        let endpoint = endpoint.clone();
        async move { endpoint.recorded(request).await }
    })
}

impl<H: ServerHandler> Endpoint<H> {
    async fn answer(&self, request: Request) -> Response<Body> {
        let (mut parts, body) = request.into_parts();
        if let Some(link) = parts.extensions.get::<Arc<TcpConnection>>() {
            let is_check = parts.headers.contains_key(CHECK_HEADER);
            self.shared.app.agent_processes.note_connection(link, is_check).await;
        }
        if parts.headers.get_all(REVISION).iter().nth(1).is_some() {
            let message = "header MCP-Protocol-Version must not be repeated";
            return rejections::invalid(StatusCode::BAD_REQUEST, None, message);
        }
        if parts.method != Method::POST {
            return self.other(parts).await;
        }
        // The body was read whole earlier, so this neither waits nor copies.
        let Ok(bytes) = axum::body::to_bytes(body, usize::MAX).await else {
            return rejections::invalid(StatusCode::BAD_REQUEST, None, "the body could not be read");
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
        // A session id is ignored here, because the stateless revision has no sessions.
        if let Some(asked) = opened.as_ref().ok().and_then(StatelessRequest::read) {
            return self.handle_stateless(parts, text, asked).await;
        }
        let session = match self.session(&parts.headers, token_name(&parts.extensions)) {
            Named::Session(session) => Some(session),
            Named::Nothing => None,
            Named::Gone => {
                return rejections::no_session(match opened {
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
            && let Some((id, params)) = trigger_popup::asked(&envelope)
        {
            let asked =
                async { Ok::<_, Infallible>(trigger_popup::post(&self.shared, &parts, id, params).await) };
            let Ok(response) = self.shared.app.requests.count(asked).await;
            return response;
        }
        let message = match decode::typed(envelope) {
            Ok(Some(message)) => self.shaped(&parts, message, session.as_deref()).map(Some),
            typed => typed,
        };
        match message {
            Ok(Some(message)) => self.message(parts, message, session.as_ref()).await,
            Ok(None) => empty(StatusCode::ACCEPTED),
            Err(refusal) => self.refused(&parts, session.as_deref(), refusal),
        }
    }

    /// Rejects a message in the format of the server's contract.
    fn refused(&self, parts: &request::Parts, session: Option<&Session>, refusal: Refusal) -> Response<Body> {
        let error = match self.server.zip(revision(parts, session)) {
            Some((server, revision)) => error::in_contract(server, revision, refusal.error),
            None => refusal.error,
        };
        refused(&Refusal { error, ..refusal })
    }

    /// Returns the message for the handler: a request that the contract of 2024-11-05 answers in a special format is
    /// wrapped.
    fn shaped(
        &self,
        parts: &request::Parts,
        message: ClientJsonRpcMessage,
        session: Option<&Session>,
    ) -> Result<ClientJsonRpcMessage, Refusal> {
        match self.server.zip(revision(parts, session)) {
            Some((server, revision)) => wrap(server, revision, message),
            None => Ok(message),
        }
    }

    /// Returns whether the questions' contract is served here now: the server of all toolsets may have it switched off.
    fn asks(&self) -> bool {
        self.server.is_some_and(|server| {
            let switched = server == mcp::ToolsetSelection::All;
            server.has(Toolset::Questions)
                && (!switched || self.shared.app.toolsets.has(Toolset::Questions, ""))
        })
    }

    /// Finds the session that a request names. The session of another token is unknown.
    fn session(&self, headers: &HeaderMap, token: &str) -> Named {
        let mut ids = headers.get_all(SESSION_ID).iter();
        let found = match (ids.next(), ids.next()) {
            (None, _) => return Named::Nothing,
            (Some(id), None) => id.to_str().ok().and_then(|id| self.shared.registry.find(self.name, id)),
            (Some(_), Some(_)) => None,
        };
        found.filter(|session| session.token() == token).map_or(Named::Gone, Named::Session)
    }

    async fn message(
        &self,
        mut parts: request::Parts,
        message: ClientJsonRpcMessage,
        session: Option<&Arc<Session>>,
    ) -> Response<Body> {
        let id = request_id(&message);
        if let Some(session) = session {
            let response = self.deliver(parts, message, session).await;
            return rejections::readable(response, id).await;
        }
        let response = match &id {
            Some(id) if is_initialize(&message) => self.open(parts, &message, id).await,
            _ => {
                if let Some(Err(error)) = named_revision(&parts.headers) {
                    return rejections::refuse(StatusCode::BAD_REQUEST, &Refusal { id, error });
                }
                parts.headers.entry(REVISION).or_insert(HeaderValue::from_static(FIRST_REVISION));
                // The only answer is JSON, so a client without event streams is accepted.
                if accepts(&parts.headers, "application/json") {
                    parts.headers.insert(ACCEPT, BOTH_KINDS);
                }
                match rewritten(parts, &message) {
                    Some(request) => {
                        let (response, delivery) = self.dispatch_once(request, None).await;
                        return delivery.follow(rejections::readable(response, id).await);
                    }
                    None => rejections::internal(id.clone()),
                }
            }
        };
        rejections::readable(response, id).await
    }

    /// Opens a session, if there is a place for one.
    async fn open(
        &self,
        parts: request::Parts,
        message: &ClientJsonRpcMessage,
        id: &RequestId,
    ) -> Response<Body> {
        let opening = async {
            let connected = self.shared.app.clients.register(ConnectionKind::HttpSession, self.name, None);
            let asks_as = self.shared.app.session_of(connected.id);
            let context = HandlerContext::new(Arc::new(connected), &parts.uri, &parts.extensions);
            let (token, deliveries) = (context.token.clone(), context.deliveries.clone());
            let response = CALLER.scope(context, self.sessions(parts, message)).await;
            // A new session has no token yet.
            if let Named::Session(session) = self.session(response.headers(), "") {
                session.opened_by(self.shared.app.clone(), asks_as, token, deliveries);
            }
            response
        };
        self.shared.registry.with_place(opening).await.unwrap_or_else(|| {
            let refusal = Refusal { id: Some(id.clone()), error: error::sessions_full() };
            rejections::refuse(StatusCode::SERVICE_UNAVAILABLE, &refusal)
        })
    }

    async fn sessions(&self, parts: request::Parts, message: &ClientJsonRpcMessage) -> Response<Body> {
        match rewritten(parts, message) {
            Some(request) => self.sessions.handle(request).await.map(Body::new),
            None => rejections::internal(None),
        }
    }

    /// GET opens a session's event stream, DELETE ends a session; nothing else is served.
    async fn other(&self, mut parts: request::Parts) -> Response<Body> {
        if self.asks() && trigger_popup::opens(&parts) {
            return trigger_popup::get(&self.shared, &parts).await;
        }
        if parts.method == Method::GET && any_kind(&parts.headers) {
            parts.headers.insert(ACCEPT, BOTH_KINDS);
        }
        let delivery = match self.session(&parts.headers, token_name(&parts.extensions)) {
            Named::Session(session) if parts.method == Method::GET => {
                let event = parts.headers.get("last-event-id").and_then(|event| event.to_str().ok());
                event.and_then(|event| session.redeliver(&parts.extensions, event))
            }
            Named::Session(_) | Named::Nothing => None,
            Named::Gone => return rejections::no_session(None),
        };
        let ends = parts.method == Method::DELETE;
        let request = request::Request::from_parts(parts, Full::new(Bytes::new()));
        let mut response =
            rejections::readable(self.sessions.handle(request).await.map(Body::new), None).await;
        // The session has ended already, so that nothing is left to accept.
        if ends && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        match delivery {
            Some(delivery) => delivery.follow(response),
            None => response,
        }
    }
}

impl Denied {
    fn response(self, id: RequestId) -> Response<Body> {
        let (status, error) = match self {
            Self::Duplicate => {
                let message = format!("request {id} is still in flight; its answer is on the way");
                (StatusCode::BAD_REQUEST, error::invalid_request(message))
            }
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, error::busy(false, MAX_IN_FLIGHT)),
        };
        rejections::refuse(status, &Refusal { id: Some(id), error })
    }
}

/// Returns the id of a message that wants an answer.
fn request_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(request.id.clone()),
        JsonRpcMessage::Notification(_) | JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => None,
    }
}

fn is_initialize(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request)
        if matches!(request.request, ClientRequest::InitializeRequest(_)))
}

/// Returns the request for rmcp with the message encoded again, so that rmcp reads exactly the checked message.
fn rewritten(parts: request::Parts, message: &ClientJsonRpcMessage) -> Option<request::Request<Full<Bytes>>> {
    let bytes = serde_json::to_vec(message)
        .inspect_err(|reason| tracing::error!(%reason, "a message that was read cannot be written"))
        .ok()?;
    Some(request::Request::from_parts(parts, Full::new(Bytes::from(bytes))))
}

/// Returns a rejection. Invalid parameters of a well-formed request get status 200, like any answer; any other body
/// is a bad request of HTTP too.
fn refused(refusal: &Refusal) -> Response<Body> {
    let status = match refusal.error.code {
        ErrorCode::INVALID_PARAMS => StatusCode::OK,
        _ => StatusCode::BAD_REQUEST,
    };
    rejections::refuse(status, refusal)
}

/// Returns the name of the token that a request carries; empty for the hub's own.
fn token_name(extensions: &Extensions) -> &str {
    extensions.get::<TokenName>().map_or("", |token| &token.0)
}

/// Returns the revision of a client's message: its session's, otherwise its header's.
fn revision(parts: &request::Parts, session: Option<&Session>) -> Option<Revision> {
    match (session, named_revision(&parts.headers)) {
        (Some(session), _) => session.revision(),
        (None, Some(named)) => named.ok(),
        (None, None) => Revision::parse(FIRST_REVISION),
    }
}

/// Returns the revision that the header names, or the error for an unsupported one.
fn named_revision(headers: &HeaderMap) -> Option<Result<Revision, ErrorData>> {
    let named = String::from_utf8_lossy(headers.get(REVISION)?.as_bytes());
    Some(Revision::parse(&named).ok_or_else(|| error::unknown_revision(&named)))
}

/// Returns whether a client accepts any media type: without an Accept header, or with `*/*`.
fn any_kind(headers: &HeaderMap) -> bool {
    !headers.contains_key(ACCEPT) || accepts(headers, "*/*")
}

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    kinds(headers).any(|one| one.eq_ignore_ascii_case(kind))
}

/// Returns the media types that a client accepts, in its order.
fn kinds(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|one| one.split(';').next().unwrap_or_default().trim())
}
