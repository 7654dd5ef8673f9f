//! Batches, a feature of revision 2025-03-26 only: split, served one by one, answered on one event stream.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::http::{Response, StatusCode, request};
use futures::StreamExt;
use futures::stream::{self, BoxStream, SelectAll};
use http_body_util::BodyExt;
use rmcp::ServerHandler;
use rmcp::model::{ClientRequest, JsonRpcMessage};
use serde_json::value::RawValue;

use super::{BOTH_KINDS, Endpoint, accepted};
use crate::responses;
use crate::sessions::{MAX_IN_FLIGHT, Session};
use adjutant_mcp::error::{self, Refusal};
use adjutant_mcp::transport;

impl<H: ServerHandler> Endpoint<H> {
    /// Serves the members of a batch concurrently. Every request is answered by a separate event; a batch of
    /// notifications and answers alone is accepted without any.
    pub(super) async fn batch(
        &self,
        parts: &request::Parts,
        text: &str,
        session: &Arc<Session>,
    ) -> Response<Body> {
        let bad = |message: &str| responses::invalid(StatusCode::BAD_REQUEST, None, message);
        let members: Vec<&RawValue> = match serde_json::from_str(text) {
            Ok(members) => members,
            Err(reason) => {
                let refusal = Refusal { id: None, error: error::not_json(&reason.to_string()) };
                return responses::refuse(StatusCode::BAD_REQUEST, &refusal);
            }
        };
        if members.is_empty() {
            return bad("the batch is empty");
        }
        if members.len() > MAX_IN_FLIGHT {
            return bad("the batch has more members than may be in flight");
        }
        let mut answers = SelectAll::new();
        for member in members {
            if let Some(response) = self.member(parts, member.get(), session).await {
                answers.push(events(response));
            }
        }
        if answers.is_empty() {
            return accepted();
        }
        let mut response = Response::new(Body::from_stream(answers));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }

    /// Serves one member; `None` if it needs no answer.
    async fn member(
        &self,
        parts: &request::Parts,
        text: &str,
        session: &Arc<Session>,
    ) -> Option<Response<Body>> {
        let mut parts = parts.clone();
        parts.headers.insert(ACCEPT, BOTH_KINDS);
        let message = match transport::read(text) {
            Ok(message) => message?,
            Err(refusal) => return Some(responses::refuse(StatusCode::OK, &refusal)),
        };
        let JsonRpcMessage::Request(request) = &message else {
            let _ = self.deliver(parts, message, session).await;
            return None;
        };
        let id = request.id.clone();
        if matches!(request.request, ClientRequest::InitializeRequest(_)) {
            let reason = "`initialize` must not be part of a batch";
            return Some(responses::invalid(StatusCode::OK, Some(id), reason));
        }
        let response = self.deliver(parts, message, session).await;
        Some(responses::readable(response, Some(id)).await)
    }
}

/// Returns the events of an answer; a JSON answer becomes one event.
fn events(response: Response<Body>) -> BoxStream<'static, Result<Bytes, axum::Error>> {
    let is_stream = responses::is_event_stream(response.headers());
    let body = response.into_body();
    if is_stream {
        return StreamExt::boxed(body.into_data_stream());
    }
    let event = async move {
        let json = body.collect().await?.to_bytes();
        Ok([b"data: ", &*json, b"\n\n"].concat().into())
    };
    StreamExt::boxed(stream::once(event))
}
