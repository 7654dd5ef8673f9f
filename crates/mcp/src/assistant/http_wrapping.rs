//! Wrapping of requests over HTTP that the contract of 2024-11-05 answers in its own form.
//!
//! rmcp passes only the results of custom methods through unchanged. Such a request is therefore wrapped in a custom
//! method before rmcp sees it, and the handler unwraps it.

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, CustomRequest, GetExtensions as _, JsonRpcMessage, RequestMetaObject,
};
use serde_json::json;

use super::contract::undeclared;
use crate::error::{self, Refusal};
use crate::protocol_version::Revision;
use crate::toolset::ToolsetSelection;
use crate::transport;
use adjutant_base::config::toolsets::Toolset;

/// The custom method. A client that sends it itself gets the error for an unknown method.
pub const METHOD: &str = "adjutant/contract";

/// Wraps a request of a client of 2024-11-05 if the contract has a form for the response.
pub fn wrap(
    selection: ToolsetSelection,
    revision: Revision,
    message: ClientJsonRpcMessage,
) -> Result<ClientJsonRpcMessage, Refusal> {
    let JsonRpcMessage::Request(request) = &message else { return Ok(message) };
    let has_form = match &request.request {
        ClientRequest::CustomRequest(custom) if custom.method == METHOD => {
            let error = error::unknown_method(METHOD);
            return Err(Refusal { id: Some(request.id.clone()), error });
        }
        ClientRequest::ReadResourceRequest(_) | ClientRequest::GetPromptRequest(_) => {
            selection.has(Toolset::Assistant)
        }
        request => selection == ToolsetSelection::Assistant && undeclared(request).is_some(),
    };
    if !has_form || revision != Revision::V2024_11_05 {
        return Ok(message);
    }
    let params = json!({"message": message});
    let custom = CustomRequest::new(METHOD, Some(params));
    Ok(JsonRpcMessage::request(ClientRequest::CustomRequest(custom), request.id.clone()))
}

/// Returns the request that [`wrap`] put into `wrapped`, with its `_meta`; `None` if there is none in it.
pub(crate) fn unwrap(wrapped: &CustomRequest) -> Option<(ClientRequest, RequestMetaObject)> {
    let text = wrapped.params.as_ref().map(|params| params["message"].to_string()).unwrap_or_default();
    let Ok(Some(JsonRpcMessage::Request(request))) = transport::read(&text) else { return None };
    let meta = request.request.extensions().get::<RequestMetaObject>().cloned().unwrap_or_default();
    Some((request.request, meta))
}
