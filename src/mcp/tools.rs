//! The tools, in the order they are listed. A new room adds one line to each of the two functions.

pub(crate) mod agents;
pub(crate) mod assistant;
pub(crate) mod codex;
pub(crate) mod popups;
pub(crate) mod prompts;

use rmcp::model::{CallToolRequestParams, CallToolResponse, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use crate::config::rooms::Room;
use crate::mcp::dialect::Revision;
use crate::mcp::{Handler, Server, error, news, trace};
use crate::trace::within;

/// Returns the tools of the handler's server as `revision` shows them.
pub(crate) async fn list(handler: &Handler, revision: Revision) -> Vec<Tool> {
    let mut tools = Vec::new();
    if handler.has(Room::Prompts) {
        tools.extend(prompts::tools(revision));
    }
    if handler.has(Room::Agents) {
        tools.extend(agents::tools(revision, &*handler.agents().await));
    }
    if handler.has(Room::Assistant) {
        tools.extend(assistant::tools(revision, &handler.app().config.assistant));
    }
    if handler.has(Room::Codex) {
        let whole = codex::tools(revision);
        tools.extend(if handler.server() == Server::All { codex::narrowed(whole) } else { whole });
    }
    if handler.has(Room::Popups) {
        tools.extend(popups::tools(revision));
    }
    tools
}

/// Calls a tool by name; what happened while the caller was away comes with the answer.
pub(crate) async fn call(
    handler: &Handler,
    revision: Revision,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let name = request.name.clone();
    let work = one(handler, revision, request, context);
    let answer = within(trace::of(&context.meta), work).await?;
    Ok(news::with_news(handler, revision, &name, context, answer).await)
}

async fn one(
    handler: &Handler,
    revision: Revision,
    mut request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let brought = popups::Brought::from(&mut request);
    let arguments = request.arguments.unwrap_or_default();
    let name = request.name.as_ref();
    if handler.has(Room::Prompts) {
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
    if handler.has(Room::Agents)
        && let Some(answer) = agents::call(handler, revision, name, &arguments, context).await
    {
        return answer;
    }
    if handler.has(Room::Assistant)
        && let Some(answer) =
            assistant::call(handler, revision, name, &arguments, brought.as_ref(), context).await
    {
        return answer;
    }
    if handler.has(Room::Popups)
        && let Some(answer) = popups::call(handler, revision, name, &arguments, brought, context).await
    {
        return answer;
    }
    if handler.has(Room::Codex)
        && let Some(answer) = codex::call(handler, revision, name, &arguments, context).await
    {
        return answer;
    }
    let message = format!("unknown tool `{}`; tools/list shows the names", error::clip(name));
    Err(error::unknown_name(revision, message))
}
