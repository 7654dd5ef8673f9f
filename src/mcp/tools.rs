//! The tools, in the order they are listed. A new room adds one line to each of the two functions.

pub(crate) mod agents;
pub(crate) mod assistant;
pub(crate) mod codex;
pub(crate) mod popups;
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
        tools.extend(assistant::tools(revision, &handler.app().config.assistant));
    }
    if server.has_codex() {
        tools.extend(codex::tools(revision));
    }
    if server.has_popups() {
        tools.extend(popups::tools(revision));
    }
    tools
}

/// Calls a tool by name; what the person answered to an earlier call, that nobody waited for, comes with the answer.
pub(crate) async fn call(
    handler: &Handler,
    revision: Revision,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let answer = one(handler, revision, request, context).await?;
    Ok(popups::with_late_answers(handler, revision, context, answer).await)
}

async fn one(
    handler: &Handler,
    revision: Revision,
    mut request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let brought = popups::Brought::from(&mut request);
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
        && let Some(answer) = assistant::call(handler, revision, name, &arguments, context).await
    {
        return answer.map(CallToolResponse::from);
    }
    if server.has_popups()
        && let Some(answer) = popups::call(handler, revision, name, &arguments, brought, context).await
    {
        return answer;
    }
    if server.has_codex()
        && let Some(answer) = codex::call(handler, revision, name, &arguments, context).await
    {
        return answer.map(CallToolResponse::from);
    }
    let message = format!("unknown tool `{}`; tools/list shows the names", error::clip(name));
    Err(error::unknown_name(revision, message))
}
