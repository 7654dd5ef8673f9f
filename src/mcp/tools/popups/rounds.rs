//! The client's own form, or its link, in the stateless revision: a part of the answer. The client shows it and calls
//! again with what the person said, or tells the task. What came to be decided elsewhere meanwhile counts as everywhere.

use rmcp::model::{CallToolRequestParams, InputRequests, InputRequiredResult, InputResponses};
use serde_json::{Value, json};

use super::in_client::{Shown, Shows, follow, shown, take};
use crate::mcp::Handler;
use crate::mcp::seal::Seal;
use crate::popups::{Error, Popups, Question, Ticket};

/// The name of the one link.
const LINK: &str = "page";

/// What a call brings back from a round before.
#[derive(Debug)]
pub(crate) struct Brought {
    /// As the client wrote it; it proves nothing unless it is sealed.
    pub(crate) state: String,
    pub(crate) responses: InputResponses,
}

impl Brought {
    /// Takes it out of a call; `None` for a call that answers no form of ours.
    pub(crate) fn from(call: &mut CallToolRequestParams) -> Option<Self> {
        let state = call.request_state.take()?;
        Some(Self { state, responses: call.input_responses.take().unwrap_or_default() })
    }

    /// Returns the question that it is about, if `seal` closed it and `asker` (by its key) asked it.
    pub(super) async fn question(
        &self,
        popups: &Popups,
        asker: &str,
        seal: &Seal,
    ) -> Result<Question, Error> {
        let ticket = seal.open(&self.state).and_then(|ticket| Ticket::parse(&ticket));
        // What somebody made up is not repeated.
        let ticket = ticket.ok_or_else(|| Error::Unknown { ticket: String::new() })?;
        popups.get_as(asker, &ticket).await
    }

    /// Does what the client says in answer to what is open.
    pub(super) async fn take(
        &self,
        popups: &Popups,
        question: &Question,
        shows: &Shows,
    ) -> Result<(), Error> {
        answered(popups, question, shows, &self.responses).await
    }
}

/// What seals the state of one call: who calls which tool with what (`arguments` in canonical form). A question outlives
/// its hub, and so does the key.
pub(super) async fn seal(handler: &Handler, tool: &str, arguments: &str) -> Result<Seal, Error> {
    let key = handler.app().popups.state_key().await?;
    Seal::new(key.as_bytes(), &["tools/call", &handler.caller().key, tool, arguments]).ok_or(Error::Random)
}

/// Does what the client says in answer to what is open; what answers something else is left out.
pub(super) async fn answered(
    popups: &Popups,
    question: &Question,
    shows: &Shows,
    responses: &InputResponses,
) -> Result<(), Error> {
    match shown(popups, question, shows).await {
        Some(Shown::Form(round, _)) => match responses.get(&key(round)) {
            Some(reply) => take(popups, question, reply).await,
            None => Ok(()),
        },
        Some(Shown::Link(_)) => match responses.get(LINK) {
            Some(reply) => follow(popups, question, reply).await,
            None => Ok(()),
        },
        None => Ok(()),
    }
}

/// Returns what the client is to ask, if it is to ask anything now.
pub(super) async fn requests(popups: &Popups, question: &Question, shows: &Shows) -> Option<InputRequests> {
    let (key, params) = match shown(popups, question, shows).await? {
        Shown::Form(round, params) => (key(round), params),
        Shown::Link(params) => (LINK.to_owned(), params),
    };
    let request = json!({"method": "elicitation/create", "params": params});
    serde_json::from_value(Value::Object([(key, request)].into_iter().collect())).ok()
}

/// The call's answer that shows it.
pub(super) fn result(question: &Question, seal: &Seal, requests: InputRequests) -> InputRequiredResult {
    InputRequiredResult::new(Some(requests), Some(seal.close(question.ticket.as_str())))
}

/// The name of one form, which a task must not use twice.
fn key(round: usize) -> String {
    format!("answer-{}", round + 1)
}
