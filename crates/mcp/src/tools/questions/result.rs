//! A question as a tool's result: the answer, or the state and the next step.

use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use super::answer_files::GivenFiles;
use super::names::AWAIT;
use super::trigger_popup::FIELD;
use crate::arguments::ArgumentError;
use crate::protocol_version::Revision;
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_questions::{
    Answer, Availability, Error, FieldValue, Input, Outcome, OutcomeKind, Question, State,
};

/// Returns the result about a question, with the files of its answer.
pub(super) fn question_result(question: &Question, files: GivenFiles, revision: Revision) -> CallToolResult {
    let mut members = structured(question);
    put_files(&mut members, files.members);
    let mut result = to_result(members, revision);
    result.content.extend(files.blocks);
    result
}

/// Returns the result about an open question for a client without a connection, which should call again after `poll`.
pub(super) fn poll_result(question: &Question, poll: Duration, revision: Revision) -> CallToolResult {
    let mut members = structured(question);
    members.insert("poll_seconds".to_owned(), Value::from(poll.as_secs().max(1)));
    to_result(members, revision)
}

/// Returns a decided question for a client that did not wait for it, with the files of its answer.
pub(crate) fn decided_question(question: &Question, files: GivenFiles) -> Value {
    let mut members = structured(question);
    put_files(&mut members, files.members);
    members.insert("title".to_owned(), Value::from(question.title.as_str()));
    Value::Object(members)
}

fn put_files(members: &mut Map<String, Value>, files: Vec<Value>) {
    if !files.is_empty() {
        members.insert("files".to_owned(), Value::from(files));
    }
}

/// Returns the result of a call that asked nothing, because the user takes no questions.
pub(super) fn unavailable(availability: Availability, message: &str, revision: Revision) -> CallToolResult {
    let mut members = Map::new();
    members.insert("status".to_owned(), Value::from("unavailable"));
    members.insert("availability".to_owned(), Value::from(availability.as_str()));
    if let Some(until) = availability.until() {
        members.insert("until".to_owned(), Value::from(stamp(instant(until))));
    }
    members.insert("ask_again".to_owned(), Value::from(false));
    members.insert("message".to_owned(), Value::from(message));
    to_result(members, revision)
}

/// Returns the result about a question that was not asked, or is not the caller's.
pub(super) fn refused(error: &Error, revision: Revision) -> CallToolResult {
    if let Error::NotNow(availability) = error {
        return unavailable(*availability, &error.to_string(), revision);
    }
    if let Error::Store(source) = error {
        tracing::error!(error = %source, "the store failed");
    }
    CallToolResult::error(vec![ContentBlock::text(error.to_string())])
}

/// Returns the error of an argument that the domain rejected.
pub(crate) fn argument_error(error: &Error) -> Option<ArgumentError> {
    match error {
        Error::Invalid { message, path, validator, expected } => Some(ArgumentError {
            message: message.clone(),
            path: path.clone(),
            validator,
            validator_value: expected.clone(),
        }),
        _ => None,
    }
}

/// Returns a result as text and, if the revision has it, as structured content.
fn to_result(members: Map<String, Value>, revision: Revision) -> CallToolResult {
    let value = Value::Object(members);
    let mut result = CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
    result.is_error = None;
    if revision > Revision::V2024_11_05 {
        result.structured_content = Some(value);
    }
    result
}

/// Returns the question as an agent sees it.
pub(super) fn structured(question: &Question) -> Map<String, Value> {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| {
        members.insert(name.to_owned(), value);
    };
    let ticket = question.ticket.as_str();
    match &question.state {
        State::Decided(outcome) => {
            put("status", Value::from(outcome.kind.name()));
            if let Some(answer) = &outcome.answer {
                if question.fields.len() == 1 && question.fields[0].name == FIELD {
                    let selected =
                        answer.get(FIELD).map_or(Value::Null, |given| value(question, FIELD, given));
                    put("selectedValue", selected);
                } else {
                    put("content", content(question, answer));
                }
            }
            if let Some(note) = &outcome.note {
                put("note", Value::from(note.as_str()));
            }
            if outcome.ask_differently {
                put("ask_differently", Value::from(true));
            }
            put("decided_by", Value::from(outcome.by.name()));
            put("through", Value::from(outcome.through.name()));
            put("seen_ms", Value::from(outcome.seen_ms));
            put("ticket", Value::from(ticket));
            if outcome.kind != OutcomeKind::Answered {
                put("message", Value::from(outcome_message(outcome)));
            }
        }
        State::Pending | State::Held { .. } => {
            put("status", Value::from("pending"));
            put("ticket", Value::from(ticket));
            if let Some(until) = question.snoozed_until {
                put("snoozed_until", Value::from(stamp(instant(until))));
            }
            let next = format!(
                "The user has not answered yet. Call {AWAIT} with ticket {ticket} to wait on, or ask the same again; the question stays."
            );
            put("message", Value::from(next));
        }
    }
    members
}

/// Returns the meaning of an outcome for the agent.
pub(crate) fn outcome_message(outcome: &Outcome) -> &'static str {
    match outcome.kind {
        OutcomeKind::Answered => "the user answered",
        OutcomeKind::Declined if outcome.ask_differently => "the user wants this asked differently",
        OutcomeKind::Declined => "the user declined; do not ask the same again",
        OutcomeKind::Dismissed => "the user dismissed the question",
        OutcomeKind::TimedOut => "the question expired; this is not consent",
        OutcomeKind::Cancelled => "the question was withdrawn",
        OutcomeKind::ClientGone => "the question ended because its client disconnected",
    }
}

fn content(question: &Question, answer: &Answer) -> Value {
    let members = answer.0.iter().map(|(name, given)| (name.clone(), value(question, name, given)));
    Value::Object(members.collect())
}

fn value(question: &Question, name: &str, given: &FieldValue) -> Value {
    let input = question.fields.iter().find(|field| field.name == name).map(|field| &field.input);
    match (given, input) {
        (FieldValue::Choices(values), Some(Input::Choice { list: false, max: 1, .. })) => {
            values.first().map_or(Value::Null, |value| Value::from(value.as_str()))
        }
        (FieldValue::Choices(values), _) => Value::from(values.clone()),
        (FieldValue::Other(text) | FieldValue::Text(text) | FieldValue::Date(text), _) => {
            Value::from(text.as_str())
        }
        (FieldValue::Number(given), Some(Input::Number { whole, .. })) => number(*given, *whole),
        (FieldValue::Number(given), _) => json!(given),
        (FieldValue::YesNo(yes), _) => Value::from(*yes),
        (FieldValue::Secret, _) => Value::Null,
    }
}

/// Returns a number as JSON, a whole number without a fraction.
pub(super) fn number(number: f64, whole: bool) -> Value {
    let as_whole = whole.then(|| format!("{number:.0}").parse::<i64>().ok()).flatten();
    as_whole.map_or_else(|| json!(number), Value::from)
}
