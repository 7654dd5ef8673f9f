//! Delivery by a link to the question's page, for a client of 2025-11-25 that cannot wait.

use rmcp::ErrorData;
use serde_json::Value;

use super::super::client_elicitation::register_link;
use super::super::names::AWAIT;
use crate::client_context::ClientContext;
use crate::error;
use adjutant_questions::Question;

/// Returns the error that makes the client open the page and call again. `params` are those of the elicitation.
pub(super) fn answer(client: &ClientContext, question: &Question, params: Value) -> ErrorData {
    let message = format!(
        "the user answers this on a page of their own, which this client can open; call again once that is done, or \
         call {AWAIT} with ticket {}",
        question.ticket
    );
    error::link_required(message, &register_link(client, question, params))
}
