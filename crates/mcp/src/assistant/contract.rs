//! Responses in the assistant contract's form, which clients of 2024-11-05 get.

use rmcp::ErrorData;
use rmcp::model::{ClientRequest, RequestMetaObject};
use serde_json::Value;

use super::{prompts, resources};
use crate::client_context::ClientContext;
use crate::error;
use crate::protocol_version::Revision;
use crate::toolset::ToolsetSelection;
use adjutant_base::config::toolsets::Toolset;

/// Answers a request of a client of 2024-11-05 in a form that rmcp's types do not have: a `hash` next to a resource's
/// text, and messages with the role `system` and a string as their content. `None` leaves the request to the handler.
pub async fn contract(
    client: &ClientContext,
    request: &ClientRequest,
    revision: Revision,
    meta: &RequestMetaObject,
) -> Option<Result<Value, ErrorData>> {
    if !client.has(Toolset::Assistant) || revision != Revision::V2024_11_05 {
        return None;
    }
    match request {
        ClientRequest::ReadResourceRequest(request) if resources::serves(client, &request.params.uri) => {
            Some(resources::contract(client, &request.params.uri, meta).await)
        }
        ClientRequest::GetPromptRequest(request) if prompts::serves(client, &request.params.name) => {
            Some(prompts::contract(&request.params))
        }
        request if client.selection == ToolsetSelection::Assistant => {
            undeclared(request).map(|capability| Err(error::capability_not_supported(capability)))
        }
        _ => None,
    }
}

/// Returns the capability that a request needs and the contract does not declare. The contract has an error code for it.
pub(super) fn undeclared(request: &ClientRequest) -> Option<&'static str> {
    match request {
        ClientRequest::SubscribeRequest(_) | ClientRequest::UnsubscribeRequest(_) => {
            Some("resources.subscribe")
        }
        ClientRequest::SetLevelRequest(_) => Some("logging"),
        ClientRequest::CompleteRequest(_) => Some("completions"),
        _ => None,
    }
}
