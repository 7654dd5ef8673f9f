//! The contract's own method, `triggerPopup`: a request without a handshake, answered with the user's choice.

use rmcp::ErrorData;
use serde_json::{Map, Value, json};

use crate::arguments::ArgumentError;
use crate::call_context::CallContext;
use crate::error;
use crate::tools::questions::{argument_error, draft, outcome_message, wait_for};
use adjutant_questions::{Draft, Error, FieldValue, Outcome, OutcomeKind, Question, State};

/// The method's name; the tool has the same.
pub const METHOD: &str = "triggerPopup";

/// Asks a question, waits for its outcome without a limit, and returns the contract's result.
pub(crate) async fn trigger(call: &CallContext<'_>, params: Option<Value>) -> Result<Value, ErrorData> {
    let mut draft = read(params)?;
    let asker = call.client.asker_of(&mut draft);
    let added = call.client.app.questions.ask_in_call(asker, draft, &call.request.ct).await;
    let question = added.map_err(|error| refused(&error))?;
    let question = wait_for(call, &question.ticket, None).await.map_err(|error| refused(&error))?;
    if question.state.outcome().is_some() {
        call.client.deliver(call.request, &question.ticket).await;
    }
    result(&question)
}

/// Reads the params of a request.
pub fn read(params: Option<Value>) -> Result<Draft, ErrorData> {
    let arguments = match params {
        Some(Value::Object(arguments)) => arguments,
        Some(_) => {
            let message = "params must be an object";
            return Err(error::invalid_params(message, &[], "type", &Value::from("object")));
        }
        None => Map::new(),
    };
    draft(&arguments).map_err(ArgumentError::into_protocol_error)
}

/// Returns the error of a request if its question could not be asked.
pub fn refused(refusal: &Error) -> ErrorData {
    if let Some(invalid) = argument_error(refusal) {
        return invalid.into_protocol_error();
    }
    match refusal {
        Error::NotNow(availability) => error::unanswered(
            true,
            refusal.to_string(),
            json!({"status": "unavailable", "availability": availability.as_str(), "ask_again": false}),
        ),
        Error::TooMany { .. } | Error::SameRequest { .. } | Error::Cancelled => {
            error::invalid_request(refusal.to_string())
        }
        Error::OutcomeUnknown { ticket } => {
            error::unanswered(true, refusal.to_string(), json!({"status": "pending", "ticket": ticket}))
        }
        other => {
            tracing::error!(error = %other, "a question could not be asked");
            error::internal()
        }
    }
}

/// Returns the result of a decided question: `selectedValue`, or the error with the outcome.
pub fn result(question: &Question) -> Result<Value, ErrorData> {
    let outcome = match &question.state {
        State::Decided(outcome) => outcome,
        State::Pending | State::Held { .. } => {
            let data = json!({"status": "pending", "ticket": question.ticket.as_str()});
            let message =
                "no call waits for this question; ask it again in the same words to join it".to_owned();
            return Err(error::unanswered(true, message, data));
        }
    };
    let selected = match (outcome.kind, &outcome.answer) {
        (OutcomeKind::Answered, Some(answer)) => answer.0.first().map(|(_, given)| given),
        _ => return Err(unanswered(outcome)),
    };
    let selected = selected.map(|given| match given {
        FieldValue::Choices(values) => values.first().cloned().unwrap_or_default(),
        FieldValue::Other(text) | FieldValue::Text(text) | FieldValue::Date(text) => text.clone(),
        FieldValue::Number(number) => number.to_string(),
        FieldValue::YesNo(yes) => yes.to_string(),
        FieldValue::Secret => given.text(),
    });
    let mut result = json!({"selectedValue": selected.unwrap_or_default()});
    if let Some(note) = &outcome.note {
        result["note"] = Value::from(note.as_str());
    }
    Ok(result)
}

fn unanswered(outcome: &Outcome) -> ErrorData {
    let mut data = json!({"status": outcome.kind.name()});
    if outcome.ask_differently {
        data["ask_differently"] = Value::from(true);
    }
    let mut message = outcome_message(outcome).to_owned();
    if let Some(note) = &outcome.note {
        data["note"] = Value::from(note.as_str());
        message = format!("{message}: {note}");
    }
    error::unanswered(outcome.kind == OutcomeKind::TimedOut, message, data)
}

/// Returns the JSON-RPC response to the request `id`, for streams that carry responses of earlier requests.
pub fn response(id: &str, question: &Question) -> Value {
    let id: Value = serde_json::from_str(id).unwrap_or_default();
    match result(question) {
        Ok(result) => json!({"jsonrpc": "2.0", "result": result, "id": id}),
        Err(error) => json!({"jsonrpc": "2.0", "error": error, "id": id}),
    }
}
