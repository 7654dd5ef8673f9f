//! What a model is asked. The event's text is data in it: whatever it says, the answer is a proposal and is verified.

use serde_json::{Value, json};

use super::super::instructions::POLICY;
use super::super::notification::Channel;
use super::Situation;
use super::proposal::{Fault, schema};
use super::times::spoken;
use super::verify::{counts, reaches};

/// So much of an event's description a model sees, in characters.
const DESCRIPTION: usize = 1000;

/// A question to a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    /// Who the model is, and what it may answer; the same for every question.
    pub(crate) system: &'static str,
    /// The situation, as JSON.
    pub(crate) user: String,
    /// What the answer must look like.
    pub(crate) schema: &'static Value,
}

impl Question {
    /// Who the model is, with the schema in words: not every server or client holds a model to one.
    pub(crate) fn instructions(&self) -> String {
        format!("{}\n\nThe JSON Schema of the answer:\n{}", self.system, self.schema)
    }
}

/// Puts a situation into words for a model. Times have their weekday and zone with them; addresses are left out.
pub(crate) fn question(situation: &Situation<'_>) -> Question {
    let Situation { user, event, occurrence, rules, history, now, .. } = situation;
    let preferences = &user.preferences;
    let zone = &preferences.zone;
    let minutes = (occurrence.starts_at.as_second() - now.as_second()) / 60;
    // Of the ways that a proposal can name, those that lead to the user.
    let ways = [Channel::Email, Channel::Call, Channel::Popup].into_iter();
    let ways: Vec<Channel> = ways.filter(|way| reaches(situation, *way)).collect();
    let rules: Vec<Value> =
        rules.iter().map(|rule| json!({"kind": rule.kind, "terms": rule.terms})).collect();
    // What only waits, or went wrong, was not told.
    let told = history.iter().filter(|one| counts(one.status));
    let told: Vec<Value> = told
        .map(|one| json!({"channel": one.channel, "status": one.status, "due": spoken(one.due_at, zone)}))
        .collect();
    let situation = json!({
        "now": spoken(*now, zone),
        "event": {
            "title": event.title,
            "starts": spoken(occurrence.starts_at, zone),
            "ends": spoken(occurrence.ends_at, zone),
            "minutes_until_start": minutes,
            "all_day": event.details.when.all_day,
            "location": event.details.location,
            "organizer": event.details.organizer,
            "attendees": event.details.attendees.len(),
            "description": event.details.description.chars().take(DESCRIPTION).collect::<String>(),
        },
        "preferences": {
            "channels": preferences.channels,
            "quiet_hours": preferences.quiet,
            "weekend": preferences.weekend,
            "urgent_within_minutes": preferences.escalation_minutes,
            "locale": preferences.locale,
        },
        "possible_channels": ways,
        "rules": rules,
        "told_already": told,
    });
    let user = serde_json::to_string_pretty(&situation).unwrap_or_default();
    Question { system: POLICY, user, schema: schema() }
}

/// Asks for an answer that keeps the schema. The faults are told, not what the model wrote.
pub(crate) fn repair(faults: &[Fault]) -> String {
    let list = faults
        .iter()
        .map(|fault| format!("- at `{}`: {} ({})\n", fault.path, fault.message, fault.validator))
        .collect::<Vec<_>>()
        .concat();
    format!("The answer does not keep the schema:\n{list}Answer again with the corrected JSON object alone.")
}
