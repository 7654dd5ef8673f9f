//! Batches, a feature of revision 2025-03-26 only: split, served one by one, answered on one event stream.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::ACCEPT;
use axum::http::{Response, StatusCode, request};
use futures::StreamExt;
use futures::stream::{self, BoxStream, SelectAll};
use http_body_util::BodyExt;
use rmcp::ServerHandler;
use serde_json::value::RawValue;

use super::{BOTH_KINDS, Endpoint, is_initialize, request_id};
use crate::rejections;
use crate::response_builders::{empty, event_stream, is_event_stream};
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
        let bad = |message: &str| rejections::invalid(StatusCode::BAD_REQUEST, None, message);
        let members: Vec<&RawValue> = match serde_json::from_str(text) {
            Ok(members) => members,
            Err(reason) => {
                let refusal = Refusal { id: None, error: error::not_json(&reason.to_string()) };
                return rejections::refuse(StatusCode::BAD_REQUEST, &refusal);
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
            return empty(StatusCode::ACCEPTED);
        }
        event_stream(Body::from_stream(answers))
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
            Err(refusal) => return Some(rejections::refuse(StatusCode::OK, &refusal)),
        };
        let Some(id) = request_id(&message) else {
            let _ = self.deliver(parts, message, session).await;
            return None;
        };
        if is_initialize(&message) {
            let reason = "`initialize` must not be part of a batch";
            return Some(rejections::invalid(StatusCode::OK, Some(id), reason));
        }
        let response = self.deliver(parts, message, session).await;
        Some(rejections::readable(response, Some(id)).await)
    }
}

/// Returns the events of an answer; a JSON answer becomes one event.
fn events(response: Response<Body>) -> BoxStream<'static, Result<Bytes, axum::Error>> {
    let is_stream = is_event_stream(response.headers());
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
