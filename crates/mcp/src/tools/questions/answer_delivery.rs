//! Delivery of an answer to the client that asked. The way is chosen once, and each way has a file.

mod input_required;
mod link;
mod task;
mod waiting_call;

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, InputRequests};
use serde_json::{Map, Value};

use super::client_elicitation::{ElicitationSupport, Presentation, presentation};
use super::input_requests::requests;
use super::result;
use super::waiting::answer_wait_limit;
use crate::call_context::CallContext;
use crate::input_required::InputResponse;
use crate::protocol_version::Revision;
use crate::task_wire::accepts_tasks;
use adjutant_questions::{AskResult, Draft, Error, Question, Ticket};
use input_required::Rounds;

/// The way in which the answer to a question reaches the client.
///
/// A client that does not return for its answer loses nothing, because the question outlives the call.
enum AnswerDelivery {
    /// A task of the protocol, which the client polls.
    Task(Box<Question>),
    /// The result of a repeated call, whose input responses hold the answer.
    InputRequired { question: Box<Question>, requests: InputRequests, rounds: Rounds },
    /// The error that makes the client open the question's page and call again.
    Link { question: Box<Question>, params: Value },
    /// The result of this call if the answer comes within the limit, else of `await_answer` with the ticket.
    WaitingCall(Option<Duration>),
}

impl AnswerDelivery {
    /// Chooses the way for a question that was asked now.
    async fn choose(
        call: &CallContext<'_>,
        asked: &AskResult,
        support: Option<&ElicitationSupport>,
        rounds: Option<Rounds>,
    ) -> Result<Self, Error> {
        let questions = &call.client.app.questions;
        if accepts_tasks(call) && asked.state.outcome().is_none() {
            return questions.get(&asked.ticket).await.map(|question| Self::Task(Box::new(question)));
        }
        if let Some(rounds) = rounds {
            return Ok(match questions.get(&asked.ticket).await {
                Ok(question) => Self::choose_for_round(call, question, rounds).await,
                Err(_) => Self::by_waiting(call),
            });
        }
        // A call that joins an open question waits, because its client has come back for the answer.
        if call.revision == Revision::V2025_11_25
            && !asked.merged
            && answer_wait_limit(call).is_some()
            && let Some(support) = support
            && let Ok(question) = questions.get(&asked.ticket).await
            && let Some(Presentation::Link(params)) = presentation(questions, &question, support).await
        {
            return Ok(Self::Link { question: Box::new(question), params });
        }
        Ok(Self::by_waiting(call))
    }

    /// Chooses the way for the next round of a call that the client may repeat.
    async fn choose_for_round(call: &CallContext<'_>, question: Question, rounds: Rounds) -> Self {
        match requests(&call.client.app.questions, &question, &rounds.support).await {
            Some(requests) => Self::InputRequired { question: Box::new(question), requests, rounds },
            None => Self::by_waiting(call),
        }
    }

    fn by_waiting(call: &CallContext<'_>) -> Self {
        Self::WaitingCall(answer_wait_limit(call))
    }

    async fn deliver(self, call: &CallContext<'_>, ticket: &Ticket) -> Result<CallToolResponse, ErrorData> {
        match self {
            Self::Task(question) => Ok(task::answer(call, &question).await),
            Self::InputRequired { question, requests, rounds } => {
                Ok(input_required::answer(call, &question, requests, &rounds).await)
            }
            Self::Link { question, params } => Err(link::answer(call.client, &question, params)),
            Self::WaitingCall(limit) => Ok(waiting_call::answer(call, ticket, limit).await.into()),
        }
    }
}

/// Asks a question, and returns its answer or how the client gets the answer later.
pub(super) async fn ask(
    call: &CallContext<'_>,
    tool: &str,
    arguments: &Map<String, Value>,
    mut draft: Draft,
    response: Option<InputResponse>,
) -> Result<CallToolResponse, ErrorData> {
    let support = ElicitationSupport::of(call);
    let rounds = match support.clone().filter(|_| call.revision == Revision::V2026_07_28) {
        Some(support) => match Rounds::new(call.client, tool, arguments, support).await {
            Ok(rounds) => Some(rounds),
            Err(refusal) => return Ok(result::refused(&refusal, call.revision).into()),
        },
        None => None,
    };
    let (rounds, response) = match (rounds, response) {
        (Some(rounds), Some(response)) => {
            let question = match input_required::apply(call, &response, &rounds).await {
                Ok(question) => question,
                Err(Error::Unknown { .. }) => return Err(input_required::unknown_state()),
                Err(refusal) => return Ok(result::refused(&refusal, call.revision).into()),
            };
            let ticket = question.ticket.clone();
            let delivery = AnswerDelivery::choose_for_round(call, question, rounds).await;
            return delivery.deliver(call, &ticket).await;
        }
        other => other,
    };
    drop(response);
    let caller = call.client.connected.label();
    let owner = call.client.asker_of(&mut draft);
    call.client.note_question(call.request);
    let asked = match call.client.app.questions.ask_in_call(owner, draft, &call.request.ct).await {
        Ok(asked) => asked,
        Err(refusal) => {
            tracing::info!(caller, reason = %refusal, "a question was not asked");
            return match result::argument_error(&refusal) {
                Some(error) => error.answer(call.revision),
                None => Ok(result::refused(&refusal, call.revision).into()),
            };
        }
    };
    tracing::info!(ticket = %asked.ticket, merged = asked.merged, caller, "asked");
    match AnswerDelivery::choose(call, &asked, support.as_ref(), rounds).await {
        Ok(delivery) => delivery.deliver(call, &asked.ticket).await,
        Err(refusal) => Ok(result::refused(&refusal, call.revision).into()),
    }
}

/// Returns the answer to a question that was asked before, for `await_answer`. `limit` is the limit that the caller
/// chose; without one the client's own counts.
pub(super) async fn await_answer(
    call: &CallContext<'_>,
    ticket: &Ticket,
    limit: Option<Duration>,
) -> Result<CallToolResponse, ErrorData> {
    AnswerDelivery::WaitingCall(limit.or_else(|| answer_wait_limit(call))).deliver(call, ticket).await
}
