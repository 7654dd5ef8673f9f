//! `list_agents` and `delegate_task` of the contract, and for newer clients the tools that follow tasks and delegate
//! many of them at once.

mod arguments;
mod delegate_many;
mod delegate_task;
mod names;
mod result;
mod schemas;
mod tasks;

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult};
use serde_json::{Map, Value, json};

use super::definition::{structured, with_problems};
use crate::call_context::CallContext;
use crate::protocol_version::Revision;
use adjutant_agents::catalogue::Catalogue;
use names::{CANCEL, GET, LIST, MANY, WAIT};
pub(crate) use names::{DELEGATE, TASKS};
use result::CallError;
pub(crate) use result::{ended_task, task_result};
pub use schemas::tools;

/// Calls a tool of this toolset; `None` if no tool has this name at this revision.
pub async fn call(
    call: &CallContext<'_>,
    name: &str,
    arguments: &Map<String, Value>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let contract = call.revision == Revision::V2024_11_05;
    let response = match name {
        LIST => Ok(list(&*call.client.agents().await, call.revision).into()),
        DELEGATE => delegate_task::call(call, arguments).await,
        MANY if !contract => delegate_many::call(call, arguments).await.map(CallToolResponse::from),
        GET if !contract => tasks::get(call, arguments).await.map(CallToolResponse::from),
        WAIT if !contract => tasks::wait(call, arguments).await.map(CallToolResponse::from),
        TASKS if !contract => tasks::list(call, arguments).await.map(CallToolResponse::from),
        CANCEL if !contract => tasks::cancel(call, arguments).await.map(CallToolResponse::from),
        _ => return None,
    };
    Some(response.or_else(|error| match error {
        CallError::Argument(error) => error.answer(call.revision),
        CallError::Domain(error) => Ok(result::failed_call(&error).into()),
    }))
}

fn list(catalogue: &Catalogue, revision: Revision) -> CallToolResult {
    let contract = revision == Revision::V2024_11_05;
    let agents = catalogue.agents.values().map(|agent| {
        let mut entry = json!({"name": agent.name, "description": agent.description});
        if !contract {
            entry["permission"] = Value::from(agent.permission.name());
            if let Some(model) = &agent.model {
                entry["model"] = Value::from(model.as_str());
            }
        }
        entry
    });
    let mut result = structured(json!({"agents": agents.collect::<Vec<_>>()}));
    if contract {
        result.structured_content = None;
    }
    with_problems(result, &catalogue.problems)
}
