//! A question as a task of the protocol, for clients that take one in the place of a result.

use std::time::Duration;

use rmcp::model::{
    CreateTaskResult, DetailedTask, GetTaskResult, InputResponses, Task as Wire, TaskPayload, TaskStatus,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::in_client::Shows;
use super::{answer, rounds};
use crate::clock::{instant, stamp};
use crate::mcp::dialect::Revision;
use crate::mcp::{Handler, error};
use crate::popups::{Error, Kind, Popups, Question, State, Ticket};

/// How often a client should ask again, in milliseconds.
const POLL: u64 = 2000;

/// How many of its looks a client without a connection may leave out.
const LEFT_OUT: u64 = 30;

/// How long a client without a connection may leave its task alone before the person is shown that nobody waits.
pub(super) fn lease(popups: &Popups) -> Duration {
    popups.settings().silent.min(Duration::from_millis(POLL * LEFT_OUT))
}

/// The answer to a call that became a task. The question is in the store already.
pub(super) fn created(question: &Question) -> CreateTaskResult {
    CreateTaskResult::new(wire(question))
}

/// `tasks/get`.
pub(crate) async fn get(
    handler: &Handler,
    ticket: &Ticket,
    context: &RequestContext<RoleServer>,
) -> Result<GetTaskResult, ErrorData> {
    let asker = handler.asker();
    let popups = &handler.app().popups;
    let question = find(handler, ticket).await?;
    let payload = match &question.state {
        State::Pending | State::Held { .. } => {
            let lease = asker.is_unseen().then(|| lease(popups));
            popups.here(&asker, ticket, lease).await.map_err(|fault| refused(&fault))?;
            let requests = match Shows::of(handler, Revision::V2026_07_28, context) {
                Some(shows) => rounds::requests(popups, &question, &shows).await,
                None => None,
            };
            requests
                .map_or(TaskPayload::Working, |input_requests| TaskPayload::InputRequired { input_requests })
        }
        State::Decided(outcome) if outcome.kind == Kind::Cancelled => TaskPayload::Cancelled,
        State::Decided(_) => {
            match serde_json::to_value(answer::of_question(&question, Revision::V2026_07_28)) {
                Ok(Value::Object(result)) => TaskPayload::Completed { result },
                Ok(_) | Err(_) => return Err(error::internal()),
            }
        }
    };
    if question.state.outcome().is_some() {
        popups.delivered(&asker.key, ticket).await;
    }
    Ok(GetTaskResult::new(DetailedTask::new(wire(&question), payload)))
}

/// `tasks/cancel`: withdraws the question.
pub(crate) async fn cancel(handler: &Handler, ticket: &Ticket) -> Result<(), ErrorData> {
    let cancelled = handler.app().popups.cancel(&handler.asker().key, ticket).await;
    cancelled.map(drop).map_err(|fault| refused(&fault))
}

/// `tasks/update`: what the person said to the client's own form. What answers no open form is no fault.
pub(crate) async fn update(
    handler: &Handler,
    ticket: &Ticket,
    responses: &InputResponses,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let question = find(handler, ticket).await?;
    let Some(shows) = Shows::of(handler, Revision::V2026_07_28, context) else { return Ok(()) };
    let taken = rounds::answered(&handler.app().popups, &question, &shows, responses).await;
    taken.map_err(|fault| refused(&fault))
}

async fn find(handler: &Handler, ticket: &Ticket) -> Result<Question, ErrorData> {
    let found = handler.app().popups.get_as(&handler.asker().key, ticket).await;
    found.map_err(|fault| refused(&fault))
}

fn refused(fault: &Error) -> ErrorData {
    match fault {
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
    wire.poll_interval_ms = Some(POLL);
    wire.status_message = Some(match &question.state {
        State::Decided(outcome) => answer::word(outcome).to_owned(),
        State::Pending | State::Held { .. } => "waiting for the person".to_owned(),
    });
    wire
}
