//! Conversion between rows of the store and values of the domain.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::outcome::{Outcome, State};
use super::question::{AskerPresence, DefaultAnswer, Draft, Field, Level, Question, Ticket};
use adjutant_store as store;
use adjutant_store::questions;

/// The `form` of a row.
#[derive(Debug, Serialize, Deserialize)]
struct Form {
    fields: Vec<Field>,
    default: Option<DefaultAnswer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    denials: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    runs_in: String,
}

pub(super) fn form(draft: &Draft) -> String {
    json(&Form {
        fields: draft.fields.clone(),
        default: draft.default.clone(),
        denials: draft.denials.clone(),
        runs_in: draft.runs_in.clone(),
    })
}

pub(super) fn fields(fields: &[Field]) -> String {
    json(&fields)
}

pub(super) fn outcome(outcome: &Outcome) -> String {
    json(outcome)
}

/// Returns the JSON of a value. It cannot fail, because no map in these values has keys other than strings.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Converts a row for the hub of `machine`. An unreadable row is an error of the store.
pub(super) fn question(row: questions::Question, machine: &str) -> Result<Question, Error> {
    let broken = || Error::Store(store::Error::Broken { what: "question", id: row.id.clone() });
    let form: Form = serde_json::from_str(&row.form).map_err(|_| broken())?;
    let outcome = match &row.outcome {
        Some(text) => Some(serde_json::from_str::<Outcome>(text).map_err(|_| broken())?),
        None => None,
    };
    let state = match (row.state, outcome) {
        (questions::State::Pending, _) => State::Pending,
        (questions::State::Held, Some(outcome)) => {
            State::Held { until: row.held_until.unwrap_or_default(), outcome }
        }
        (questions::State::Decided, Some(outcome)) => State::Decided(outcome),
        (questions::State::Held | questions::State::Decided, None) => return Err(broken()),
    };
    Ok(Question {
        ticket: Ticket::parse(&row.id).ok_or_else(broken)?,
        seq: row.seq,
        level: if row.level == Level::High.name() { Level::High } else { Level::Normal },
        is_here: row.machine == machine,
        client: row.client,
        workspace: row.workspace,
        runs_in: form.runs_in,
        title: row.title,
        message: row.message,
        fields: form.fields,
        default: form.default,
        denials: form.denials,
        asked_at: row.asked_at,
        deadline: row.deadline,
        seen_at: row.seen_at,
        seen_ms: row.seen_ms,
        snoozed_until: row.snoozed_until,
        deliveries: u32::try_from(row.deliveries).unwrap_or(u32::MAX),
        presence: match (row.present, row.listening) {
            (0, _) => AskerPresence::Disconnected,
            (_, 0) => AskerPresence::Silent,
            _ => AskerPresence::Connected,
        },
        state,
        addressee: row.addressee,
        redacted: false,
    })
}

/// Milliseconds of a span, for a row.
pub(super) fn millis(span: Duration) -> store::Millis {
    store::Millis::try_from(span.as_millis()).unwrap_or(store::Millis::MAX)
}
