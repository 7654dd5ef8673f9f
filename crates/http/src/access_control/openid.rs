//! Logins at an identity provider: the link that begins one, and the address to which the provider sends the browser back.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Query;
use axum::http::header::HOST;
use axum::http::{Method, Response, StatusCode, request};

use super::{AccessControl, NO_CONNECTION, with_cookie};
use crate::auth::Authenticator;
use adjutant_agents::TcpConnection;
use adjutant_app::openid_logins::{Callback, Fault, OpenIdLogins, PENDING_LIFE};
use adjutant_web as web;

/// The path to which the provider sends the browser back; its registration names it.
const CALLBACK_PATH: &str = "/login/openid/callback";

impl AccessControl {
    /// Answers a request of a login at the identity provider; `None` for any other request.
    pub(super) async fn answer_openid(
        &self,
        authenticator: &Authenticator,
        parts: &request::Parts,
    ) -> Option<Response<Body>> {
        let openid = self.app.openid.as_ref().filter(|_| parts.method == Method::GET)?;
        let path = parts.uri.path();
        if path != web::OPENID_PATH && path != CALLBACK_PATH {
            return None;
        }
        let Some(connection) = parts.extensions.get::<Arc<TcpConnection>>().cloned() else {
            return Some(self.login_form(StatusCode::FORBIDDEN, Some(NO_CONNECTION), "/"));
        };
        if let Some(rejection) = self.refuse_agent(connection.clone(), "/").await {
            return Some(rejection);
        }
        Some(if path == CALLBACK_PATH {
            self.finish(openid, authenticator, parts, &connection).await
        } else {
            self.begin(openid, authenticator, parts).await
        })
    }

    /// Sends a browser to the provider.
    async fn begin(
        &self,
        openid: &OpenIdLogins,
        authenticator: &Authenticator,
        parts: &request::Parts,
    ) -> Response<Body> {
        let console = self.console.as_str();
        // The provider sends the browser to this name of the console, where it must have its cookie.
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let named = console.split_once("://").map_or("", |(_, host)| host);
        if !host.eq_ignore_ascii_case(named) {
            let path = parts.uri.path_and_query().map_or(web::OPENID_PATH, |path| path.as_str());
            return web::redirect(&format!("{console}{path}"));
        }
        // Another site's link would log in anybody who follows it.
        let Some(next) = web::read_openid_link(&parts.uri) else {
            return self.login_form(StatusCode::OK, None, "/");
        };
        match openid.begin(format!("{console}{CALLBACK_PATH}"), &next).await {
            Ok(begun) => match authenticator.begun_cookie(&begun.browser, PENDING_LIFE) {
                Some(cookie) => with_cookie(web::redirect(&begun.url), cookie),
                None => self.login_form(StatusCode::INTERNAL_SERVER_ERROR, None, &next),
            },
            Err(fault) => self.refuse_login(&fault, &next),
        }
    }

    /// Logs a browser in that the provider sent back.
    async fn finish(
        &self,
        openid: &OpenIdLogins,
        authenticator: &Authenticator,
        parts: &request::Parts,
        connection: &TcpConnection,
    ) -> Response<Body> {
        let finished = match Query::<Callback>::try_from_uri(&parts.uri) {
            Ok(Query(callback)) => {
                openid.finish(&self.app.assistant, authenticator.begun_by(&parts.headers), callback).await
            }
            Err(_) => Err(Fault::Stale),
        };
        let response = match finished {
            Ok((login, next)) => match authenticator.log_in_user(login.user.as_str(), login.generation) {
                Some(cookie) => {
                    tracing::info!(user = login.user.as_str(), client = %connection.remote, "a user logged in");
                    with_cookie(web::logged_in(&next), cookie)
                }
                None => self.login_form(StatusCode::INTERNAL_SERVER_ERROR, None, &next),
            },
            // The browser keeps the cookie of a login that may be pending in another window.
            Err(Fault::Stale) => return self.refuse_login(&Fault::Stale, "/"),
            Err(fault) => self.refuse_login(&fault, "/"),
        };
        match authenticator.begun_cookie("", Duration::ZERO) {
            Some(cookie) => with_cookie(response, cookie),
            None => response,
        }
    }

    fn refuse_login(&self, fault: &Fault, next: &str) -> Response<Body> {
        let status = match fault {
            Fault::Stale => StatusCode::BAD_REQUEST,
            Fault::Provider(error) => {
                tracing::warn!(%error, "the identity provider did not complete a login");
                StatusCode::BAD_GATEWAY
            }
            Fault::Secret(error) => {
                tracing::error!(%error, "the secret of the identity provider cannot be read");
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Fault::Store(error) => {
                tracing::error!(%error, "a login could not be looked up");
                StatusCode::SERVICE_UNAVAILABLE
            }
            Fault::Ended(_)
            | Fault::Nameless { .. }
            | Fault::Unverified { .. }
            | Fault::UnknownUser { .. }
            | Fault::NoLogin { .. } => StatusCode::FORBIDDEN,
        };
        let mut sentence = format!("{fault}.");
        sentence[..1].make_ascii_uppercase();
        self.login_form(status, Some(&sentence), next)
    }
}
