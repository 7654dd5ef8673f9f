//! `task_get`, `task_wait`, `task_list` and `task_cancel`: a caller's own tasks, and nobody else's.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, ContentBlock};
use serde_json::{Map, Value, json};

use super::result;
use crate::arguments::{Fault, choice, integer, string};
use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::protocol_version::Revision;
use crate::wait;
use crate::wait::{MAX_WAIT, OnCancel};
use adjutant_agents::task::{Filter, State};
use adjutant_agents::{Error, Task, TaskId, Viewer};
use adjutant_base::text::timefmt::{instant, stamp};

/// The words for where a task stands.
pub(super) const STATES: [&str; 6] = ["queued", "running", "succeeded", "failed", "cancelled", "lost"];

/// Most tasks on one page.
pub(super) const MAX_PAGE: u32 = 100;

/// Recent events in an answer.
const RECENT_EVENTS: u32 = 10;

/// How long a cancelled task may take to be gone before the answer says that it is on its way.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// Shows a task.
pub(super) async fn get(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResponse, ErrorData> {
    let id = match id(arguments) {
        Ok(id) => id,
        Err(fault) => return fault.answer(call.revision).map(CallToolResponse::from),
    };
    let viewer = Viewer::Caller(call.client.caller());
    let agents = &call.client.app.agents;
    let look = async {
        let id = known(&id)?;
        let task = agents.get(&viewer, &id).await?;
        let mut lately = Vec::new();
        if !task.state.is_ended() {
            let fresh = agents.events_before(&viewer, &id, None, RECENT_EVENTS).await?;
            lately.extend(fresh.iter().map(|event| event.kind.line()));
        }
        Ok((task, lately))
    };
    let (task, lately) = match look.await {
        Ok(found) => found,
        Err(error) => return Ok(result::refused(&error)),
    };
    let mut result = result::of_task(&task, call.revision);
    if !lately.is_empty() {
        result.content.push(ContentBlock::text(format!("Lately:\n{}", lately.join("\n"))));
        if let Some(Value::Object(members)) = &mut result.structured_content {
            members.insert("activity".to_owned(), Value::from(lately));
        }
    }
    call.client.delivered(&task, &call.request.ct).await;
    Ok(result.into())
}

/// Waits for a task; a client that cancels the wait lets the task go on.
pub(super) async fn wait(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResponse, ErrorData> {
    let read = || Ok::<_, Fault>((id(arguments)?, integer(arguments, "seconds", 1)?));
    let (id, seconds) = match read() {
        Ok(read) => read,
        Err(fault) => return fault.answer(call.revision).map(CallToolResponse::from),
    };
    let _waiting = call.client.app.waiters.register([id.clone()]);
    let usual = call.client.app.config.delegation.patience;
    let patience = seconds.map_or(usual, |seconds| Duration::from_secs(seconds).min(MAX_WAIT));
    let waited = async { wait::wait(call, &known(&id)?, Some(patience), OnCancel::LeaveTask).await };
    match waited.await {
        Ok(task) => {
            call.client.delivered(&task, &call.request.ct).await;
            Ok(result::of_task(&task, call.revision).into())
        }
        Err(error) => Ok(result::refused(&error)),
    }
}

/// Cancels a task.
pub(super) async fn cancel(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResponse, ErrorData> {
    let id = match id(arguments) {
        Ok(id) => id,
        Err(fault) => return fault.answer(call.revision).map(CallToolResponse::from),
    };
    let viewer = Viewer::Caller(call.client.caller());
    let agents = &call.client.app.agents;
    let cancelled = async {
        let id = known(&id)?;
        agents.cancel(&viewer, &id).await?;
        agents.wait(&viewer, &id, CANCEL_TIMEOUT).await
    };
    match cancelled.await {
        Ok(task) => {
            let mut result = result::of_task(&task, call.revision);
            // That it was cancelled is what was asked for.
            result.is_error = None;
            call.client.delivered(&task, &call.request.ct).await;
            Ok(result.into())
        }
        Err(error) => Ok(result::refused(&error)),
    }
}

/// Lists the caller's tasks.
pub(super) async fn list(
    client: &ClientContext,
    revision: Revision,
    arguments: &Map<String, Value>,
) -> Result<CallToolResponse, ErrorData> {
    let read = || {
        let state = choice(arguments, "state", &STATES, |word| word)?.and_then(State::from_name);
        let limit = integer(arguments, "limit", 1)?
            .map_or(MAX_PAGE, |limit| u32::try_from(limit).unwrap_or(MAX_PAGE));
        let before = match string(arguments, "cursor", false)? {
            None => None,
            Some(text) => Some(text.parse::<i64>().map_err(|_| Fault {
                message: "argument `cursor` is not a known cursor".to_owned(),
                path: vec!["cursor".to_owned()],
                validator: "pattern",
                validator_value: Value::from("^[0-9]+$"),
            })?),
        };
        Ok::<_, Fault>((state, limit.min(MAX_PAGE), before))
    };
    let (state, limit, before) = match read() {
        Ok(read) => read,
        Err(fault) => return fault.answer(revision).map(CallToolResponse::from),
    };
    let caller = client.caller();
    let agents = &client.app.agents;
    let filter = Filter { states: state.into_iter().collect(), ..Filter::default() };
    let listed = async {
        // In this order, what the page shows as ended stands among the unfetched.
        let page = agents.list(&Viewer::Caller(caller.clone()), filter, before, limit).await?;
        let unfetched = agents.undelivered(&caller, MAX_PAGE).await?;
        Ok::<_, Error>((page, unfetched))
    };
    let (page, unfetched) = match listed.await {
        Ok(listed) => listed,
        Err(error) => return Ok(result::refused(&error)),
    };
    let mut value = json!({
        "tasks": page.tasks.iter().map(row).collect::<Vec<_>>(),
        "total": page.total,
        "unfetched": unfetched.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(),
    });
    if let Some(next) = page.next {
        value["next"] = Value::from(next.to_string());
    }
    let mut result = result::plain(vec![ContentBlock::text(value.to_string())]);
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
    TaskId::parse(id).ok_or_else(|| Error::UnknownTask { id: crate::error::clip(id) })
}
