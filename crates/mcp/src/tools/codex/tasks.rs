//! A turn as a task of the protocol, for clients that take one in the place of a result. It is in the store; one whose
//! hub went away before its end has failed, and `codex-reply` goes on in its thread.

use rmcp::ErrorData;
use rmcp::model::{CreateTaskResult, DetailedTask, GetTaskResult, Task as Wire, TaskPayload, TaskStatus};
use serde_json::Value;

use crate::clock::{instant, stamp};
use crate::codex::handles::{Became, Handle, PREFIX};
use crate::codex::happened::End;
use crate::codex::thread::State;
use crate::codex::{Begun, Error};
use crate::mcp::{Handler, error};

/// How often a client should ask again, in milliseconds.
const POLL: u64 = 2000;

/// Tells whether an id is one of a turn.
pub(crate) fn is_turn(id: &str) -> bool {
    id.starts_with(PREFIX)
}

/// The answer to a call that became a task.
pub(super) async fn created(handler: &Handler, begun: Begun) -> Result<CreateTaskResult, Error> {
    let handle = handler.app().codex.hand_out(handler.asker().key, begun).await?;
    Ok(CreateTaskResult::new(wire(handler, &handle)))
}

/// `tasks/get`.
pub(crate) async fn get(handler: &Handler, id: &str) -> Result<GetTaskResult, ErrorData> {
    let handle = find(handler, id).await?;
    let payload = match &handle.became {
        Became::Open => TaskPayload::Working,
        Became::Withdrawn => TaskPayload::Cancelled,
        Became::Lost => match serde_json::to_value(error::lost(lost(&handle))) {
            Ok(Value::Object(error)) => TaskPayload::Failed { error },
            Ok(_) | Err(_) => return Err(error::internal()),
        },
        Became::Ended(last) if last.end == End::Interrupted => TaskPayload::Cancelled,
        Became::Ended(last) => {
            match serde_json::to_value(super::answered(&handle.thread, Some(last.clone()))) {
                Ok(Value::Object(result)) => TaskPayload::Completed { result },
                Ok(_) | Err(_) => return Err(error::internal()),
            }
        }
    };
    Ok(GetTaskResult::new(DetailedTask::new(wire(handler, &handle), payload)))
}

/// `tasks/cancel`: takes the prompt back, or ends its turn.
pub(crate) async fn cancel(handler: &Handler, id: &str) -> Result<(), ErrorData> {
    let handle = find(handler, id).await?;
    if matches!(handle.became, Became::Open) {
        // It may have ended in this moment.
        let _ = handler.app().codex.take_back(&handle).await;
    }
    Ok(())
}

/// `tasks/update`: nothing is asked of the client, so there is nothing to answer; that is no fault.
pub(crate) async fn update(handler: &Handler, id: &str) -> Result<(), ErrorData> {
    find(handler, id).await.map(drop)
}

async fn find(handler: &Handler, id: &str) -> Result<Handle, ErrorData> {
    let found = handler.app().codex.handle(&handler.asker().key, id).await;
    let found = found.map_err(|fault| {
        tracing::error!(error = %fault, "a turn could not be looked up");
        error::internal()
    })?;
    found.ok_or_else(|| ErrorData::invalid_params(format!("there is no task `{}`", error::clip(id)), None))
}

/// What to do about a turn whose end nobody saw.
fn lost(handle: &Handle) -> String {
    format!(
        "the hub stopped before this turn ended, so what it did last is not known; its thread is kept: call codex-reply \
         with threadId {} and ask what was done, or for the rest",
        handle.thread
    )
}

fn wire(handler: &Handler, handle: &Handle) -> Wire {
    let at = |millis: i64| stamp(instant(millis));
    let (status, word) = match &handle.became {
        Became::Open => {
            let state = handler.app().codex.session(&handle.thread).map(|session| session.thread().state());
            let asks = state == Some(State::Asking);
            (TaskStatus::Working, if asks { "waits for the person" } else { "running" })
        }
        Became::Withdrawn => (TaskStatus::Cancelled, "taken back"),
        Became::Lost => (TaskStatus::Failed, "the hub stopped before its end"),
        Became::Ended(last) => (TaskStatus::Completed, last.end.as_str()),
    };
    let mut wire = Wire::new(handle.id.as_str(), status, at(handle.created_at), at(handle.updated_at));
    wire.poll_interval_ms = Some(POLL);
    wire.status_message = Some(format!("{word}; thread {}", handle.thread));
    wire
}
