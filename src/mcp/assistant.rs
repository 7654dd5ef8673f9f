//! What the assistant contract has beside its tools: resources and prompts, and their shapes at 2024-11-05.

pub(crate) mod enclosed;
mod prompts;
mod resources;

use rmcp::ErrorData;
use rmcp::model::{ClientRequest, RequestMetaObject};
use serde_json::Value;

use crate::config::rooms::Room;
use crate::mcp::dialect::Revision;
use crate::mcp::{Handler, Server, error};
pub(crate) use prompts::{get, listed as prompts};
pub(crate) use resources::{LISTED, digest, is_ours, listed as resources, names, read, templates};

/// Answers a request of a client of 2024-11-05 in the contract's own shape, where rmcp's types have none for it:
/// `hash` beside a resource's text, and messages whose role is `system` and whose content is a string. `None` leaves
/// the request to the handler.
pub(crate) async fn contract(
    handler: &Handler,
    request: &ClientRequest,
    revision: Revision,
    meta: &RequestMetaObject,
) -> Option<Result<Value, ErrorData>> {
    if !handler.has(Room::Assistant) || revision != Revision::V2024_11_05 {
        return None;
    }
    match request {
        ClientRequest::ReadResourceRequest(request) if is_ours(handler, &request.params.uri) => {
            Some(resources::contract(handler, &request.params.uri, meta).await)
        }
        ClientRequest::GetPromptRequest(request) if prompts::is_ours(handler, &request.params.name) => {
            Some(prompts::contract(&request.params))
        }
        request if handler.server() == Server::Assistant => {
            undeclared(request).map(|capability| Err(error::capability_not_supported(capability)))
        }
        _ => None,
    }
}

/// What a request would need that the contract declares nowhere; it has a code for that.
fn undeclared(request: &ClientRequest) -> Option<&'static str> {
    match request {
        ClientRequest::SubscribeRequest(_) | ClientRequest::UnsubscribeRequest(_) => {
            Some("resources.subscribe")
        }
        ClientRequest::SetLevelRequest(_) => Some("logging"),
        ClientRequest::CompleteRequest(_) => Some("completions"),
        _ => None,
    }
}

/// A whole number of at least `least` among the request's `_meta`.
fn number(meta: &RequestMetaObject, name: &str, least: u64) -> Result<Option<usize>, ErrorData> {
    let Some(value) = meta.0.get(name) else { return Ok(None) };
    let path = [name.to_owned()];
    match value.as_u64() {
        Some(number) if number >= least => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX))),
        _ if value.is_i64() || value.is_u64() => {
            let message = format!("`{name}` must be at least {least}");
            Err(error::invalid_params(message, &path, "minimum", &Value::from(least)))
        }
        _ => {
            let message = format!("`{name}` must be of type integer");
            Err(error::invalid_params(message, &path, "type", &Value::from("integer")))
        }
    }
}
