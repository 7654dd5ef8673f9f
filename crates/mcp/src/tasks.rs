//! The Tasks extension of 2026-07-28 (`io.modelcontextprotocol/tasks`): a delegation, a question to the user, or a turn
//! of Codex is a task of the protocol. The store keeps it, so it survives a reconnect and a restart of the hub.

use rmcp::ErrorData;
use rmcp::model::{DetailedTask, GetTaskResult, TaskPayload, UpdateTaskParams};

use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::error;
use crate::protocol_version::Revision;
use crate::task_wire;
use crate::tools::agents::task_result;
use crate::tools::{codex, questions};

use adjutant_agents::task::{Ending, State};
use adjutant_agents::{Error, Task, TaskId, Viewer};
use adjutant_base::config::toolsets::Toolset;
use adjutant_questions::Ticket;

/// `tasks/get`.
pub async fn get(call: &CallContext<'_>, id: &str) -> Result<GetTaskResult, ErrorData> {
    if let Some(ticket) = question(call.client, id) {
        return questions::get(call, &ticket).await;
    }
    if codex::is_turn(id) {
        return codex::get(call.client, id).await;
    }
    let task = find(call.client, id).await?;
    let payload = match task.state {
        State::Queued | State::Running => TaskPayload::Working,
        State::Ended(Ending::Cancelled) => TaskPayload::Cancelled,
        State::Ended(Ending::Succeeded | Ending::Failed | Ending::Lost) => {
            task_wire::completed(&task_result(&task, Revision::V2026_07_28))?
        }
    };
    call.client.mark_delivered(&task, call.request).await;
    Ok(GetTaskResult::new(DetailedTask::new(task_wire::agent_task(call.client, &task), payload)))
}

/// `tasks/cancel`: requests the end; `tasks/get` shows whether the task has ended.
pub async fn cancel(client: &ClientContext, id: &str) -> Result<(), ErrorData> {
    if let Some(ticket) = question(client, id) {
        return questions::cancel(client, &ticket).await;
    }
    if codex::is_turn(id) {
        return codex::cancel(client, id).await;
    }
    let task = find(client, id).await?;
    let viewer = Viewer::Caller(client.caller());
    client.app.agents.cancel(&viewer, &task.id).await.map(drop).map_err(|error| to_protocol_error(&error))
}

/// `tasks/update`: an agent asks its client nothing, so an update of its task is accepted and ignored.
pub async fn update(call: &CallContext<'_>, request: &UpdateTaskParams) -> Result<(), ErrorData> {
    if let Some(ticket) = question(call.client, &request.task_id) {
        return questions::update(call, &ticket, &request.input_responses).await;
    }
    if codex::is_turn(&request.task_id) {
        return codex::update(call.client, &request.task_id).await;
    }
    find(call.client, &request.task_id).await.map(drop)
}

/// Returns the ticket of the question that an id names; a ticket and the id of a delegation differ in form.
fn question(client: &ClientContext, id: &str) -> Option<Ticket> {
    Ticket::parse(id).filter(|_| client.selection.has(Toolset::Questions))
}

async fn find(client: &ClientContext, id: &str) -> Result<Task, ErrorData> {
    let unknown = || Error::UnknownTask { id: error::clip(id) };
    let task = async {
        let id = TaskId::parse(id).ok_or_else(unknown)?;
        client.app.agents.get(&Viewer::Caller(client.caller()), &id).await
    };
    task.await.map_err(|error| to_protocol_error(&error))
}

fn to_protocol_error(error: &Error) -> ErrorData {
    match error {
        Error::Store(source) => {
            tracing::error!(error = %source, "the store failed");
            error::internal()
        }
        other => ErrorData::invalid_params(other.to_string(), None),
    }
}
