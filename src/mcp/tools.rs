//! The tools, in the order they are listed. A new room adds one line to each of the two functions.

pub(crate) mod agents;
pub(crate) mod assistant;
pub(crate) mod prompts;

use rmcp::model::{CallToolRequestParams, CallToolResponse, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use crate::mcp::dialect::Revision;
use crate::mcp::{Handler, error};

/// Returns the tools of the handler's server as `revision` shows them.
pub(crate) async fn list(handler: &Handler, revision: Revision) -> Vec<Tool> {
    let server = handler.server();
    let mut tools = Vec::new();
    if server.has_prompts() {
        tools.extend(prompts::tools(revision));
    }
    if server.has_agents() {
        tools.extend(agents::tools(revision, &*handler.agents().await));
    }
    if server.has_assistant() {
        tools.extend(assistant::tools(revision));
    }
    tools
}

/// Calls a tool by name.
pub(crate) async fn call(
    handler: &Handler,
    revision: Revision,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    let (server, name) = (handler.server(), request.name.as_ref());
    if server.has_prompts() {
        match name {
            prompts::LIST => return Ok(prompts::list(handler, revision, context).await.into()),
            prompts::EXPAND => {
                return prompts::expand(handler, revision, &arguments, context)
                    .await
                    .map(CallToolResponse::from);
            }
            _ => {}
        }
    }
    if server.has_agents()
        && let Some(answer) = agents::call(handler, revision, name, &arguments, context).await
    {
        return answer;
    }
    if server.has_assistant()
        && let Some(answer) = assistant::call(handler, revision, name, &arguments).await
    {
        return answer.map(CallToolResponse::from);
    }
    let message = format!("unknown tool `{}`; tools/list shows the names", error::clip(name));
    Err(error::unknown_name(revision, message))
}
