//! The prompt that asks a model for a proposal. The event's text is data in it, and the answer is verified.

use serde_json::{Value, json};

use super::channel_choice::reaches;
use super::due_times::spoken;
use super::proposal::schema;
use super::situation::Situation;
use super::verify::counts;
use crate::llm_prompts::POLICY;
use crate::notification::Channel;

/// Maximum characters of an event's description in a prompt.
const MAX_DESCRIPTION_CHARS: usize = 1000;

/// The prompt of one query to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannerPrompt {
    /// The role of the model and the rules of its answer; the same for every query.
    pub system: &'static str,
    /// The situation, as JSON.
    pub user: String,
    /// The JSON Schema of the answer.
    pub schema: &'static Value,
}

impl PlannerPrompt {
    /// Returns the role and the rules with the schema, because not every server or client enforces a schema.
    pub fn instructions(&self) -> String {
        format!("{}\n\nThe JSON Schema of the answer:\n{}", self.system, self.schema)
    }
}

/// Puts a situation into words for a model. Times have their weekday and zone with them; addresses are left out.
pub(crate) fn planner_prompt(situation: &Situation<'_>) -> PlannerPrompt {
    let Situation { user, event, occurrence, rules, history, now, .. } = situation;
    let preferences = &user.preferences;
    let zone = &preferences.zone;
    let minutes = (occurrence.starts_at.as_second() - now.as_second()) / 60;
    // Of the channels that a proposal can name, those that reach the user.
    let ways = [Channel::Email, Channel::Call, Channel::Popup].into_iter();
    let ways: Vec<Channel> = ways.filter(|way| reaches(situation, *way)).collect();
    let rules: Vec<Value> =
        rules.iter().map(|rule| json!({"kind": rule.kind, "terms": rule.terms})).collect();
    // A planned or failed notification does not count as sent.
    let sent = history.iter().filter(|one| counts(one.status));
    let sent: Vec<Value> = sent
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
            "description": event.details.description.chars().take(MAX_DESCRIPTION_CHARS).collect::<String>(),
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
        "sent_already": sent,
    });
    let user = serde_json::to_string_pretty(&situation).unwrap_or_default();
    PlannerPrompt { system: POLICY, user, schema: schema() }
}
