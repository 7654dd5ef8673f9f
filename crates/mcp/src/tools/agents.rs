//! `list_agents` and `delegate_task` of the contract, and beside them what a newer client gets: handles for tasks
//! that take longer than it waits, and many tasks at once.

mod arguments;
mod delegate_many;
mod delegate_task;
mod names;
mod result;
mod schemas;
mod tasks;

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, MetaObject};
use serde_json::{Map, Value, json};

use crate::call_context::CallContext;
use crate::protocol_version::Revision;
use adjutant_agents::catalogue::Catalogue;
pub(crate) use names::TASKS;
use names::{CANCEL, DELEGATE, GET, LIST, MANY, WAIT};
pub(crate) use result::of_task;
pub use result::told;
pub use schemas::tools;

/// How many files that were left out one answer names.
const PROBLEMS: usize = 100;

/// Calls a tool of this toolset; `None` if no tool has this name at this revision.
pub async fn call(
    call: &CallContext<'_>,
    name: &str,
    arguments: &Map<String, Value>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let contract = call.revision == Revision::V2024_11_05;
    Some(match name {
        LIST => Ok(list(&*call.client.agents().await, call.revision).into()),
        DELEGATE => delegate_task::one(call, arguments).await,
        MANY if !contract => delegate_many::call(call, arguments).await,
        GET if !contract => tasks::get(call, arguments).await,
        WAIT if !contract => tasks::wait(call, arguments).await,
        TASKS if !contract => tasks::list(call.client, call.revision, arguments).await,
        CANCEL if !contract => tasks::cancel(call, arguments).await,
        _ => return None,
    })
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
    let value = json!({"agents": agents.collect::<Vec<_>>()});
    let mut result = result::plain(vec![ContentBlock::text(value.to_string())]);
    if !contract {
        result.structured_content = Some(value);
    }
    if !catalogue.problems.is_empty() {
        let problems = catalogue.problems.iter().take(PROBLEMS);
        let problems: Vec<Value> = problems
            .map(|problem| json!({"file": problem.source.relative, "problem": problem.message}))
            .collect();
        let mut meta = MetaObject::default();
        meta.0.insert("adjutant/problems".to_owned(), Value::from(problems));
        result.meta = Some(meta);
    }
    result
}
