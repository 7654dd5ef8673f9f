//! The HTTP interface: `/mcp` for clients, the console for users, one guard for both.
//!
//! The steps of a request: connections are bounded in number and time ([`listener`]), Host and Origin are checked
//! ([`host_guard`]), the body is read whole under its limit ([`body`]), the caller shows a token or a login ([`auth`]),
//! and only then a route answers: an MCP server ([`mcp_endpoint`], with its [`sessions`]) or the console's pages.

mod access_control;
mod auth;
mod body;
mod catch_panic;
mod delivery;
mod host_guard;
mod listener;
mod mcp_endpoint;
mod monitoring;
mod rejections;
mod replay_server;
mod response_builders;
mod sessions;
mod stateless_clients;
mod streams;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use access_control::AccessControl;
use adjutant_app::App;
use adjutant_base::config::{Auth, HttpConfig};
use adjutant_host::process::Ancestor;
use adjutant_mcp as mcp;
use adjutant_web as web;
use auth::LoginAttempts;
pub use auth::{AgentToken, AgentTokenError, add_agent_token, agent_tokens, log_out, revoke_agent_token};
use host_guard::Names;
use mcp_endpoint::{HandlerContext, Shared};
pub use replay_server::replay;
use sessions::Registry;
pub use tls::served_certificate;

/// The path of a link that logs a browser in, before its nonce.
const LOGIN_PATH: &str = "/login/";

/// A listener that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot listen on {address}: {source}")]
    Bind { address: SocketAddr, source: io::Error },
    #[error("other machines can reach {address}, so the hub serves it with TLS or behind a TLS proxy only")]
    Exposed { address: SocketAddr },
    #[error("other machines can reach the hub at {address}, so it needs authentication")]
    Unauthenticated { address: SocketAddr },
    #[error("TLS cannot be served: {0}")]
    Tls(#[source] tls::Error),
    #[error("the token for HTTP cannot be read or created: {0}")]
    Token(#[source] io::Error),
}

/// A bound listener with the authentication that it requires.
pub struct BoundListener {
    tcp: TcpListener,
    address: SocketAddr,
    names: Names,
    console: String,
    authenticator: Option<auth::Authenticator>,
    tls: Option<TlsAcceptor>,
    /// True if other machines are meant to reach it, through TLS or a proxy.
    shared: bool,
    /// True if agents need no token; the user must log in all the same.
    unauthenticated_agents: bool,
}

impl std::fmt::Debug for BoundListener {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("BoundListener").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Checks what [`BoundListener::open`] requires of the configuration, without binding `address`.
pub fn check(address: SocketAddr, config: &HttpConfig) -> Result<(), Error> {
    allowed(address, config)?;
    tls::acceptor(config).map(drop).map_err(Error::Tls)
}

impl BoundListener {
    /// Binds `address`. Without a token only loopback is served; other addresses also need
    /// TLS, or the names under which a TLS proxy serves them.
    pub async fn open(
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

    /// Like [`Self::open`], with a listener that was bound before this process began.
    pub fn from_listener(
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
        let authenticator = match config.auth {
            Auth::Token => Some(auth::Authenticator::open(home, is_shared(config)).map_err(Error::Token)?),
            Auth::None => None,
        };
        let tls = tls::acceptor(config).map_err(Error::Tls)?;
        let own = tls.as_ref().map(|_| config.tls_names.as_slice());
        let names = Names::new(address, &config.behind_tls_proxy, own);
        Ok(Self {
            tcp: listener,
            address,
            names,
            console: config.console(address),
            authenticator,
            shared: is_shared(config),
            tls,
            unauthenticated_agents: false,
        })
    }

    /// Admits agents on this machine without a token, as the contract of the questions requires; none where other machines may
    /// come in, through TLS or a proxy. The console still requires a login, because an asker must not be able to answer.
    pub fn allow_unauthenticated_agents(mut self) -> Self {
        self.unauthenticated_agents = self.address.ip().is_loopback() && !self.shared;
        self
    }

    /// Returns the bound address, with a real port in place of port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the console's origin as a browser names it.
    pub fn console(&self) -> &str {
        &self.console
    }

    /// Returns a function that makes links to the console: each logs one browser in, once, within two minutes. With a
    /// process, the link is for a browser that starts below it or that is older than the agents. Without authentication
    /// the link is the plain address. `None` is a failure of the random source.
    pub fn links(&self) -> impl Fn(Option<Ancestor>) -> Option<String> + Send + Sync + 'static {
        let logins = self.authenticator.as_ref().map(|authenticator| authenticator.logins().clone());
        let console = self.console().to_owned();
        move |opener| match &logins {
            Some(logins) => logins.issue(opener).ok().map(|path| format!("{console}{path}")),
            None => Some(format!("{console}/")),
        }
    }
}

/// Fails if `address` may not be listened on: for other machines it needs authentication, and TLS here or in a proxy.
fn allowed(address: SocketAddr, config: &HttpConfig) -> Result<(), Error> {
    let exposed = !address.ip().is_loopback();
    if exposed && !is_shared(config) {
        return Err(Error::Exposed { address });
    }
    // A proxy passes on requests of other machines from this one.
    if config.auth == Auth::None && (exposed || is_shared(config)) {
        return Err(Error::Unauthenticated { address });
    }
    Ok(())
}

/// Returns whether other machines are meant to reach the listener.
fn is_shared(config: &HttpConfig) -> bool {
    config.serves_tls() || !config.behind_tls_proxy.is_empty()
}

/// Serves the console and the MCP servers until `app.shutdown` is cancelled and the requests in flight have ended or
/// their grace is over.
pub async fn serve(app: Arc<App>, listener: BoundListener) {
    let servers = [
        ("/mcp", mcp::ToolsetSelection::All),
        ("/mcp/agents", mcp::ToolsetSelection::Agents),
        ("/mcp/assistant", mcp::ToolsetSelection::Assistant),
        ("/mcp/questions", mcp::ToolsetSelection::Questions),
        // The contract's path of the same toolset.
        ("/mcp/popup", mcp::ToolsetSelection::Questions),
        ("/mcp/codex", mcp::ToolsetSelection::Codex),
        ("/mcp/prompts", mcp::ToolsetSelection::Prompts),
    ];
    serve_these(app, listener, &servers).await;
}

/// Serves the toolset `questions` alone: its contract for clients that ask, and the console for the user who answers.
pub async fn serve_questions(app: Arc<App>, listener: BoundListener) {
    let paths = ["/mcp", "/mcp/questions", "/mcp/popup"];
    serve_these(app, listener, &paths.map(|path| (path, mcp::ToolsetSelection::Questions))).await;
}

async fn serve_these(app: Arc<App>, listener: BoundListener, servers: &[(&str, mcp::ToolsetSelection)]) {
    let shared = share(&app);
    let mut routes = Router::new();
    for &(path, server) in servers {
        let handlers = app.clone();
        let factory = move |context: HandlerContext| {
            let client = mcp::ClientContext::new(handlers.clone(), server, context.connected);
            let handler = mcp::Handler::new(client.over_http(
                context.link.as_ref(),
                context.client,
                context.token,
                context.deliveries,
            ));
            match context.subscriber {
                Some(state) => handler.for_subscription(state),
                None => handler,
            }
        };
        routes = routes.route(path, mcp_endpoint::mcp_service(server.name(), shared.clone(), factory));
    }
    let pages = pages(app.clone());
    run(shared, listener, routes.merge(monitoring::router(app)).merge(pages)).await;
}

/// Returns the routes of the console for `app`, whose login decides what they show.
fn pages(app: Arc<App>) -> Router {
    web::router(app, |home| {
        let tokens = auth::agent_tokens(home)?;
        Ok(tokens.into_iter().map(|token| (token.name, token.created_at)).collect())
    })
}

/// Serves handlers of `factory` on `/mcp`, with the same checks as the hub; for the conformance server of the tests.
pub async fn serve_handler<H, F>(app: Arc<App>, listener: BoundListener, factory: F)
where
    H: rmcp::ServerHandler,
    F: Fn() -> H + Send + Sync + 'static,
{
    let shared = share(&app);
    let factory = move |_| factory();
    let routes = Router::new().route("/mcp", mcp_endpoint::mcp_service("fixture", shared.clone(), factory));
    run(shared, listener, routes).await;
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

async fn run(shared: Shared, listener: BoundListener, routes: Router) {
    let app = shared.app.clone();
    let sweeper = {
        let shared = shared.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            shared.registry.sweep(&shared.callers, &shared.streams, &shared.app.questions).await;
        }))
    };
    let limit = app.config.http.body_limit;
    let access = Arc::new(AccessControl {
        app: app.clone(),
        names: listener.names,
        console: listener.console,
        authenticator: listener.authenticator,
        unauthenticated_agents: listener.unauthenticated_agents,
        attempts: LoginAttempts::default(),
        limit,
        routes,
    });
    let answer = move |request| {
        let access = access.clone();
        async move { access.answer(request).await }
    };
    listener::run((listener.tcp, listener.tls), &app.shutdown, app.config.grace, answer).await;
    shared.give_up.cancel();
    drop(sweeper);
}
