//! Tasks of the Tasks extension (`io.modelcontextprotocol/tasks`) in their wire format.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, CreateTaskResult, Task as Wire, TaskPayload, TaskStatus};
use serde_json::Value;

use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::error;
use crate::protocol_version::Revision;
use adjutant_agents::Task;
use adjutant_agents::task::State;
use adjutant_base::text::timefmt::{instant, stamp};

/// Interval at which a client should call `tasks/get`, in milliseconds.
pub(crate) const POLL_INTERVAL_MS: u64 = 2000;

/// Returns whether the client of a call accepts a task instead of a result.
pub(crate) fn accepts_tasks(call: &CallContext<'_>) -> bool {
    call.revision == Revision::V2026_07_28
        && call.request.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

/// Returns the payload of a task that has a result. An agent that failed is a result with `isError`, which the
/// extension counts as completed.
pub(crate) fn completed(result: &CallToolResult) -> Result<TaskPayload, ErrorData> {
    match serde_json::to_value(result) {
        Ok(Value::Object(result)) => Ok(TaskPayload::Completed { result }),
        Ok(_) | Err(_) => Err(error::internal()),
    }
}

/// Returns the response to a call that became a task. The task is in the store already.
pub(crate) fn created(client: &ClientContext, task: &Task) -> CreateTaskResult {
    CreateTaskResult::new(agent_task(client, task))
}

/// Returns a delegated task in its wire format.
pub(crate) fn agent_task(client: &ClientContext, task: &Task) -> Wire {
    let at = |millis: i64| stamp(instant(millis));
    let updated = task.ended_at.or(task.started_at).unwrap_or(task.created_at);
    // The payload sets the status where there is one.
    let status = if task.state.is_ended() { TaskStatus::Completed } else { TaskStatus::Working };
    let mut wire = Wire::new(task.id.as_str(), status, at(task.created_at), at(updated));
    let keep = client.app.config.delegation.keep_delivered.as_millis();
    wire.ttl_ms = Some(u64::try_from(keep).unwrap_or(u64::MAX));
    wire.poll_interval_ms = Some(POLL_INTERVAL_MS);
    wire.status_message = Some(match (task.state, task.position) {
        (State::Queued, Some(position)) => match &task.waiting_reason {
            Some(reason) => format!("queued, position {position}: {reason}"),
            None => format!("queued, position {position}"),
        },
        (State::Running, _) => format!("runs on {}", task.runner),
        (state, _) => state.as_str().to_owned(),
    });
    wire
}
