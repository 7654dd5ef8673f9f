//! The arguments of `await_answer`, and the call of it.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::CallToolResponse;
use serde_json::{Map, Value};

use super::{answer_delivery, result};
use crate::arguments::{ArgumentError, integer, string};
use crate::call_context::CallContext;
use crate::error;
use adjutant_questions::{Error, Ticket};

/// The longest time that a caller may choose to wait.
pub(super) const MAX_WAIT: Duration = Duration::from_hours(1);

/// Waits for the answer to a question of the caller.
pub(super) async fn call(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResponse, ErrorData> {
    let read = || {
        let ticket = string(arguments, "ticket", true)?.unwrap_or_default();
        Ok::<_, ArgumentError>((ticket, integer(arguments, "seconds", 1)?))
    };
    let (ticket, seconds) = match read() {
        Ok(read) => read,
        Err(error) => return error.answer(call.revision),
    };
    let asker = call.client.asker();
    let questions = &call.client.app.questions;
    let ticket_of_asker = async {
        let unknown = || Error::Unknown { ticket: error::clip(ticket) };
        let ticket = Ticket::parse(ticket).ok_or_else(unknown)?;
        questions.resume(&asker, &ticket).await?;
        questions.mark_waiting(&asker, &ticket, None).await?;
        Ok::<_, Error>(ticket)
    };
    let ticket = match ticket_of_asker.await {
        Ok(ticket) => ticket,
        Err(refusal) => return Ok(result::refused(&refusal, call.revision).into()),
    };
    let limit = seconds.map(|seconds| Duration::from_secs(seconds).min(MAX_WAIT));
    answer_delivery::await_answer(call, &ticket, limit).await
}
