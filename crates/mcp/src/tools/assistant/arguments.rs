//! Parser of the assistant tools' arguments.

use serde_json::{Map, Value};

use crate::arguments::{Fault, array, integer, mistyped, string};
use adjutant_assistant::{EventId, UserId};

/// What a client's model answers by.
pub(super) const ANSWERS: &str = "proposals";
/// Answers of one call.
pub(super) const MOST_ANSWERS: usize = 100;

/// Returns the user that the call names, if it names one.
pub(super) fn user(arguments: &Map<String, Value>) -> Result<Option<UserId>, Fault> {
    named(arguments, "user_id", false, UserId::parse)
}

/// Returns the user that the call has to name.
pub(super) fn that_user(arguments: &Map<String, Value>) -> Result<UserId, Fault> {
    named(arguments, "user_id", true, UserId::parse)?.ok_or_else(|| nameless("user_id"))
}

/// Returns the event that the call names, if it names one.
pub(super) fn event(arguments: &Map<String, Value>) -> Result<Option<EventId>, Fault> {
    named(arguments, "event_id", false, EventId::parse)
}

/// Returns the event that the call has to name.
pub(super) fn that_event(arguments: &Map<String, Value>) -> Result<EventId, Fault> {
    named(arguments, "event_id", true, EventId::parse)?.ok_or_else(|| nameless("event_id"))
}

fn named<T>(
    arguments: &Map<String, Value>,
    name: &str,
    required: bool,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Fault> {
    // A client may write `null` for what it leaves out.
    if !required && arguments.get(name).is_some_and(Value::is_null) {
        return Ok(None);
    }
    let Some(text) = string(arguments, name, required)? else { return Ok(None) };
    parse(text).map(Some).ok_or_else(|| nameless(name))
}

fn nameless(name: &str) -> Fault {
    Fault {
        message: format!("argument `{name}` must be 1 to 200 bytes without control characters"),
        path: vec![name.to_owned()],
        validator: "minLength",
        validator_value: Value::from(1),
    }
}

/// Returns a number of days between `least` and `most`; `usual` where it is missing.
pub(super) fn days(
    arguments: &Map<String, Value>,
    name: &str,
    least: u32,
    (usual, most): (u32, u32),
) -> Result<u32, Fault> {
    let Some(days) = integer(arguments, name, u64::from(least))? else { return Ok(usual) };
    match u32::try_from(days) {
        Ok(days) if days <= most => Ok(days),
        Ok(_) | Err(_) => Err(Fault {
            message: format!("argument `{name}` must be at most {most}"),
            path: vec![name.to_owned()],
            validator: "maximum",
            validator_value: Value::from(most),
        }),
    }
}

/// Returns what a client's model answers: questions by their ids, and each answer as the model wrote it.
pub(super) fn answers(arguments: &Map<String, Value>) -> Result<Option<Vec<(String, String)>>, Fault> {
    let Some(all) = array(arguments, ANSWERS)? else { return Ok(None) };
    if all.len() > MOST_ANSWERS {
        return Err(Fault {
            message: format!("argument `{ANSWERS}` must have at most {MOST_ANSWERS} entries"),
            path: vec![ANSWERS.to_owned()],
            validator: "maxItems",
            validator_value: Value::from(MOST_ANSWERS),
        });
    }
    let answer = |(place, entry): (usize, &Value)| {
        let place = place.to_string();
        let below = |fault: Fault| fault.below(&[ANSWERS, &place]);
        let entry = entry.as_object().ok_or_else(|| mistyped(&place, "object").below(&[ANSWERS]))?;
        let question = string(entry, "question", true).map_err(below)?.unwrap_or_default();
        let proposal = match entry.get("proposal") {
            // A model that wrote JSON into a string meant the same.
            Some(Value::String(text)) => text.clone(),
            Some(proposal @ Value::Object(_)) => proposal.to_string(),
            Some(_) => return Err(below(mistyped("proposal", "object"))),
            None => {
                return string(entry, "proposal", true).map(|_| Default::default()).map_err(below);
            }
        };
        Ok((question.to_owned(), proposal))
    };
    all.iter().enumerate().map(answer).collect::<Result<Vec<_>, _>>().map(Some)
}
