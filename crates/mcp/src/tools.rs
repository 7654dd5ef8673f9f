//! Dispatcher of the tools. A new toolset adds a few lines to each of [`list`] and [`dispatch`].

pub mod agents;
pub mod assistant;
pub mod codex;
mod definition;
pub mod prompts;
pub mod questions;

use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, Tool};

use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::error;
use crate::input_required::InputResponse;
use crate::protocol_version::Revision;
use crate::toolset::ToolsetSelection;
use crate::undelivered;
use adjutant_base::config::toolsets::Toolset;

/// Sentences for the descriptions of tools that a model may confuse: a tool, a tool of another toolset, and the
/// sentence that the first one gets where the client has both.
const CHOICES: [(&str, &str, &str); 2] = [
    (codex::START, agents::DELEGATE, "For one whole task, call delegate_task."),
    (agents::DELEGATE, codex::START, "For a conversation with Codex, call codex."),
];

/// Returns the tools of a client as `revision` shows them.
pub async fn list(client: &ClientContext, revision: Revision) -> Vec<Tool> {
    let mut tools = Vec::new();
    if client.has(Toolset::Prompts) {
        tools.extend(prompts::tools(revision));
    }
    if client.has(Toolset::Agents) {
        tools.extend(agents::tools(revision, &*client.agents().await));
    }
    if client.has(Toolset::Assistant) {
        tools.extend(assistant::tools(revision, &client.app.config.assistant));
    }
    if client.has(Toolset::Codex) {
        let all = codex::tools(revision, &client.app.codex);
        tools.extend(if client.selection == ToolsetSelection::All { codex::restrict(all) } else { all });
    }
    if client.has(Toolset::Questions) {
        tools.extend(questions::tools(revision));
    }
    for (name, other, sentence) in CHOICES {
        let has = |tool: &str| tools.iter().any(|one| one.name == tool);
        if revision > Revision::V2024_11_05 && has(other) {
            for tool in tools.iter_mut().filter(|tool| tool.name == name) {
                tool.description = tool.description.take().map(|text| format!("{text} {sentence}").into());
            }
        }
    }
    tools
}

/// Calls a tool by name, and appends undelivered answers to its result.
pub async fn call(
    call: &CallContext<'_>,
    request: CallToolRequestParams,
) -> Result<CallToolResponse, ErrorData> {
    let name = request.name.clone();
    let workspace = request.arguments.as_ref().and_then(|arguments| arguments.get("workspacePath")?.as_str());
    let workspace = call.client.folder_here(workspace.unwrap_or_default()).unwrap_or_default();
    let answer = dispatch(call, request).await?;
    Ok(undelivered::append_undelivered(call, &name, &workspace, answer).await)
}

/// The futures of the larger toolsets are boxed: inline they would add 18 kB to every call, which each layer above moves.
async fn dispatch(
    call: &CallContext<'_>,
    mut request: CallToolRequestParams,
) -> Result<CallToolResponse, ErrorData> {
    let response = InputResponse::extract(&mut request);
    let arguments = request.arguments.unwrap_or_default();
    let name = request.name.as_ref();
    if call.client.has(Toolset::Prompts) {
        match name {
            prompts::LIST => return Ok(prompts::list(call).await.into()),
            prompts::EXPAND => {
                return prompts::expand(call, &arguments).await.map(CallToolResponse::from);
            }
            _ => {}
        }
    }
    if call.client.has(Toolset::Agents)
        && let Some(answer) = Box::pin(agents::call(call, name, &arguments)).await
    {
        return answer;
    }
    if call.client.has(Toolset::Assistant)
        && let Some(answer) = Box::pin(assistant::call(call, name, &arguments, response.as_ref())).await
    {
        return answer;
    }
    if call.client.has(Toolset::Questions)
        && let Some(answer) = Box::pin(questions::call(call, name, &arguments, response)).await
    {
        return answer;
    }
    if call.client.has(Toolset::Codex)
        && let Some(answer) = Box::pin(codex::call(call, name, &arguments)).await
    {
        return answer;
    }
    let message = format!("unknown tool `{}`; tools/list shows the names", error::clip(name));
    Err(error::unknown_name(call.revision, message))
}
