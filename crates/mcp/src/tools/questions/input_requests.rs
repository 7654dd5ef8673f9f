//! Questions as input requests of the stateless protocol version, and the client's responses to them.

use rmcp::model::{InputRequests, InputResponses};
use serde_json::{Value, json};

use super::client_elicitation::{
    ElicitationSupport, Presentation, on_form_reply, on_link_reply, presentation,
};
use adjutant_questions::{Error, Question, Questions};

/// The key of the one link.
const LINK: &str = "page";

/// Returns the input requests by which the client shows a question now; `None` if it shows none.
pub(super) async fn requests(
    questions: &Questions,
    question: &Question,
    support: &ElicitationSupport,
) -> Option<InputRequests> {
    let (key, params) = match presentation(questions, question, support).await? {
        Presentation::Form(round, params) => (key(round), params),
        Presentation::Link(params) => (LINK.to_owned(), params),
    };
    let request = json!({"method": "elicitation/create", "params": params});
    serde_json::from_value(Value::Object([(key, request)].into_iter().collect())).ok()
}

/// Applies the response to the form or link that the client shows now. Other responses are ignored.
pub(super) async fn apply(
    questions: &Questions,
    question: &Question,
    support: &ElicitationSupport,
    responses: &InputResponses,
) -> Result<(), Error> {
    match presentation(questions, question, support).await {
        Some(Presentation::Form(round, _)) => match responses.get(&key(round)) {
            Some(reply) => on_form_reply(questions, question, reply).await,
            None => Ok(()),
        },
        Some(Presentation::Link(_)) => match responses.get(LINK) {
            Some(reply) => on_link_reply(questions, question, reply).await,
            None => Ok(()),
        },
        None => Ok(()),
    }
}

/// Returns the key of one form. Each round has a different key, because a task must not use a key twice.
fn key(round: usize) -> String {
    format!("answer-{}", round + 1)
}
