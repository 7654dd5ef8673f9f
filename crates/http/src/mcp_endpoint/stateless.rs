//! Requests that stand alone: everything about the client is in the request.
//!
//! rmcp checks the headers that mirror the body and reads the message itself, so a request with `_meta` is handed to
//! it as it came. Only where rmcp finds no such method, or no message at all, our own reader says what is wrong: for
//! rmcp a known method whose parameters do not fit is an unknown one.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode, request};
use http_body_util::Full;
use rmcp::ServerHandler;
use rmcp::model::{RequestId, SubscriptionFilter};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{CALLER, Called, FIRST_REVISION, Mount, REVISION, refused};
use crate::http::answer;
use crate::mcp;
use crate::mcp::changes::Telling;
use crate::mcp::dialect;
use crate::mcp::edge;
use crate::mcp::edge::envelope::Envelope;
use crate::mcp::error::{self, Refusal};

/// What a request says of its client.
#[derive(Debug, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    revision: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<Client<'a>>,
}

#[derive(Debug, Deserialize)]
struct Client<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    version: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

/// A request that names its own revision.
#[derive(Debug)]
pub(super) struct Modern<'a> {
    id: RequestId,
    method: String,
    meta: Meta<'a>,
    /// What a subscription is to tell of.
    listens: Option<SubscriptionFilter>,
}

#[derive(Deserialize)]
struct Listen {
    notifications: SubscriptionFilter,
}

impl<'a> Modern<'a> {
    /// Reads what a request says of its client; `None` for all that does not name its own revision.
    pub(super) fn read(envelope: &Envelope<'a>) -> Option<Self> {
        let Envelope::Request { id, method, params: Some(params) } = envelope else {
            return None;
        };
        let params: &'a RawValue = params;
        let meta = serde_json::from_str::<Params<'a>>(params.get()).ok()?.meta?;
        if method == "initialize" || meta.revision.is_none() {
            return None;
        }
        let listen = (method == "subscriptions/listen").then(|| serde_json::from_str::<Listen>(params.get()));
        // One that cannot be read is refused by whoever reads all of it.
        let listens = listen.and_then(Result::ok).map(|listen| listen.notifications);
        Some(Self { id: id.clone(), method: method.clone(), meta, listens })
    }
}

impl<H: ServerHandler> Mount<H> {
    /// A request that names its own revision.
    pub(super) async fn modern(
        &self,
        parts: request::Parts,
        text: &str,
        asked: Modern<'_>,
    ) -> Response<Body> {
        let request = request::Request::from_parts(parts, Full::new(Bytes::copy_from_slice(text.as_bytes())));
        let response = self.alone(request, Some(&asked)).await;
        match response.status() {
            status @ (StatusCode::NOT_FOUND | StatusCode::UNSUPPORTED_MEDIA_TYPE) => {
                if let Err(refusal) = edge::read(text) {
                    return refused(&refusal);
                }
                if status == StatusCode::NOT_FOUND {
                    let error = error::unknown_method(&asked.method);
                    return answer::refuse(status, &Refusal { id: Some(asked.id), error });
                }
            }
            StatusCode::OK if dialect::signs_json(&asked.method) => return self.signed(response).await,
            _ => {}
        }
        answer::readable(response, Some(asked.id)).await
    }

    /// Puts who answers into an answer for which rmcp's type has no room for it.
    async fn signed(&self, response: Response<Body>) -> Response<Body> {
        let (parts, body) = response.into_parts();
        let Some(server) = mcp::Server::from_name(self.name) else {
            return Response::from_parts(parts, body);
        };
        // A whole answer that was made before.
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(mut message) if message.get("result").is_some() => {
                dialect::sign_json(server, &mut message["result"]);
                answer::json(parts.status, &message)
            }
            _ => Response::from_parts(parts, Body::from(bytes)),
        }
    }

    /// Hands a request, which `asked` says more of where it names its own revision, to a handler of its own.
    pub(super) async fn alone(
        &self,
        request: request::Request<Full<Bytes>>,
        asked: Option<&Modern<'_>>,
    ) -> Response<Body> {
        let meta = asked.map(|asked| &asked.meta);
        let client = meta.and_then(|meta| meta.client.as_ref());
        let (name, version) = client.map_or(("", ""), |client| (&client.name, &client.version));
        let told = request.headers().get(REVISION).and_then(|value| value.to_str().ok());
        let revision = meta.and_then(|meta| meta.revision.as_deref()).or(told).unwrap_or(FIRST_REVISION);
        let connected = self.shared.callers.enter(&self.shared.app, self.name, name, version, revision);
        let mut called = Called::new(connected, request.uri(), request.extensions());
        if let (Some(server), Some(filter)) =
            (mcp::Server::from_name(self.name), asked.and_then(|asked| asked.listens.as_ref()))
        {
            let handler = mcp::Handler::new(self.shared.app.clone(), server, called.connected.clone());
            called.telling = Some(Arc::new(Telling::begin(&handler, filter).await));
        }
        CALLER.scope(called, self.alone.handle(request)).await.map(Body::new)
    }
}
