//! `delegate_task`.

use rmcp::ErrorData;
use rmcp::model::CallToolResponse;
use serde_json::{Map, Value};

use super::{arguments, result};
use crate::arguments::{Fault, boolean};
use crate::call_context::CallContext;
use crate::protocol_version::Revision;
use crate::wait;
use crate::wait::OnCancel;
use crate::{task_wire, trace_meta};

/// Delegates one task and answers with its result, or with its handle where the caller asked for one or does not
/// wait long enough.
pub(super) async fn one(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResponse, ErrorData> {
    let read = || -> Result<_, Fault> {
        let mut request = arguments::delegation(arguments, call.revision, &call.client.caller())?;
        request.trace =
            trace_meta::of(&call.request.meta).map(|trace| trace.environment()).unwrap_or_default();
        let background = call.revision > Revision::V2024_11_05 && boolean(arguments, "background")?;
        Ok((request, background))
    };
    let (request, background) = match read() {
        Ok(read) => read,
        Err(fault) => return fault.answer(call.revision).map(CallToolResponse::from),
    };
    let agents = &call.client.app.agents;
    let task = match agents.delegate(request).await {
        Ok(task) => task,
        Err(error) => {
            let message = result::sentence(&error);
            tracing::info!(
                caller = call.client.connected.label(),
                reason = message,
                "a delegation was refused"
            );
            return Ok(result::refused(&error));
        }
    };
    tracing::info!(task.id = %task.id, agent = task.agent, caller = task.label, "delegated");
    if task_wire::accepts_tasks(call) {
        return Ok(CallToolResponse::Task(task_wire::created(call.client, &task)));
    }
    if background {
        return Ok(result::of_task(&task, call.revision).into());
    }
    let _waiting = call.client.app.waiters.register([task.id.to_string()]);
    let limit = wait::wait_limit(call);
    match wait::wait(call, &task.id, limit, OnCancel::CancelTask).await {
        Ok(task) => {
            call.client.delivered(&task, &call.request.ct).await;
            Ok(result::of_task(&task, call.revision).into())
        }
        Err(error) => Ok(result::refused(&error)),
    }
}
