//! A question as a task of the protocol, for clients that accept a task instead of a result.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CreateTaskResult, DetailedTask, GetTaskResult, InputResponses, Task as Wire, TaskPayload, TaskStatus,
};
use serde_json::Value;

use super::client_elicitation::ElicitationSupport;
use super::{answer_files, input_requests, result};
use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::error;
use crate::protocol_version::Revision;
use crate::task_wire::POLL_INTERVAL_MS;
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_questions::{Error, OutcomeKind, Question, Questions, State, Ticket};

/// Polls that a client without a connection may miss.
const MAX_MISSED_POLLS: u64 = 30;

/// Returns how long a client without a connection may not poll before the user sees that no client waits.
pub(super) fn lease(questions: &Questions) -> Duration {
    questions.settings().silence_timeout.min(Duration::from_millis(POLL_INTERVAL_MS * MAX_MISSED_POLLS))
}

/// Returns the response to a call that became a task. The question is in the store already.
pub(super) fn created(question: &Question) -> CreateTaskResult {
    CreateTaskResult::new(wire(question))
}

/// `tasks/get`.
pub(crate) async fn get(call: &CallContext<'_>, ticket: &Ticket) -> Result<GetTaskResult, ErrorData> {
    let asker = call.client.asker();
    let questions = &call.client.app.questions;
    let question = find(call.client, ticket).await?;
    let payload = match &question.state {
        State::Pending | State::Held { .. } => {
            let lease = asker.is_unseen().then(|| lease(questions));
            questions.mark_waiting(&asker, ticket, lease).await.map_err(|error| to_protocol_error(&error))?;
            let requests = match support(call) {
                Some(support) => input_requests::requests(questions, &question, &support).await,
                None => None,
            };
            requests
                .map_or(TaskPayload::Working, |input_requests| TaskPayload::InputRequired { input_requests })
        }
        State::Decided(outcome) if outcome.kind == OutcomeKind::Cancelled => TaskPayload::Cancelled,
        State::Decided(_) => {
            let revision = Revision::V2026_07_28;
            let files = answer_files::given(call.client, &question, revision).await;
            match serde_json::to_value(result::question_result(&question, files, revision)) {
                Ok(Value::Object(result)) => TaskPayload::Completed { result },
                Ok(_) | Err(_) => return Err(error::internal()),
            }
        }
    };
    if question.state.outcome().is_some() {
        call.client.deliver(call.request, ticket).await;
    }
    Ok(GetTaskResult::new(DetailedTask::new(wire(&question), payload)))
}

/// `tasks/cancel`: withdraws the question.
pub(crate) async fn cancel(client: &ClientContext, ticket: &Ticket) -> Result<(), ErrorData> {
    let cancelled = client.app.questions.cancel(&client.asker().key, ticket).await;
    cancelled.map(drop).map_err(|error| to_protocol_error(&error))
}

/// `tasks/update`: the user's reply to the client's form. A reply to no open form is ignored.
pub(crate) async fn update(
    call: &CallContext<'_>,
    ticket: &Ticket,
    responses: &InputResponses,
) -> Result<(), ErrorData> {
    let question = find(call.client, ticket).await?;
    let Some(support) = support(call) else { return Ok(()) };
    let applied = input_requests::apply(&call.client.app.questions, &question, &support, responses).await;
    applied.map_err(|error| to_protocol_error(&error))
}

/// Returns what the client can show. The protocol version is that of the extension.
fn support(call: &CallContext<'_>) -> Option<ElicitationSupport> {
    ElicitationSupport::of(&CallContext { revision: Revision::V2026_07_28, ..*call })
}

async fn find(client: &ClientContext, ticket: &Ticket) -> Result<Question, ErrorData> {
    let found = client.app.questions.resume(&client.asker(), ticket).await;
    found.map_err(|error| to_protocol_error(&error))
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

fn wire(question: &Question) -> Wire {
    let at = |millis: i64| stamp(instant(millis));
    let (status, updated) = match &question.state {
        State::Decided(outcome) => (TaskStatus::Completed, outcome.at),
        State::Pending | State::Held { .. } => {
            (TaskStatus::Working, question.seen_at.unwrap_or(question.asked_at))
        }
    };
    let mut wire = Wire::new(question.ticket.as_str(), status, at(question.asked_at), at(updated));
    wire.poll_interval_ms = Some(POLL_INTERVAL_MS);
    wire.status_message = Some(match &question.state {
        State::Decided(outcome) => result::outcome_message(outcome).to_owned(),
        State::Pending | State::Held { .. } => "waiting for the user".to_owned(),
    });
    wire
}
