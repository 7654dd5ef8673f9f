//! Delivery by rounds of one call, for a client of the stateless protocol version that shows forms or links.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, InputRequests, InputRequiredResult};
use serde_json::{Map, Value};

use super::super::client_elicitation::ElicitationSupport;
use super::super::input_requests;
use super::super::waiting::start_lease;
use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::error;
use crate::input_required::InputResponse;
use crate::request_state::{StateSealer, canonical};
use adjutant_questions::{Error, Question, Ticket};

/// The state that all rounds of one call share.
pub(super) struct Rounds {
    pub(super) support: ElicitationSupport,
    sealer: StateSealer,
}

impl Rounds {
    /// Creates the rounds of the call of `tool` with `arguments`. The key of their state is in the store, because a
    /// question outlives the hub that asked it.
    pub(super) async fn new(
        client: &ClientContext,
        tool: &str,
        arguments: &Map<String, Value>,
        support: ElicitationSupport,
    ) -> Result<Self, Error> {
        let key = client.app.questions.state_key().await?;
        let parts = ["tools/call", &client.caller().key, tool, &canonical(arguments)];
        let sealer = StateSealer::new(key.as_bytes(), &parts).ok_or(Error::Random)?;
        Ok(Self { support, sealer })
    }
}

/// Applies the client's response to the question that its state names, and returns the question after that. The error
/// is [`Error::Unknown`] if the state is not one of this call.
pub(super) async fn apply(
    call: &CallContext<'_>,
    response: &InputResponse,
    rounds: &Rounds,
) -> Result<Question, Error> {
    let (asker, questions) = (call.client.asker(), &call.client.app.questions);
    let ticket = rounds.sealer.unseal(&response.state).and_then(|ticket| Ticket::parse(&ticket));
    // An invented state is not repeated.
    let ticket = ticket.ok_or_else(|| Error::Unknown { ticket: String::new() })?;
    let question = questions.resume(&asker, &ticket).await?;
    questions.mark_waiting(&asker, &ticket, None).await?;
    input_requests::apply(questions, &question, &rounds.support, &response.responses).await?;
    questions.get(&ticket).await
}

/// Returns the error for a state that is not one of this call.
pub(super) fn unknown_state() -> ErrorData {
    error::invalid_params(
        "`requestState` was not given to you for this call, or is too old; call again without it: a pending \
         question is joined",
        &["requestState".to_owned()],
        "sealed",
        &Value::Null,
    )
}

/// Returns the result that makes the client show the question and repeat its call.
pub(super) async fn answer(
    call: &CallContext<'_>,
    question: &Question,
    requests: InputRequests,
    rounds: &Rounds,
) -> CallToolResponse {
    start_lease(call.client, &question.ticket, call.client.app.questions.settings().silence_timeout).await;
    let state = rounds.sealer.seal(question.ticket.as_str());
    InputRequiredResult::new(Some(requests), Some(state)).into()
}
