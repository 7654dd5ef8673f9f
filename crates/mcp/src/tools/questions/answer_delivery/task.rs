//! Delivery as a task of the protocol, which the client polls.

use rmcp::model::CallToolResponse;

use super::super::tasks;
use super::super::waiting::start_lease;
use crate::call_context::CallContext;
use adjutant_questions::Question;

/// Returns the task of a question.
pub(super) async fn answer(call: &CallContext<'_>, question: &Question) -> CallToolResponse {
    start_lease(call.client, &question.ticket, tasks::lease(&call.client.app.questions)).await;
    CallToolResponse::Task(tasks::created(question))
}
