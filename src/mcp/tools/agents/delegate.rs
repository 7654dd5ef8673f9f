//! `delegate_task`.

use rmcp::model::CallToolResponse;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};

use super::patience::{self, OnCancel};
use super::{answer, arguments};
use crate::mcp::arguments::{Fault, boolean};
use crate::mcp::dialect::Revision;
use crate::mcp::{Handler, tasks, trace};

/// Delegates one task and answers with its result, or with its handle where the caller asked for one or does not
/// wait long enough.
pub(super) async fn one(
    handler: &Handler,
    revision: Revision,
    arguments: &Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let read = || -> Result<_, Fault> {
        let mut request = arguments::delegation(arguments, revision, &handler.caller())?;
        request.trace = trace::of(&context.meta).map(|trace| trace.environment()).unwrap_or_default();
        let background = revision > Revision::V2024_11_05 && boolean(arguments, "background")?;
        Ok((request, background))
    };
    let (request, background) = match read() {
        Ok(read) => read,
        Err(fault) => return fault.answer(revision).map(CallToolResponse::from),
    };
    let agents = &handler.app().agents;
    let task = match agents.delegate(request).await {
        Ok(task) => task,
        Err(error) => {
            let message = answer::sentence(&error);
            tracing::info!(
                caller = handler.connected().label(),
                reason = message,
                "a delegation was refused"
            );
            return Ok(answer::refused(&error));
        }
    };
    tracing::info!(task.id = %task.id, agent = task.agent, caller = task.label, "delegated");
    if tasks::declared(revision, context) {
        return Ok(CallToolResponse::Task(tasks::created(handler, &task)));
    }
    if background {
        return Ok(answer::of_task(&task, revision).into());
    }
    let _waiting = handler.app().awaited.enter([task.id.to_string()]);
    let patience = patience::patience(handler, revision, context);
    match patience::wait(handler, context, &task.id, patience, OnCancel::CancelTask).await {
        Ok(task) => {
            handler.delivered(&task, &context.ct).await;
            Ok(answer::of_task(&task, revision).into())
        }
        Err(error) => Ok(answer::refused(&error)),
    }
}
