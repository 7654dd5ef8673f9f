//! Stateless requests: a request carries everything about its client.
//!
//! rmcp checks the headers that mirror the body and decodes the message itself, so a request with `_meta` is passed on
//! unchanged. Only when rmcp finds no such method, or no message at all, our decoder reports the error, because rmcp
//! treats a known method with invalid parameters as unknown.

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

use super::{CALLER, Endpoint, FIRST_REVISION, HandlerContext, REVISION, refused};
use crate::delivery::Delivery;
use crate::rejections;
use crate::response_builders::json;
use adjutant_mcp as mcp;
use adjutant_mcp::error::{self, Refusal};
use adjutant_mcp::protocol_version::{self, Revision};
use adjutant_mcp::subscriptions::SubscriberState;
use adjutant_mcp::transport;
use adjutant_mcp::transport::decode::REMOVED;
use adjutant_mcp::transport::envelope::Envelope;

/// The description of the client in a request.
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
pub(super) struct StatelessRequest<'a> {
    id: RequestId,
    method: String,
    meta: Meta<'a>,
    /// The changes that a subscription requests.
    listens: Option<SubscriptionFilter>,
}

#[derive(Deserialize)]
struct Listen {
    notifications: SubscriptionFilter,
}

impl<'a> StatelessRequest<'a> {
    /// Reads the client's description in a request; `None` for any message that does not name its own revision.
    pub(super) fn read(envelope: &Envelope<'a>) -> Option<Self> {
        let Envelope::Request { id, method, params: Some(params) } = envelope else {
            return None;
        };
        let params: &'a RawValue = params;
        let meta = serde_json::from_str::<Params<'a>>(params.get()).ok()?.meta?;
        let revision = meta.revision.as_deref()?;
        // A handshake is of an older revision, unless it names the stateless one, which has none.
        if method == "initialize" && revision != Revision::V2026_07_28.as_str() {
            return None;
        }
        let listen = (method == "subscriptions/listen").then(|| serde_json::from_str::<Listen>(params.get()));
        // An unreadable filter is rejected later, when the whole request is decoded.
        let listens = listen.and_then(Result::ok).map(|listen| listen.notifications);
        Some(Self { id: id.clone(), method: method.clone(), meta, listens })
    }
}

impl<H: ServerHandler> Endpoint<H> {
    /// Serves a request that names its own revision.
    pub(super) async fn handle_stateless(
        &self,
        parts: request::Parts,
        text: &str,
        asked: StatelessRequest<'_>,
    ) -> Response<Body> {
        let named = asked.meta.revision.as_deref().and_then(Revision::parse);
        if named == Some(Revision::V2026_07_28) && REMOVED.contains(&asked.method.as_str()) {
            let error = error::unknown_method(&asked.method);
            return rejections::refuse(StatusCode::NOT_FOUND, &Refusal { id: Some(asked.id), error });
        }
        let request = request::Request::from_parts(parts, Full::new(Bytes::copy_from_slice(text.as_bytes())));
        let (response, delivery) = self.dispatch_once(request, Some(&asked)).await;
        delivery.follow(self.finish(response, text, asked).await)
    }

    /// Returns the response to a stateless request in the form that its client gets.
    async fn finish(
        &self,
        response: Response<Body>,
        text: &str,
        asked: StatelessRequest<'_>,
    ) -> Response<Body> {
        match response.status() {
            status @ (StatusCode::NOT_FOUND | StatusCode::UNSUPPORTED_MEDIA_TYPE) => {
                if let Err(refusal) = transport::read(text) {
                    return refused(&refusal);
                }
                if status == StatusCode::NOT_FOUND {
                    let error = error::unknown_method(&asked.method);
                    return rejections::refuse(status, &Refusal { id: Some(asked.id), error });
                }
            }
            StatusCode::OK if protocol_version::signs_json(&asked.method) => {
                return self.signed(response).await;
            }
            _ => {}
        }
        rejections::readable(response, Some(asked.id)).await
    }

    /// Adds the server's name to an answer, because rmcp's type has no field for it.
    async fn signed(&self, response: Response<Body>) -> Response<Body> {
        let (parts, body) = response.into_parts();
        let Some(server) = self.server else { return Response::from_parts(parts, body) };
        // The answer is complete already, so this does not wait.
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(mut message) if message.get("result").is_some() => {
                protocol_version::sign_json(server, &mut message["result"]);
                json(parts.status, message.to_string())
            }
            _ => Response::from_parts(parts, Body::from(bytes)),
        }
    }

    /// Dispatches a request to a new handler. `asked` describes a request that names its own revision. Returns the
    /// response with its delivery.
    pub(super) async fn dispatch_once(
        &self,
        request: request::Request<Full<Bytes>>,
        asked: Option<&StatelessRequest<'_>>,
    ) -> (Response<Body>, Delivery) {
        let meta = asked.map(|asked| &asked.meta);
        let client = meta.and_then(|meta| meta.client.as_ref());
        let (name, version) = client.map_or(("", ""), |client| (&client.name, &client.version));
        let named = request.headers().get(REVISION).and_then(|value| value.to_str().ok());
        let revision = meta.and_then(|meta| meta.revision.as_deref()).or(named).unwrap_or(FIRST_REVISION);
        let connected = self.shared.callers.enter(&self.shared.app, self.name, name, version, revision);
        let mut context = HandlerContext::new(connected, request.uri(), request.extensions());
        if let Some((server, filter)) = self.server.zip(asked.and_then(|asked| asked.listens.as_ref())) {
            let client = mcp::ClientContext::new(self.shared.app.clone(), server, context.connected.clone());
            context.subscriber = Some(Arc::new(SubscriberState::begin(&client, filter).await));
        }
        // The handler serves only this request, so this response has all outcomes that it delivers.
        let (pending, received, lost) =
            (context.deliveries.clone(), context.deliveries.clone(), context.deliveries.clone());
        let received = async move {
            for claim in received.take_all() {
                claim.confirm().await;
            }
        };
        let has_outcome = move || !pending.is_empty();
        let delivery =
            Delivery::new(request.extensions(), has_outcome, received, move || drop(lost.take_all()));
        let response = CALLER.scope(context, self.stateless.handle(request)).await.map(Body::new);
        (response, delivery)
    }
}
