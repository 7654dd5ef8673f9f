//! Access control of every request: the guard of Host and Origin, the token or the login, the limit of the body, then the route.

mod openid;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderMap, HeaderValue, SET_COOKIE};
use axum::http::{Method, Request, Response, StatusCode, request};
use futures::StreamExt as _;
use hyper::body::Incoming;
use tower_service::Service as _;

use crate::auth::{self, LoginAttempts, TokenName};
use crate::host_guard::{self, Names};
use crate::{LOGIN_PATH, body, listener, monitoring, rejections, response_builders};
use adjutant_agents::TcpConnection;
use adjutant_app::App;
use adjutant_assistant::logins::Login;
use adjutant_web as web;

/// The path of the form that logs a user in, and of the one that logs out.
const PASSWORD_PATH: &str = "/login";
const LOGOUT_PATH: &str = "/logout";

/// Maximum bytes of the form that logs a user in.
const MAX_LOGIN_BYTES: usize = 16 * 1024;

/// The reason for a refused login if its process cannot be looked up.
const NO_CONNECTION: &str = "The hub does not know the connection of this browser. Try again.";

/// A person at the console.
enum Person {
    /// The owner of the hub.
    Owner,
    User(Login),
}

/// The checks between a connection and the routes.
pub(crate) struct AccessControl {
    pub app: Arc<App>,
    pub names: Names,
    /// The origin under which users reach the console.
    pub console: String,
    pub authenticator: Option<auth::Authenticator>,
    /// Whether agents need no token.
    pub unauthenticated_agents: bool,
    pub attempts: LoginAttempts,
    /// Maximum bytes of a body.
    pub limit: usize,
    pub routes: Router,
}

impl AccessControl {
    /// Answers a request of a connection.
    pub(crate) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let (mut parts, body) = request.into_parts();
        let mcp = is_mcp(parts.uri.path());
        let mut proof = HeaderMap::new();
        for name in [AUTHORIZATION, COOKIE] {
            parts.headers.get_all(&name).iter().for_each(|value| _ = proof.append(&name, value.clone()));
        }
        let refusal = match self.misuse(&parts).await {
            Some(refusal) => Some(refusal),
            None => self.admit(&mut parts, mcp).await,
        };
        let mut response = match refusal {
            Some(refusal) => refusal,
            None => match self.read(&parts, body).await {
                Ok(_) if !listener::admit(&parts.extensions) => {
                    refuse(mcp, StatusCode::SERVICE_UNAVAILABLE, listener::BUSY)
                }
                Ok(body) => self.pass(Request::from_parts(parts, body)).await,
                Err((status, message)) => refuse(mcp, status, message),
            },
        };
        host_guard::harden(response.headers_mut());
        if !response_builders::is_event_stream(response.headers()) {
            return response;
        }
        // A stream ends when its token is revoked or its login has ended.
        response.map(|body| {
            let events = body.into_data_stream();
            let proof = Arc::new(proof);
            Body::from_stream(events.take_while(move |_| {
                let (access, proof) = (self.clone(), proof.clone());
                async move {
                    if mcp {
                        access.token_name(&proof).is_some()
                    } else {
                        access.person(&proof).await.is_some()
                    }
                }
            }))
        })
    }

    /// Returns the rejection of a link that was given to a browser and is used by a process that an agent may have started.
    /// The link stays good for the browser.
    async fn misuse(&self, parts: &request::Parts) -> Option<Response<Body>> {
        let logins = self.authenticator.as_ref()?.logins();
        let opener = logins.opener(parts.uri.path().strip_prefix(LOGIN_PATH)?)?;
        let connection = parts.extensions.get::<Arc<TcpConnection>>()?.clone();
        let (app, remote) = (self.app.clone(), connection.remote);
        let may = tokio::task::spawn_blocking(move || app.may_log_in(&connection, &opener)).await;
        (!may.unwrap_or(false)).then(|| {
            tracing::warn!(client = %remote, "a login link was used by a process that an agent may have started");
            web::login_needed(web::Login::Elsewhere)
        })
    }

    /// Returns the name of the token that a request to `/mcp` carries; `None` when it may not pass.
    fn token_name(&self, headers: &HeaderMap) -> Option<TokenName> {
        let Some(authenticator) = &self.authenticator else { return Some(TokenName::default()) };
        authenticator.token_name(headers).or_else(|| self.unauthenticated_agents.then(TokenName::default))
    }

    /// Returns the person of a request to the console; `None` if the browser is not logged in.
    async fn person(&self, headers: &HeaderMap) -> Option<Person> {
        let Some(authenticator) = &self.authenticator else { return Some(Person::Owner) };
        if authenticator.check_login(headers) {
            return Some(Person::Owner);
        }
        let (user, generation) = authenticator.user_of(headers)?;
        let found = self.app.assistant.login(&user).await;
        let login =
            found.inspect_err(|error| tracing::error!(%error, "a login could not be checked")).ok()??;
        // A change of the role or the password ends the logins before.
        (login.generation == generation).then_some(Person::User(login))
    }

    /// Returns the page for a browser that is not logged in: with the form if users log in.
    async fn login_page(&self, status: StatusCode, next: &str) -> Response<Body> {
        if self.app.openid.is_some() || self.app.assistant.has_logins().await.unwrap_or(false) {
            self.login_form(status, None, next)
        } else {
            web::login_needed(web::Login::Missing)
        }
    }

    /// Returns the page with the form. `fault` says why the last attempt failed.
    fn login_form(&self, status: StatusCode, fault: Option<&str>, next: &str) -> Response<Body> {
        web::login_page(status, fault, next, self.app.openid.as_ref().map(|openid| openid.label()))
    }

    /// Returns the rejection of a process that is an agent's, as far as the kernel shows.
    async fn refuse_agent(&self, connection: Arc<TcpConnection>, next: &str) -> Option<Response<Body>> {
        let (app, client) = (self.app.clone(), connection.remote);
        let is_of_agent = tokio::task::spawn_blocking(move || app.is_of_agent(&connection)).await;
        is_of_agent.unwrap_or(true).then(|| {
            tracing::warn!(%client, "a process of an agent tried to log in as a user");
            let fault = "An agent started this program, so it cannot log in.";
            self.login_form(StatusCode::FORBIDDEN, Some(fault), next)
        })
    }

    /// Logs a user in who sent the form with a password.
    async fn log_in(&self, request: Request<Body>) -> Response<Body> {
        let Some(authenticator) = &self.authenticator else { return web::redirect("/") };
        let Some(connection) = request.extensions().get::<Arc<TcpConnection>>().cloned() else {
            return self.login_form(StatusCode::FORBIDDEN, Some(NO_CONNECTION), "/");
        };
        let form = match web::read_login(request).await {
            Ok(form) => form,
            Err(rejection) => return rejection,
        };
        let refuse = |status, fault: &str| self.login_form(status, Some(fault), &form.next);
        let remote = connection.remote.ip().to_canonical();
        if let Some(rejection) = self.refuse_agent(connection, &form.next).await {
            return rejection;
        }
        if let Err(pause) = self.attempts.begin(&form.user, remote, Instant::now()) {
            let seconds = pause.as_secs().max(1);
            let fault = format!("Too many wrong passwords. Try again in {seconds} s.");
            return refuse(StatusCode::TOO_MANY_REQUESTS, &fault);
        }
        match self.app.assistant.check_password(&form.user, &form.password).await {
            Ok(Some(login)) => {
                self.attempts.succeeded(&form.user, remote);
                tracing::info!(user = login.user.as_str(), client = %remote, "a user logged in");
                match authenticator.log_in_user(login.user.as_str(), login.generation) {
                    Some(cookie) => with_cookie(web::redirect(&form.next), cookie),
                    None => refuse(StatusCode::INTERNAL_SERVER_ERROR, "The hub could not log you in."),
                }
            }
            Ok(None) => {
                tracing::warn!(client = %remote, "a wrong password, or an unknown user");
                refuse(StatusCode::UNAUTHORIZED, "The name or the password is wrong.")
            }
            Err(error) => {
                tracing::error!(%error, "a password could not be checked");
                refuse(StatusCode::SERVICE_UNAVAILABLE, "The hub's store does not answer. Try again.")
            }
        }
    }

    /// Ends the logins of the user in all browsers; those of the owner in this browser.
    async fn log_out(&self, request: Request<Body>) -> Response<Body> {
        let login = request.extensions().get::<Login>().cloned();
        if let Err(rejection) = web::read_logout(request).await {
            return rejection;
        }
        if let Some(login) = login
            && let Err(error) = self.app.assistant.end_logins(&login.user).await
        {
            tracing::error!(%error, "a login could not be ended");
        }
        let cookie = self.authenticator.as_ref().and_then(auth::Authenticator::log_out);
        let response = web::redirect("/");
        match cookie {
            Some(cookie) => with_cookie(response, cookie),
            None => response,
        }
    }

    /// Answers a request that may pass.
    async fn pass(&self, request: Request<Body>) -> Response<Body> {
        match (request.method(), request.uri().path()) {
            (&Method::POST, PASSWORD_PATH) => self.log_in(request).await,
            (&Method::POST, LOGOUT_PATH) => self.log_out(request).await,
            _ => self.route(request).await,
        }
    }

    /// Returns the rejection of a request that may not pass. Adds the name of its token to a request to `/mcp`.
    async fn admit(&self, parts: &mut request::Parts, mcp: bool) -> Option<Response<Body>> {
        if let Some((status, message)) = self.names.refusal(&parts.method, &parts.uri, &parts.headers) {
            return Some(refuse(mcp, status, message));
        }
        if mcp {
            let Some(token) = self.token_name(&parts.headers) else {
                return Some(rejections::unauthorized(&parts.headers));
            };
            parts.extensions.insert(token);
            if parts.method == Method::POST && !is_json(&parts.headers) {
                return Some(refuse(
                    mcp,
                    StatusCode::UNSUPPORTED_MEDIA_TYPE,
                    "Content-Type must be application/json",
                ));
            }
            return None;
        }
        // A calendar program cannot log in: the secret in the address of a feed, which TLS hides, lets it in.
        if web::is_asset(parts.uri.path()) || web::is_feed(parts.uri.path()) {
            return None;
        }
        if monitoring::PROBES.contains(&parts.uri.path()) {
            return None;
        }
        let authenticator = self.authenticator.as_ref()?;
        if parts.uri.path() == monitoring::METRICS {
            let has_token = authenticator.token_name(&parts.headers).is_some();
            return (!has_token).then(|| rejections::unauthorized(&parts.headers));
        }
        if parts.uri.path() == PASSWORD_PATH {
            if parts.method == Method::POST {
                return None;
            }
            return Some(self.login_page(StatusCode::OK, "/").await);
        }
        if let Some(response) = self.answer_openid(authenticator, parts).await {
            return Some(response);
        }
        let nonce = parts.uri.path().strip_prefix(LOGIN_PATH);
        if let Some(nonce) = nonce.filter(|_| parts.method == Method::GET) {
            return Some(match authenticator.log_in(nonce) {
                Some(cookie) => with_cookie(web::redirect("/"), cookie),
                None => web::login_needed(web::Login::Spent),
            });
        }
        let Some(person) = self.person(&parts.headers).await else {
            return Some(self.login_page(StatusCode::UNAUTHORIZED, parts.uri.path()).await);
        };
        if let Person::User(login) = person {
            let act = web::act(&parts.method, parts.uri.path());
            if parts.uri.path() != LOGOUT_PATH && !login.role.includes(act) {
                return Some(web::not_allowed());
            }
            parts.extensions.insert(login);
        }
        None
    }

    async fn read(&self, parts: &request::Parts, body: Incoming) -> Result<Body, (StatusCode, String)> {
        if matches!(parts.method, Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS) {
            return Ok(Body::empty());
        }
        // The sender of the login form is not authenticated yet, so its body has a lower limit.
        let is_login = parts.uri.path() == PASSWORD_PATH;
        let limit = if is_login { self.limit.min(MAX_LOGIN_BYTES) } else { self.limit };
        body::read(&parts.headers, body, limit).await.map(Body::from)
    }

    async fn route(&self, request: Request<Body>) -> Response<Body> {
        // The application of a user shows only questions that the user may see.
        let mut routes = match request.extensions().get::<Login>() {
            Some(login) => crate::pages(self.app.for_login(login.clone())),
            None => self.routes.clone(),
        };
        match routes.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// Returns a rejection in the format of the route.
fn refuse(mcp: bool, status: StatusCode, message: impl Into<String>) -> Response<Body> {
    if mcp { rejections::invalid(status, None, message) } else { rejections::plain(status, message) }
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

/// Sends a cookie with a response.
fn with_cookie(mut response: Response<Body>, cookie: HeaderValue) -> Response<Body> {
    response.headers_mut().append(SET_COOKIE, cookie);
    response
}
