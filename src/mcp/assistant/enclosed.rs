//! The contract's own shapes over HTTP, where rmcp takes handlers only: their answers have the specification's shapes,
//! but what they answer to a method that rmcp does not know goes out as it is. So the door encloses what the contract
//! answers in its own way, and the handler opens it again.

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, CustomRequest, GetExtensions as _, JsonRpcMessage,
    RequestMetaObject, ServerResult,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler as _};
use serde_json::{Value, json};

use super::{contract, undeclared};
use crate::config::rooms::Room;
use crate::mcp::dialect::Revision;
use crate::mcp::error::{self, Refusal};
use crate::mcp::{Handler, Server, edge};

/// The method of what is enclosed. A client that sends it is told that there is none.
pub(crate) const METHOD: &str = "adjutant/contract";

/// Encloses a request of a client of 2024-11-05 if the contract has a shape of its own for its answer.
pub(crate) fn enclose(
    server: Server,
    revision: Revision,
    message: ClientJsonRpcMessage,
) -> Result<ClientJsonRpcMessage, Refusal> {
    let JsonRpcMessage::Request(request) = &message else { return Ok(message) };
    let shaped = match &request.request {
        ClientRequest::CustomRequest(custom) if custom.method == METHOD => {
            let error = error::unknown_method(METHOD);
            return Err(Refusal { id: Some(request.id.clone()), error });
        }
        ClientRequest::ReadResourceRequest(_) | ClientRequest::GetPromptRequest(_) => {
            server.has(Room::Assistant)
        }
        request => server == Server::Assistant && undeclared(request).is_some(),
    };
    if !shaped || revision != Revision::V2024_11_05 {
        return Ok(message);
    }
    let params = json!({"message": message});
    let custom = CustomRequest::new(METHOD, Some(params));
    Ok(JsonRpcMessage::request(ClientRequest::CustomRequest(custom), request.id.clone()))
}

/// Answers what was enclosed: in the contract's shape, or as the handler does where the request is another room's.
pub(crate) async fn answer(
    handler: &Handler,
    enclosed: &CustomRequest,
    context: RequestContext<RoleServer>,
) -> Result<Value, ErrorData> {
    let text = enclosed.params.as_ref().map(|params| params["message"].to_string()).unwrap_or_default();
    let Ok(Some(JsonRpcMessage::Request(request))) = edge::read(&text) else {
        return Err(error::unknown_method(METHOD));
    };
    let request = request.request;
    let meta = request.extensions().get::<RequestMetaObject>().cloned().unwrap_or_default();
    if let Some(answer) = contract(handler, &request, Revision::V2024_11_05, &meta).await {
        return answer;
    }
    let answer = match request {
        ClientRequest::ReadResourceRequest(request) => {
            ServerResult::from(handler.read_resource(request.params, context).await?)
        }
        ClientRequest::GetPromptRequest(request) => {
            ServerResult::from(handler.get_prompt(request.params, context).await?)
        }
        _ => return Err(error::unknown_method(METHOD)),
    };
    serde_json::to_value(answer).map_err(|reason| {
        tracing::error!(%reason, "an answer cannot be written");
        error::internal()
    })
}
