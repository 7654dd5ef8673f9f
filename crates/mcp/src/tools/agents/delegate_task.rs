//! `delegate_task`.

use rmcp::model::CallToolResponse;
use serde_json::{Map, Value};

use super::arguments;
use super::result::{CallError, sentence, task_result};
use crate::arguments::boolean;
use crate::call_context::CallContext;
use crate::call_timeout::{OnCancel, task_wait_limit, wait_for_task};
use crate::protocol_version::Revision;
use crate::task_wire;

/// Delegates one task and answers with its result, or with its id if the caller asked for that or does not wait long
/// enough.
pub(super) async fn call(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResponse, CallError> {
    let request = arguments::delegation(call, arguments)?;
    let background = call.revision > Revision::V2024_11_05 && boolean(arguments, "background")?;
    let delegated = call.client.app.agents.delegate(request).await.inspect_err(|error| {
        let caller = call.client.connected.label();
        tracing::info!(caller, reason = sentence(error), "a delegation was refused");
    });
    let task = delegated?;
    tracing::info!(task.id = %task.id, agent = task.agent, caller = task.label, "delegated");
    if task_wire::accepts_tasks(call) {
        return Ok(CallToolResponse::Task(task_wire::created(call.client, &task)));
    }
    if background {
        return Ok(task_result(&task, call.revision).into());
    }
    let _waiting = call.client.app.waiters.register([task.id.to_string()]);
    let task = wait_for_task(call, &task.id, task_wait_limit(call), OnCancel::CancelTask).await?;
    call.client.mark_delivered(&task, call.request).await;
    Ok(task_result(&task, call.revision).into())
}
