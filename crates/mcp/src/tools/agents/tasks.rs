//! `task_get`, `task_wait`, `task_list` and `task_cancel`: the tasks of the caller.

use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use super::result::{CallError, task_result};
use crate::arguments::{ArgumentError, choice, integer, required_string, string};
use crate::call_context::CallContext;
use crate::call_timeout::{MAX_WAIT, OnCancel, wait_for_task};
use crate::tools::definition;
use adjutant_agents::task::{Filter, State};
use adjutant_agents::{Error, Task, TaskId, Viewer};
use adjutant_base::text::timefmt::{instant, stamp};

/// The names of a task's states.
pub(super) const STATES: [&str; 6] = ["queued", "running", "succeeded", "failed", "cancelled", "lost"];

/// Maximum tasks on one page.
pub(super) const MAX_PAGE: u32 = 100;

/// Recent events in a result.
const RECENT_EVENTS: u32 = 10;

/// Time for a cancelled task to end before the result says that it is being cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// Shows a task.
pub(super) async fn get(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResult, CallError> {
    let id = parse_id(required_string(arguments, "task_id")?)?;
    let (agents, viewer) = (&call.client.app.agents, Viewer::Caller(call.client.caller()));
    let task = agents.get(&viewer, &id).await?;
    let mut result = task_result(&task, call.revision);
    if !task.state.is_ended() {
        let events = agents.events_before(&viewer, &id, None, RECENT_EVENTS).await?;
        let lines: Vec<String> = events.iter().map(|event| event.kind.line()).collect();
        if !lines.is_empty() {
            result.content.push(ContentBlock::text(format!("Lately:\n{}", lines.join("\n"))));
            if let Some(Value::Object(members)) = &mut result.structured_content {
                members.insert("activity".to_owned(), Value::from(lines));
            }
        }
    }
    call.client.mark_delivered(&task, call.request).await;
    Ok(result)
}

/// Waits for a task. The task continues when the client cancels the call.
pub(super) async fn wait(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResult, CallError> {
    let id = required_string(arguments, "task_id")?;
    let seconds = integer(arguments, "seconds", 1)?;
    let _waiting = call.client.app.waiters.register([id.to_owned()]);
    let default = call.client.app.config.delegation.wait_timeout;
    let limit = seconds.map_or(default, |seconds| Duration::from_secs(seconds).min(MAX_WAIT));
    let task = wait_for_task(call, &parse_id(id)?, Some(limit), OnCancel::LeaveTask).await?;
    call.client.mark_delivered(&task, call.request).await;
    Ok(task_result(&task, call.revision))
}

/// Cancels a task.
pub(super) async fn cancel(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResult, CallError> {
    let id = parse_id(required_string(arguments, "task_id")?)?;
    let (agents, viewer) = (&call.client.app.agents, Viewer::Caller(call.client.caller()));
    agents.cancel(&viewer, &id).await?;
    let task = agents.wait(&viewer, &id, CANCEL_TIMEOUT).await?;
    call.client.mark_delivered(&task, call.request).await;
    let mut result = task_result(&task, call.revision);
    // The cancelled task is what the caller asked for, so it is not an error.
    result.is_error = None;
    Ok(result)
}

/// Lists the caller's tasks.
pub(super) async fn list(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResult, CallError> {
    let state = choice(arguments, "state", &STATES, |name| name)?.and_then(State::from_name);
    let limit = integer(arguments, "limit", 1)?.unwrap_or(u64::from(MAX_PAGE)).min(u64::from(MAX_PAGE));
    let unknown = |_| ArgumentError::new("cursor", "is not a known cursor", "pattern", "^[0-9]+$");
    let before = string(arguments, "cursor", false)?.map(|text| text.parse::<i64>().map_err(unknown));
    let (caller, agents) = (call.client.caller(), &call.client.app.agents);
    let filter = Filter { states: state.into_iter().collect(), ..Filter::default() };
    let limit = u32::try_from(limit).unwrap_or(MAX_PAGE);
    // Read in this order, so that a task that the page shows as ended is among the unfetched ones.
    let page = agents.list(&Viewer::Caller(caller.clone()), filter, before.transpose()?, limit).await?;
    let unfetched = agents.undelivered(&caller, MAX_PAGE).await?;
    let mut value = json!({
        "tasks": page.tasks.iter().map(row).collect::<Vec<_>>(),
        "total": page.total,
        "unfetched": unfetched.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(),
    });
    if let Some(next) = page.next {
        value["next"] = Value::from(next.to_string());
    }
    Ok(definition::structured(value))
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

/// Parses the id of a task. Text that cannot be an id is an unknown task like any other.
fn parse_id(id: &str) -> Result<TaskId, Error> {
    TaskId::parse(id).ok_or_else(|| Error::UnknownTask { id: crate::error::clip(id) })
}
