//! `task_get`, `task_wait`, `task_list` and `task_cancel`: a caller's own tasks, and nobody else's.

use std::time::Duration;

use rmcp::model::{CallToolResponse, ContentBlock};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

use super::answer;
use super::patience::{self, LONGEST, OnCancel};
use crate::agents::task::{Filter, State};
use crate::agents::{Error, Task, TaskId, Viewer};
use crate::clock::{instant, stamp};
use crate::mcp::Handler;
use crate::mcp::arguments::{Fault, choice, integer, string};
use crate::mcp::dialect::Revision;

/// The words for where a task stands.
pub(super) const STATES: [&str; 6] = ["queued", "running", "succeeded", "failed", "cancelled", "lost"];

/// Most tasks on one page.
pub(super) const PAGE: u32 = 100;

/// How much of what happened lately is told.
const LATELY: u32 = 10;

/// How long a cancelled task may take to be gone before the answer says that it is on its way.
const ENDING: Duration = Duration::from_secs(10);

/// Shows a task.
pub(super) async fn get(
    handler: &Handler,
    revision: Revision,
    arguments: &Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let id = match id(arguments) {
        Ok(id) => id,
        Err(fault) => return fault.answer(revision).map(CallToolResponse::from),
    };
    let viewer = Viewer::Caller(handler.caller());
    let agents = &handler.app().agents;
    let look = async {
        let id = known(&id)?;
        let task = agents.get(&viewer, &id).await?;
        let mut lately = Vec::new();
        if !task.state.is_ended() {
            let fresh = agents.happened_before(&viewer, &id, None, LATELY).await?;
            lately.extend(fresh.iter().map(|happened| happened.what.line()));
        }
        Ok((task, lately))
    };
    let (task, lately) = match look.await {
        Ok(found) => found,
        Err(error) => return Ok(answer::refused(&error)),
    };
    let mut result = answer::of_task(&task, revision);
    if !lately.is_empty() {
        result.content.push(ContentBlock::text(format!("Lately:\n{}", lately.join("\n"))));
        if let Some(Value::Object(members)) = &mut result.structured_content {
            members.insert("activity".to_owned(), Value::from(lately));
        }
    }
    handler.delivered(&task, &context.ct).await;
    Ok(result.into())
}

/// Waits for a task; a client that cancels the wait lets the task go on.
pub(super) async fn wait(
    handler: &Handler,
    revision: Revision,
    arguments: &Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let read = || Ok::<_, Fault>((id(arguments)?, integer(arguments, "seconds", 1)?));
    let (id, seconds) = match read() {
        Ok(read) => read,
        Err(fault) => return fault.answer(revision).map(CallToolResponse::from),
    };
    let _waiting = handler.app().awaited.enter([id.clone()]);
    let usual = handler.app().config.delegation.patience;
    let patience = seconds.map_or(usual, |seconds| Duration::from_secs(seconds).min(LONGEST));
    let waited =
        async { patience::wait(handler, context, &known(&id)?, Some(patience), OnCancel::LeaveTask).await };
    match waited.await {
        Ok(task) => {
            handler.delivered(&task, &context.ct).await;
            Ok(answer::of_task(&task, revision).into())
        }
        Err(error) => Ok(answer::refused(&error)),
    }
}

/// Cancels a task.
pub(super) async fn cancel(
    handler: &Handler,
    revision: Revision,
    arguments: &Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let id = match id(arguments) {
        Ok(id) => id,
        Err(fault) => return fault.answer(revision).map(CallToolResponse::from),
    };
    let viewer = Viewer::Caller(handler.caller());
    let agents = &handler.app().agents;
    let cancelled = async {
        let id = known(&id)?;
        agents.cancel(&viewer, &id).await?;
        agents.wait(&viewer, &id, ENDING).await
    };
    match cancelled.await {
        Ok(task) => {
            let mut result = answer::of_task(&task, revision);
            // That it was cancelled is what was asked for.
            result.is_error = None;
            handler.delivered(&task, &context.ct).await;
            Ok(result.into())
        }
        Err(error) => Ok(answer::refused(&error)),
    }
}

/// Lists the caller's tasks.
pub(super) async fn list(
    handler: &Handler,
    revision: Revision,
    arguments: &Map<String, Value>,
) -> Result<CallToolResponse, ErrorData> {
    let read = || {
        let state = choice(arguments, "state", &STATES, |word| word)?.and_then(State::from_name);
        let limit =
            integer(arguments, "limit", 1)?.map_or(PAGE, |limit| u32::try_from(limit).unwrap_or(PAGE));
        let before = match string(arguments, "cursor", false)? {
            None => None,
            Some(text) => Some(text.parse::<i64>().map_err(|_| Fault {
                message: "argument `cursor` is no cursor of ours".to_owned(),
                path: vec!["cursor".to_owned()],
                validator: "pattern",
                validator_value: Value::from("^[0-9]+$"),
            })?),
        };
        Ok::<_, Fault>((state, limit.min(PAGE), before))
    };
    let (state, limit, before) = match read() {
        Ok(read) => read,
        Err(fault) => return fault.answer(revision).map(CallToolResponse::from),
    };
    let caller = handler.caller();
    let agents = &handler.app().agents;
    let filter = Filter { states: state.into_iter().collect(), ..Filter::default() };
    let listed = async {
        // In this order, what the page shows as ended stands among the unfetched.
        let page = agents.list(&Viewer::Caller(caller.clone()), filter, before, limit).await?;
        let unfetched = agents.undelivered(&caller, PAGE).await?;
        Ok::<_, Error>((page, unfetched))
    };
    let (page, unfetched) = match listed.await {
        Ok(listed) => listed,
        Err(error) => return Ok(answer::refused(&error)),
    };
    let mut value = json!({
        "tasks": page.tasks.iter().map(row).collect::<Vec<_>>(),
        "total": page.total,
        "unfetched": unfetched.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(),
    });
    if let Some(next) = page.next {
        value["next"] = Value::from(next.to_string());
    }
    let mut result = answer::plain(vec![ContentBlock::text(value.to_string())]);
    result.structured_content = Some(value);
    Ok(result.into())
}

fn row(task: &Task) -> Value {
    let at = |millis: i64| stamp(instant(millis));
    let mut row = json!({
        "task_id": task.id.as_str(),
        "agent": task.agent,
        "task": task.text,
        "status": task.state.as_str(),
        "created_at": at(task.created_at),
    });
    if let Some(ended) = task.ended_at {
        row["ended_at"] = Value::from(at(ended));
    }
    row
}

fn id(arguments: &Map<String, Value>) -> Result<String, Fault> {
    Ok(string(arguments, "task_id", true)?.unwrap_or_default().to_owned())
}

/// A text that can be no task's name is an unknown task like any other.
fn known(id: &str) -> Result<TaskId, Error> {
    TaskId::parse(id).ok_or_else(|| Error::UnknownTask { id: crate::mcp::error::clip(id) })
}
