//! Delivery as the result of a call that waits without a limit.

use rmcp::model::CallToolResult;

use super::super::result;
use super::super::waiting::{decided, wait_for};
use super::ticket;
use crate::call_context::CallContext;
use adjutant_questions::Ticket;

/// Waits until the question is decided or the call is cancelled.
pub(super) async fn answer(call: &CallContext<'_>, id: &Ticket) -> CallToolResult {
    let _waiting = call.client.app.waiters.register([id.as_str().to_owned()]);
    match wait_for(call, id, None).await {
        Ok(question) if question.state.outcome().is_some() => decided(call, &question).await,
        Ok(question) => ticket::pending(call, &question).await,
        Err(refusal) => result::refused(&refusal, call.revision),
    }
}
