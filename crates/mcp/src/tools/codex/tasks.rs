//! A turn as a task of the protocol, for clients that take one in the place of a result. It is in the store; one whose
//! hub went away before its end has failed, and `codex-reply` goes on in its thread.

use rmcp::ErrorData;
use rmcp::model::{CreateTaskResult, DetailedTask, GetTaskResult, Task as Wire, TaskPayload, TaskStatus};
use serde_json::Value;

use crate::client_context::ClientContext;
use crate::error;
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_codex::event::End;
use adjutant_codex::thread::ThreadState;
use adjutant_codex::turn_handles::{PREFIX, TurnHandle, TurnStatus};
use adjutant_codex::{Error, StartedTurn};

/// How often a client should ask again, in milliseconds.
const POLL: u64 = 2000;

/// Tells whether an id is one of a turn.
pub(crate) fn is_turn(id: &str) -> bool {
    id.starts_with(PREFIX)
}

/// The answer to a call that became a task.
pub(super) async fn created(client: &ClientContext, begun: StartedTurn) -> Result<CreateTaskResult, Error> {
    let handle = client.app.codex.create_handle(client.asker().key, begun).await?;
    Ok(CreateTaskResult::new(wire(client, &handle)))
}

/// `tasks/get`.
pub async fn get(client: &ClientContext, id: &str) -> Result<GetTaskResult, ErrorData> {
    let handle = find(client, id).await?;
    let payload = match &handle.status {
        TurnStatus::Open => TaskPayload::Working,
        TurnStatus::Withdrawn => TaskPayload::Cancelled,
        TurnStatus::Lost => match serde_json::to_value(error::lost(lost(&handle))) {
            Ok(Value::Object(error)) => TaskPayload::Failed { error },
            Ok(_) | Err(_) => return Err(error::internal()),
        },
        TurnStatus::Ended(last) if last.end == End::Interrupted => TaskPayload::Cancelled,
        TurnStatus::Ended(last) => {
            match serde_json::to_value(super::result::answered(&handle.thread, Some(last.clone()))) {
                Ok(Value::Object(result)) => TaskPayload::Completed { result },
                Ok(_) | Err(_) => return Err(error::internal()),
            }
        }
    };
    Ok(GetTaskResult::new(DetailedTask::new(wire(client, &handle), payload)))
}

/// `tasks/cancel`: takes the prompt back, or ends its turn.
pub async fn cancel(client: &ClientContext, id: &str) -> Result<(), ErrorData> {
    let handle = find(client, id).await?;
    if matches!(handle.status, TurnStatus::Open) {
        // It may have ended in this moment.
        let _ = client.app.codex.cancel_handle(&handle).await;
    }
    Ok(())
}

/// `tasks/update`: nothing is asked of the client, so there is nothing to answer; that is no fault.
pub async fn update(client: &ClientContext, id: &str) -> Result<(), ErrorData> {
    find(client, id).await.map(drop)
}

async fn find(client: &ClientContext, id: &str) -> Result<TurnHandle, ErrorData> {
    let found = client.app.codex.handle(&client.asker().key, id).await;
    let found = found.map_err(|fault| {
        tracing::error!(error = %fault, "a turn could not be looked up");
        error::internal()
    })?;
    found.ok_or_else(|| ErrorData::invalid_params(format!("there is no task `{}`", error::clip(id)), None))
}

/// What to do about a turn whose end nobody saw.
fn lost(handle: &TurnHandle) -> String {
    format!(
        "the hub stopped before this turn ended, so what it did last is not known; its thread is kept: call codex-reply \
         with threadId {} and ask what was done, or for the rest",
        handle.thread
    )
}

fn wire(client: &ClientContext, handle: &TurnHandle) -> Wire {
    let at = |millis: i64| stamp(instant(millis));
    let (status, word) = match &handle.status {
        TurnStatus::Open => {
            let state = client.app.codex.session(&handle.thread).map(|session| session.thread().state());
            let asks = state == Some(ThreadState::Asking);
            (TaskStatus::Working, if asks { "waits for the user" } else { "running" })
        }
        TurnStatus::Withdrawn => (TaskStatus::Cancelled, "taken back"),
        TurnStatus::Lost => (TaskStatus::Failed, "the hub stopped before its end"),
        TurnStatus::Ended(last) => (TaskStatus::Completed, last.end.as_str()),
    };
    let mut wire = Wire::new(handle.id.as_str(), status, at(handle.created_at), at(handle.updated_at));
    wire.poll_interval_ms = Some(POLL);
    wire.status_message = Some(format!("{word}; thread {}", handle.thread));
    wire
}
