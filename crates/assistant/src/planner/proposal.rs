//! Proposals of notifications and their JSON Schema. A proposal holds no instant, no address and no markup, so that
//! nothing in it can be sent as it is.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::notification::{Offset, Urgency};
use crate::user::ChannelPreference;

/// The longest answer that is read, in bytes.
const MAX_ANSWER: usize = 64 * 1024;
/// Maximum number of violations that are reported back: further ones are mostly of the same kind.
const MAX_FAULTS: usize = 8;
/// The furthest before an event: 30 days.
const MAX_MINUTES: u32 = 30 * 24 * 60;

/// The notifications that a provider proposes for one occurrence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// Whether anything is to be sent at all.
    pub notify: bool,
    /// The reason, for the user who asks later.
    pub reasoning: String,
    pub plan: Vec<ProposedNotification>,
}

/// One proposed notification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposedNotification {
    /// How many units before the start.
    pub before: u32,
    pub unit: Unit,
    pub channel: ChannelPreference,
    pub urgency: Urgency,
    /// One line.
    pub subject: String,
    pub text: String,
    /// The text of a call; empty where `text` will do.
    pub speech: String,
}

adjutant_base::named_enum! {
    /// The unit of the time before an event. Days are civil: the same time of the day, also when the clocks change.
    Unit { Minutes = "minutes", Days = "days" }
}

impl ProposedNotification {
    /// Returns how long before the event the step is due, at most the longest offset that a plan may have.
    pub fn offset(&self) -> Offset {
        match self.unit {
            Unit::Minutes => Offset::Minutes(self.before.min(MAX_MINUTES)),
            Unit::Days => Offset::Days(self.before.min(30)),
        }
    }
}

/// Where an answer breaks the schema, in the words that a model can repair it by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SchemaViolation {
    /// JSON pointer into the answer.
    pub path: String,
    /// The schema's keyword: `required`, `type`, `maximum` …
    pub validator: String,
    pub message: String,
}

/// The schema of a proposal. Every member is required and no other is allowed, which is the form that servers with
/// constrained output take.
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let words = |all: &[&str]| json!({"type": "string", "enum": all});
        let text = |length: u32| json!({"type": "string", "maxLength": length});
        json!({
            "type": "object",
            "properties": {
                "notify": {"type": "boolean"},
                "reasoning": text(1000),
                "plan": {
                    "type": "array",
                    "maxItems": 3,
                    "items": {
                        "type": "object",
                        "properties": {
                            "before": {"type": "integer", "minimum": 0, "maximum": MAX_MINUTES},
                            "unit": words(&["minutes", "days"]),
                            "channel": words(&["email", "call", "both", "popup"]),
                            "urgency": words(&["low", "normal", "high", "urgent"]),
                            "subject": text(120),
                            "text": text(600),
                            "speech": text(400),
                        },
                        "required": ["before", "unit", "channel", "urgency", "subject", "text", "speech"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["notify", "reasoning", "plan"],
            "additionalProperties": false,
        })
    });
    &SCHEMA
}

/// Reads an answer: JSON, or JSON in a fenced block or between sentences, as models without constrained output write.
///
/// # Errors
/// Fails with the violations of the schema, at most eight.
pub fn read(answer: &str) -> Result<Proposal, Vec<SchemaViolation>> {
    static VALIDATOR: LazyLock<Option<Validator>> =
        LazyLock::new(|| jsonschema::validator_for(schema()).ok());
    let violation = |validator: &str, message: String| {
        Err(vec![SchemaViolation { path: String::new(), validator: validator.to_owned(), message }])
    };
    if answer.len() > MAX_ANSWER {
        return violation(
            "length",
            format!("the answer has {} bytes; at most {MAX_ANSWER} are read", answer.len()),
        );
    }
    let inner = answer.find('{').zip(answer.rfind('}')).filter(|(from, to)| from < to);
    let Some((from, to)) = inner else {
        return violation("json", "the answer holds no JSON object".to_owned());
    };
    let value: Value = match serde_json::from_str(&answer[from..=to]) {
        Ok(value) => value,
        Err(error) => return violation("json", format!("the answer is not JSON: {error}")),
    };
    if let Some(validator) = VALIDATOR.as_ref() {
        let violations: Vec<SchemaViolation> = validator
            .iter_errors(&value)
            .take(MAX_FAULTS)
            .map(|error| SchemaViolation {
                path: error.instance_path().to_string(),
                validator: error.kind().keyword().to_owned(),
                message: error.masked().to_string(),
            })
            .collect();
        if !violations.is_empty() {
            return Err(violations);
        }
    }
    serde_json::from_value(value).or_else(|error| violation("type", error.to_string()))
}
