//! Delivery as the result of a waiting call. After its limit the call returns a ticket for `await_answer`.

use std::time::Duration;

use rmcp::model::CallToolResult;

use super::super::answer_files::GivenFiles;
use super::super::result;
use super::super::waiting::{decided, start_lease, wait_for};
use crate::call_context::CallContext;
use adjutant_questions::{Question, Ticket};

/// Polls that a client without a connection may miss before the user sees that no client waits.
const MAX_MISSED_POLLS: u32 = 5;

/// Waits until the question is decided, `limit` is over, or the call is cancelled.
pub(super) async fn answer(
    call: &CallContext<'_>,
    ticket: &Ticket,
    limit: Option<Duration>,
) -> CallToolResult {
    let _waiting = call.client.app.waiters.register([ticket.as_str().to_owned()]);
    match wait_for(call, ticket, limit).await {
        Ok(question) if question.state.outcome().is_some() => decided(call, &question).await,
        Ok(question) => pending(call, &question).await,
        Err(refusal) => result::refused(&refusal, call.revision),
    }
}

/// Returns the result about an open question: its ticket, and how often a client without a connection should poll.
async fn pending(call: &CallContext<'_>, question: &Question) -> CallToolResult {
    if !call.client.asker().is_unseen() {
        return result::question_result(question, GivenFiles::default(), call.revision);
    }
    let lease = call.client.app.questions.settings().silence_timeout;
    start_lease(call.client, &question.ticket, lease).await;
    result::poll_result(question, lease / MAX_MISSED_POLLS, call.revision)
}
