//! The Tasks extension of 2026-07-28 (`io.modelcontextprotocol/tasks`): a delegation, a question to the person, or a
//! turn of Codex is a task of the protocol, kept in the store, so it is there again after a reconnect and after a
//! restart of the hub.

use rmcp::model::{
    CreateTaskResult, DetailedTask, GetTaskResult, Task as Wire, TaskPayload, TaskStatus, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use crate::agents::task::{Ending, State};
use crate::agents::{Error, Task, TaskId, Viewer};
use crate::clock::{instant, stamp};
use crate::config::rooms::Room;
use crate::mcp::dialect::Revision;
use crate::mcp::tools::agents::of_task;
use crate::mcp::tools::{codex, popups};
use crate::mcp::{Handler, error};
use crate::popups::Ticket;

/// How often a client should ask again, in milliseconds.
const POLL: u64 = 2000;

/// Whether the client of a request takes a task in the place of a result.
pub(crate) fn declared(revision: Revision, context: &RequestContext<RoleServer>) -> bool {
    revision == Revision::V2026_07_28
        && context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

/// The answer to a call that became a task. The task is in the store already.
pub(crate) fn created(handler: &Handler, task: &Task) -> CreateTaskResult {
    CreateTaskResult::new(wire(handler, task))
}

/// `tasks/get`.
pub(crate) async fn get(
    handler: &Handler,
    id: &str,
    context: &RequestContext<RoleServer>,
) -> Result<GetTaskResult, ErrorData> {
    if let Some(ticket) = question(handler, id) {
        return popups::get(handler, &ticket, context).await;
    }
    if codex::is_turn(id) {
        return codex::get(handler, id).await;
    }
    let task = find(handler, id).await?;
    let payload = match task.state {
        State::Queued | State::Running => TaskPayload::Working,
        State::Ended(Ending::Cancelled) => TaskPayload::Cancelled,
        // An agent that failed is a result with `isError`, which the extension counts as completed.
        State::Ended(Ending::Succeeded | Ending::Failed | Ending::Lost) => {
            let result = serde_json::to_value(of_task(&task, Revision::V2026_07_28));
            match result {
                Ok(Value::Object(result)) => TaskPayload::Completed { result },
                Ok(_) | Err(_) => return Err(error::internal()),
            }
        }
    };
    handler.delivered(&task, &context.ct).await;
    Ok(GetTaskResult::new(DetailedTask::new(wire(handler, &task), payload)))
}

/// `tasks/cancel`: asks for the end; `tasks/get` tells when it has come.
pub(crate) async fn cancel(handler: &Handler, id: &str) -> Result<(), ErrorData> {
    if let Some(ticket) = question(handler, id) {
        return popups::cancel(handler, &ticket).await;
    }
    if codex::is_turn(id) {
        return codex::cancel(handler, id).await;
    }
    let task = find(handler, id).await?;
    let viewer = Viewer::Caller(handler.caller());
    handler.app().agents.cancel(&viewer, &task.id).await.map(drop).map_err(|fault| refused(&fault))
}

/// `tasks/update`: an agent of ours asks its client nothing, so there is nothing to answer; that is no fault.
pub(crate) async fn update(
    handler: &Handler,
    request: &UpdateTaskParams,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    if let Some(ticket) = question(handler, &request.task_id) {
        return popups::update(handler, &ticket, &request.input_responses, context).await;
    }
    if codex::is_turn(&request.task_id) {
        return codex::update(handler, &request.task_id).await;
    }
    find(handler, &request.task_id).await.map(drop)
}

/// The question that an id names: its form tells a question's ticket from a delegation's id.
fn question(handler: &Handler, id: &str) -> Option<Ticket> {
    Ticket::parse(id).filter(|_| handler.server().has(Room::Popups))
}

async fn find(handler: &Handler, id: &str) -> Result<Task, ErrorData> {
    let unknown = || Error::UnknownTask { id: error::clip(id) };
    let task = async {
        let id = TaskId::parse(id).ok_or_else(unknown)?;
        handler.app().agents.get(&Viewer::Caller(handler.caller()), &id).await
    };
    task.await.map_err(|fault| refused(&fault))
}

fn refused(fault: &Error) -> ErrorData {
    match fault {
        Error::UnknownTask { .. } => ErrorData::invalid_params(fault.to_string(), None),
        Error::Store(source) => {
            tracing::error!(error = %source, "the store failed");
            error::internal()
        }
        other => ErrorData::invalid_params(other.to_string(), None),
    }
}

fn wire(handler: &Handler, task: &Task) -> Wire {
    let at = |millis: i64| stamp(instant(millis));
    let updated = task.ended_at.or(task.started_at).unwrap_or(task.created_at);
    // The payload sets the status where there is one.
    let status = if task.state.is_ended() { TaskStatus::Completed } else { TaskStatus::Working };
    let mut wire = Wire::new(task.id.as_str(), status, at(task.created_at), at(updated));
    let keep = handler.app().config.delegation.keep_delivered.as_millis();
    wire.ttl_ms = Some(u64::try_from(keep).unwrap_or(u64::MAX));
    wire.poll_interval_ms = Some(POLL);
    wire.status_message = Some(match (task.state, task.position) {
        (State::Queued, Some(position)) => format!("queued, position {position}"),
        (State::Running, _) => format!("runs on {}", task.runner),
        (state, _) => state.as_str().to_owned(),
    });
    wire
}
