//! The client's own form in the stateless revision: a part of the answer. The client shows it and calls again with
//! what the person said, or tells the task. What came to be decided elsewhere meanwhile counts as everywhere.

use rmcp::model::{CallToolRequestParams, InputRequests, InputRequiredResult, InputResponses};
use serde_json::{Value, json};

use super::in_client::{form, take};
use crate::mcp::dialect::Revision;
use crate::popups::{Draft, Error, Popups, Question, Ticket};

/// What a call brings back from a round before.
#[derive(Debug)]
pub(crate) struct Brought {
    ticket: String,
    responses: InputResponses,
}

impl Brought {
    /// Takes it out of a call; `None` for a call that answers no form of ours.
    pub(crate) fn from(call: &mut CallToolRequestParams) -> Option<Self> {
        let ticket = call.request_state.take()?;
        Some(Self { ticket, responses: call.input_responses.take().unwrap_or_default() })
    }

    /// Returns the question that it is about, if `asker` (by its key) asked it in these words. The state is no secret
    /// and proves nothing: it says which question, and who asks decides whether it is there.
    pub(super) async fn question(
        &self,
        popups: &Popups,
        asker: &str,
        draft: &Draft,
    ) -> Result<Question, Error> {
        let unknown = || Error::Unknown { ticket: self.ticket.chars().take(64).collect() };
        let ticket = Ticket::parse(&self.ticket).ok_or_else(unknown)?;
        let question = popups.get_as(asker, &ticket).await?;
        let same = question.title == draft.title
            && question.message == draft.message
            && question.fields == draft.fields;
        if same { Ok(question) } else { Err(unknown()) }
    }

    /// Does what the client says in answer to the form that is open.
    pub(super) async fn take(&self, popups: &Popups, question: &Question) -> Result<(), Error> {
        answered(popups, question, &self.responses).await
    }
}

/// Does what the client says in answer to the form that is open; what answers another one is left out.
pub(super) async fn answered(
    popups: &Popups,
    question: &Question,
    responses: &InputResponses,
) -> Result<(), Error> {
    let open = form(popups, question, Revision::V2026_07_28).await;
    match open.and_then(|(round, _)| responses.get(&key(round))) {
        Some(reply) => take(popups, question, reply).await,
        None => Ok(()),
    }
}

/// Returns what the client is to ask, if it is to ask anything now.
pub(super) async fn requests(popups: &Popups, question: &Question) -> Option<InputRequests> {
    let (round, params) = form(popups, question, Revision::V2026_07_28).await?;
    let request = json!({"method": "elicitation/create", "params": params});
    serde_json::from_value(Value::Object([(key(round), request)].into_iter().collect())).ok()
}

/// The call's answer that shows a form.
pub(super) fn result(question: &Question, requests: InputRequests) -> InputRequiredResult {
    InputRequiredResult::new(Some(requests), Some(question.ticket.to_string()))
}

/// The name of one form, which a task must not use twice.
fn key(round: usize) -> String {
    format!("answer-{}", round + 1)
}
