//! The HTTP door: `/mcp` for agents, the console for people, one guard in front of both.
//!
//! In the order of a request: the connection is bounded in number and time ([`listen`]), Host and Origin are checked
//! ([`guard`]), the body is read whole under its limit ([`body`]), the caller shows a token or a login ([`auth`]), and
//! only then a route answers: an MCP server ([`mount`], with its [`sessions`]) or the console's pages.

mod answer;
mod auth;
mod body;
mod callers;
mod caught;
mod guard;
mod listen;
mod mount;
mod replay;
mod sessions;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, SET_COOKIE};
use axum::http::{Method, Request, Response, StatusCode, request};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tower_service::Service;

use crate::app::App;
use crate::config::{Auth, HttpConfig};
use crate::mcp;
use crate::web;
use guard::Names;
use mount::{Called, Shared};
pub(crate) use replay::replay;
use sessions::Registry;

/// Why the door does not open.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot listen on {address}: {source}")]
    Bind { address: SocketAddr, source: io::Error },
    #[error(
        "{address} can be reached by other machines; it needs a token and a TLS-terminating proxy in front"
    )]
    Exposed { address: SocketAddr },
    #[error("no token for the HTTP door: {0}")]
    Token(#[source] io::Error),
}

/// A bound listener and what it asks of callers.
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    address: SocketAddr,
    names: Names,
    lock: Option<auth::Lock>,
    proxied: bool,
    /// Agents are not asked for the token; people log in all the same.
    agents_pass: bool,
}

impl Door {
    /// Binds `address`. Without a token only loopback is served; other addresses also need the names under which a
    /// TLS-terminating proxy serves them.
    pub(crate) async fn open(
        address: SocketAddr,
        config: &HttpConfig,
        home: &std::path::Path,
    ) -> Result<Self, Error> {
        allowed(address, config)?;
        let bind = |source| Error::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        Self::behind(listener, address, config, home)
    }

    /// The same with a listener that was bound before this process began.
    pub(crate) fn handed(
        listener: std::net::TcpListener,
        config: &HttpConfig,
        home: &std::path::Path,
    ) -> Result<Self, Error> {
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let address = listener.local_addr().map_err(|source| Error::Bind { address: unknown, source })?;
        allowed(address, config)?;
        let bind = |source| Error::Bind { address, source };
        listener.set_nonblocking(true).map_err(bind)?;
        Self::behind(TcpListener::from_std(listener).map_err(bind)?, address, config, home)
    }

    fn behind(
        listener: TcpListener,
        address: SocketAddr,
        config: &HttpConfig,
        home: &std::path::Path,
    ) -> Result<Self, Error> {
        let lock = match config.auth {
            Auth::Token => Some(auth::Lock::open(home).map_err(Error::Token)?),
            Auth::None => None,
        };
        let names = Names::new(address, &config.behind_tls_proxy);
        Ok(Self {
            listener,
            address,
            names,
            lock,
            proxied: !config.behind_tls_proxy.is_empty(),
            agents_pass: false,
        })
    }

    /// Lets agents on this machine in without the token, as the contract of the popups asks. The console still takes
    /// a login: whoever asks must not be able to answer.
    pub(crate) fn letting_agents_pass(mut self) -> Self {
        self.agents_pass = self.address.ip().is_loopback();
        self
    }

    /// The bound address, so port 0 is already a real port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The console's origin as a browser names it.
    pub(crate) fn console(&self) -> &str {
        self.names.console()
    }

    /// Returns what makes links to the console: each logs one browser in, once, within two minutes; where nobody is
    /// asked it is the plain address. `None` is a failure of the random source.
    pub(crate) fn links(&self) -> impl Fn() -> Option<String> + Send + Sync + 'static {
        let logins = self.lock.as_ref().map(|lock| lock.logins().clone());
        let console = self.console().to_owned();
        move || match &logins {
            Some(logins) => logins.issue().ok().map(|path| format!("{console}{path}")),
            None => Some(format!("{console}/")),
        }
    }
}

/// Says whether `address` may be listened on: other machines need a token and a proxy in front.
fn allowed(address: SocketAddr, config: &HttpConfig) -> Result<(), Error> {
    let exposed = !address.ip().is_loopback();
    if exposed && (config.auth == Auth::None || config.behind_tls_proxy.is_empty()) {
        return Err(Error::Exposed { address });
    }
    Ok(())
}

/// Serves the product until `app.shutdown` is cancelled and what was in flight has ended or its grace is over.
pub(crate) async fn serve(app: Arc<App>, door: Door) {
    let servers = [
        ("/mcp", mcp::Server::All),
        ("/mcp/agents", mcp::Server::Agents),
        ("/mcp/assistant", mcp::Server::Assistant),
        ("/mcp/popup", mcp::Server::Popup),
        ("/mcp/codex", mcp::Server::Codex),
        ("/mcp/prompts", mcp::Server::Prompts),
    ];
    serve_these(app, door, &servers).await;
}

/// Serves the popups alone: their contract for who asks, and the console for who answers.
pub(crate) async fn serve_popups(app: Arc<App>, door: Door) {
    serve_these(app, door, &[("/mcp", mcp::Server::Popup), ("/mcp/popup", mcp::Server::Popup)]).await;
}

async fn serve_these(app: Arc<App>, door: Door, servers: &[(&str, mcp::Server)]) {
    let shared = share(&app);
    let mut routes = Router::new();
    for &(path, server) in servers {
        let handlers = app.clone();
        let factory = move |called: Called| {
            let handler = mcp::Handler::new(handlers.clone(), server, called.connected);
            let handler = handler.over_http(called.link, called.client);
            match called.telling {
                Some(telling) => handler.for_subscription(telling),
                None => handler,
            }
        };
        routes = routes.route(path, mount::mcp_service(server.name(), shared.clone(), factory));
    }
    run(shared, door, routes.merge(web::router(app))).await;
}

/// Serves handlers of `factory` on `/mcp`, behind the product's own layers.
#[cfg(feature = "fixture")]
pub(crate) async fn serve_handler<H, F>(app: Arc<App>, door: Door, factory: F)
where
    H: rmcp::ServerHandler,
    F: Fn(Called) -> H + Send + Sync + 'static,
{
    let shared = share(&app);
    let routes = Router::new().route("/mcp", mount::mcp_service("fixture", shared.clone(), factory));
    run(shared, door, routes).await;
}

fn share(app: &Arc<App>) -> Shared {
    let http = &app.config.http;
    Shared {
        registry: Arc::new(Registry::new(http.sessions, http.session_idle, app.shutdown.clone())),
        callers: Arc::default(),
        streams: Arc::default(),
        give_up: CancellationToken::new(),
        app: app.clone(),
    }
}

async fn run(shared: Shared, door: Door, routes: Router) {
    let app = shared.app.clone();
    let sweeper = {
        let shared = shared.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            shared.registry.sweep(&shared.callers, &shared.streams, &shared.app.popups).await;
        }))
    };
    let limit = app.config.http.body_limit;
    let gate = Arc::new(Gate {
        names: door.names,
        lock: door.lock,
        proxied: door.proxied,
        agents_pass: door.agents_pass,
        limit,
        routes,
    });
    let answer = move |request| {
        let gate = gate.clone();
        async move { gate.answer(request).await }
    };
    listen::run(door.listener, &app.shutdown, app.config.grace, answer).await;
    shared.give_up.cancel();
    drop(sweeper);
}

/// What stands between a connection and the routes.
struct Gate {
    names: Names,
    lock: Option<auth::Lock>,
    proxied: bool,
    agents_pass: bool,
    limit: usize,
    routes: Router,
}

impl Gate {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let mcp = is_mcp(parts.uri.path());
        let mut response = match self.admit(&parts, mcp) {
            Some(refusal) => refusal,
            None => match self.read(&parts, body).await {
                Ok(body) => self.route(Request::from_parts(parts, body)).await,
                Err(fault) => refuse(mcp, fault.status(), fault.message()),
            },
        };
        guard::harden(response.headers_mut());
        response
    }

    /// Returns the refusal of a request that may not go on.
    fn admit(&self, parts: &request::Parts, mcp: bool) -> Option<Response<Body>> {
        if let Some(refusal) = self.names.refusal(&parts.method, &parts.uri, &parts.headers) {
            return Some(refuse(mcp, refusal.status(), refusal.message()));
        }
        if mcp {
            let pass = |lock: &auth::Lock| self.agents_pass || lock.admits_agent(&parts.headers);
            if self.lock.as_ref().is_some_and(|lock| !pass(lock)) {
                return Some(answer::unauthorized());
            }
            if parts.method == Method::POST && !is_json(&parts.headers) {
                return Some(refuse(
                    mcp,
                    StatusCode::UNSUPPORTED_MEDIA_TYPE,
                    "Content-Type must be application/json",
                ));
            }
            return None;
        }
        // A feed is for programs of this machine: where a proxy stands in front, it is a page like any other.
        if web::is_asset(parts.uri.path()) || (web::is_feed(parts.uri.path()) && !self.proxied) {
            return None;
        }
        let lock = self.lock.as_ref()?;
        let nonce = parts.uri.path().strip_prefix("/login/");
        match nonce {
            Some(nonce) if parts.method == Method::GET => Some(match lock.log_in(nonce, self.proxied) {
                Some(cookie) => welcome(cookie),
                None => web::login_needed(web::Login::Spent),
            }),
            _ if lock.admits_person(&parts.headers) => None,
            _ => Some(web::login_needed(web::Login::Missing)),
        }
    }

    async fn read(&self, parts: &request::Parts, body: Incoming) -> Result<Body, body::Fault> {
        if matches!(parts.method, Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS) {
            return Ok(Body::empty());
        }
        body::read(&parts.headers, body, self.limit).await.map(Body::from)
    }

    async fn route(&self, request: Request<Body>) -> Response<Body> {
        match self.routes.clone().call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// A refusal in the language of the route.
fn refuse(mcp: bool, status: StatusCode, message: impl Into<String>) -> Response<Body> {
    if mcp { answer::invalid(status, None, message) } else { answer::plain(status, message) }
}

fn is_mcp(path: &str) -> bool {
    path.strip_prefix("/mcp").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else {
        return false;
    };
    let essence = kind.to_str().ok().and_then(|kind| kind.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Sends a browser that has just logged in to the first page.
fn welcome(cookie: HeaderValue) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
    response.headers_mut().insert(SET_COOKIE, cookie);
    response
}
