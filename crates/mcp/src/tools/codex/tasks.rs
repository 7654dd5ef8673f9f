//! A turn of Codex as a task of the protocol, for clients that accept a task instead of a result. The task is in the
//! store. It has failed if its hub ended before it; `codex-reply` continues its thread.

use rmcp::ErrorData;
use rmcp::model::{CreateTaskResult, DetailedTask, GetTaskResult, Task as Wire, TaskPayload, TaskStatus};
use serde_json::Value;

use crate::client_context::ClientContext;
use crate::error;
use crate::task_wire::{POLL_INTERVAL_MS, completed};
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_codex::event::End;
use adjutant_codex::thread::ThreadState;
use adjutant_codex::turn_handles::{PREFIX, TurnHandle, TurnStatus};
use adjutant_codex::{Error, StartedTurn};

/// Returns whether an id is the id of a turn.
pub(crate) fn is_turn(id: &str) -> bool {
    id.starts_with(PREFIX)
}

/// Returns the response to a call that became a task.
pub(super) async fn created(client: &ClientContext, turn: StartedTurn) -> Result<CreateTaskResult, Error> {
    let handle = client.app.codex.create_handle(client.caller().key, turn).await?;
    Ok(CreateTaskResult::new(wire(client, &handle)))
}

/// `tasks/get`.
pub async fn get(client: &ClientContext, id: &str) -> Result<GetTaskResult, ErrorData> {
    let handle = find(client, id).await?;
    let payload = match &handle.status {
        TurnStatus::Open => TaskPayload::Working,
        TurnStatus::Withdrawn => TaskPayload::Cancelled,
        TurnStatus::Lost => match serde_json::to_value(error::lost(lost_message(&handle))) {
            Ok(Value::Object(error)) => TaskPayload::Failed { error },
            Ok(_) | Err(_) => return Err(error::internal()),
        },
        TurnStatus::Ended(last) if last.end == End::Interrupted => TaskPayload::Cancelled,
        TurnStatus::Ended(last) => {
            completed(&super::result::turn_result(&handle.thread, Some(last.clone())))?
        }
    };
    Ok(GetTaskResult::new(DetailedTask::new(wire(client, &handle), payload)))
}

/// `tasks/cancel`: withdraws the prompt, or ends its turn.
pub async fn cancel(client: &ClientContext, id: &str) -> Result<(), ErrorData> {
    let handle = find(client, id).await?;
    if matches!(handle.status, TurnStatus::Open) {
        // The turn may have ended meanwhile.
        let _ = client.app.codex.cancel_handle(&handle).await;
    }
    Ok(())
}

/// `tasks/update`: a turn asks its client nothing, so an update of its task is accepted and ignored.
pub async fn update(client: &ClientContext, id: &str) -> Result<(), ErrorData> {
    find(client, id).await.map(drop)
}

async fn find(client: &ClientContext, id: &str) -> Result<TurnHandle, ErrorData> {
    let handle = client.app.codex.handle(&client.caller().key, id).await.map_err(|error| {
        tracing::error!(%error, "a turn could not be looked up");
        error::internal()
    })?;
    handle.ok_or_else(|| ErrorData::invalid_params(format!("there is no task `{}`", error::clip(id)), None))
}

/// Returns the advice about a turn that the hub did not see end.
fn lost_message(handle: &TurnHandle) -> String {
    format!(
        "the hub stopped before this turn ended, so what it did last is not known; its thread is kept: call codex-reply \
         with threadId {} and ask what was done, or for the rest",
        handle.thread
    )
}

fn wire(client: &ClientContext, handle: &TurnHandle) -> Wire {
    let at = |millis: i64| stamp(instant(millis));
    let (status, text) = match &handle.status {
        TurnStatus::Open => {
            let state = client.app.codex.session(&handle.thread).map(|session| session.thread().state());
            let asks = state == Some(ThreadState::Asking);
            (TaskStatus::Working, if asks { "waits for the user" } else { "running" })
        }
        TurnStatus::Withdrawn => (TaskStatus::Cancelled, "taken back"),
        TurnStatus::Lost => (TaskStatus::Failed, "the hub stopped before its end"),
        TurnStatus::Ended(last) => (TaskStatus::Completed, last.end.name()),
    };
    let mut wire = Wire::new(handle.id.as_str(), status, at(handle.created_at), at(handle.updated_at));
    wire.poll_interval_ms = Some(POLL_INTERVAL_MS);
    wire.status_message = Some(format!("{text}; thread {}", handle.thread));
    wire
}
