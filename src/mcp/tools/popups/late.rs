//! Answers that came after their caller had stopped waiting: they go with the next answer that the caller gets.

use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, ContentBlock};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::answer;
use crate::app::clients::Transport;
use crate::mcp::Handler;
use crate::mcp::dialect::Revision;

/// Answers that go with one result; more go with the next.
const AT_ONCE: u32 = 5;

/// Adds what the caller did not hear yet to a tool's result.
pub(crate) async fn with_late_answers(
    handler: &Handler,
    revision: Revision,
    context: &RequestContext<RoleServer>,
    answer: CallToolResponse,
) -> CallToolResponse {
    // Without a name there is no telling one client over HTTP from another.
    let over_http = matches!(handler.connected().transport, Transport::Http | Transport::HttpSession);
    let named = !over_http || handler.connected().says_its_name();
    let CallToolResponse::Complete(mut result) = answer else { return answer };
    if !handler.server().has_popups() || !named || context.ct.is_cancelled() {
        return CallToolResponse::Complete(result);
    }
    let (popups, key) = (&handler.app().popups, handler.asker().key);
    let late = match popups.undelivered(&key, AT_ONCE).await {
        Ok(late) => late,
        Err(error) => {
            tracing::warn!(%error, "answers that wait for their caller could not be read");
            return CallToolResponse::Complete(result);
        }
    };
    if !late.is_empty() && result.content.is_empty() {
        // It was to go to the wire as bytes; what is added makes it an answer like any other.
        let prepared = handler.connection().and_then(|connection| connection.take_prepared(&context.id));
        let Some(whole) = prepared.and_then(|prepared| prepared.unpacked()) else {
            return CallToolResponse::Complete(result);
        };
        result.content = whole.content;
        result.structured_content = whole.structured_content;
    }
    let mut told = Vec::new();
    for question in late {
        if popups.delivered(&key, &question.ticket).await {
            let mut members = answer::structured(&question);
            members.insert("title".to_owned(), Value::from(question.title.as_str()));
            told.push(Value::Object(members));
        }
    }
    if told.is_empty() {
        return CallToolResponse::Complete(result);
    }
    let text = format!("The person has answered what you asked earlier: {}", Value::from(told.clone()));
    result.content.push(ContentBlock::text(text));
    if revision > Revision::V2024_11_05
        && let Some(Value::Object(members)) = &mut result.structured_content
    {
        members.insert("earlier_answers".to_owned(), Value::from(told));
    }
    CallToolResponse::Complete(result)
}
