//! `list_agents` and `delegate_task` of the contract, and beside them what a newer client gets: handles for tasks
//! that take longer than it waits, and many tasks at once.

mod answer;
mod arguments;
mod delegate;
mod many;
mod patience;
mod schemas;
mod tasks;

use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, MetaObject};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

use crate::agents::catalogue::Catalogue;
use crate::mcp::Handler;
use crate::mcp::dialect::Revision;
pub(crate) use answer::{of_task, told};
pub(crate) use patience::{Progress, given_up, waits};
pub(crate) use schemas::tools;

pub(crate) const LIST: &str = "list_agents";
pub(crate) const DELEGATE: &str = "delegate_task";
pub(crate) const MANY: &str = "delegate_many";
pub(crate) const GET: &str = "task_get";
pub(crate) const WAIT: &str = "task_wait";
pub(crate) const TASKS: &str = "task_list";
pub(crate) const CANCEL: &str = "task_cancel";

/// How many files that were left out one answer names.
const PROBLEMS: usize = 100;

/// Calls one of the room's tools; `None` when `name` is none of them at this revision.
pub(crate) async fn call(
    handler: &Handler,
    revision: Revision,
    name: &str,
    arguments: &Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let contract = revision == Revision::V2024_11_05;
    Some(match name {
        LIST => Ok(list(&*handler.agents().await, revision).into()),
        DELEGATE => delegate::one(handler, revision, arguments, context).await,
        MANY if !contract => many::call(handler, revision, arguments, context).await,
        GET if !contract => tasks::get(handler, revision, arguments, context).await,
        WAIT if !contract => tasks::wait(handler, revision, arguments, context).await,
        TASKS if !contract => tasks::list(handler, revision, arguments).await,
        CANCEL if !contract => tasks::cancel(handler, revision, arguments, context).await,
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
    let mut result = answer::plain(vec![ContentBlock::text(value.to_string())]);
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
