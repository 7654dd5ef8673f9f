//! Parser of the assistant tools' arguments.

use std::str::FromStr;

use serde_json::{Map, Value};

use crate::arguments::{ArgumentError, array, integer, required_string};
use adjutant_assistant::ids::MAX_LEN;
use adjutant_assistant::{EventId, UserId};

/// The argument with the answers of a client's model.
pub(super) const ANSWERS: &str = "proposals";
/// Maximum answers of one call.
pub(super) const MAX_ANSWERS: usize = 100;

/// Returns the user that the call names, if it names one.
pub(super) fn user(arguments: &Map<String, Value>) -> Result<Option<UserId>, ArgumentError> {
    optional_id(arguments, "user_id")
}

/// Returns the user that the call has to name.
pub(super) fn required_user(arguments: &Map<String, Value>) -> Result<UserId, ArgumentError> {
    required_id(arguments, "user_id")
}

/// Returns the event that the call names, if it names one.
pub(super) fn event(arguments: &Map<String, Value>) -> Result<Option<EventId>, ArgumentError> {
    optional_id(arguments, "event_id")
}

/// Returns the event that the call has to name.
pub(super) fn required_event(arguments: &Map<String, Value>) -> Result<EventId, ArgumentError> {
    required_id(arguments, "event_id")
}

fn optional_id<T: FromStr>(arguments: &Map<String, Value>, name: &str) -> Result<Option<T>, ArgumentError> {
    // A client may write `null` for an argument that it leaves out.
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => required_id(arguments, name).map(Some),
    }
}

fn required_id<T: FromStr>(arguments: &Map<String, Value>, name: &str) -> Result<T, ArgumentError> {
    let text = required_string(arguments, name)?;
    text.parse().map_err(|_| match text.len() {
        0 => ArgumentError::new(name, "must not be empty", "minLength", 1),
        length if length > MAX_LEN => {
            let reason = format!("must have at most {MAX_LEN} bytes, and has {length}");
            ArgumentError::new(name, &reason, "maxLength", MAX_LEN)
        }
        _ => ArgumentError::new(name, "must have no control characters", "pattern", r"^\P{Cc}*$"),
    })
}

/// Returns a number of days between `min` and `max`; `default` where it is missing.
pub(super) fn days(
    arguments: &Map<String, Value>,
    name: &str,
    min: u32,
    (default, max): (u32, u32),
) -> Result<u32, ArgumentError> {
    let Some(days) = integer(arguments, name, u64::from(min))? else { return Ok(default) };
    u32::try_from(days)
        .ok()
        .filter(|days| *days <= max)
        .ok_or_else(|| ArgumentError::new(name, &format!("must be at most {max}"), "maximum", max))
}

/// Returns the answers of a client's model: the questions by their ids, and each answer as the model wrote it.
pub(super) fn answers(
    arguments: &Map<String, Value>,
) -> Result<Option<Vec<(String, String)>>, ArgumentError> {
    let Some(all) = array(arguments, ANSWERS)? else { return Ok(None) };
    if all.len() > MAX_ANSWERS {
        let reason = format!("must have at most {MAX_ANSWERS} entries");
        return Err(ArgumentError::new(ANSWERS, &reason, "maxItems", MAX_ANSWERS));
    }
    let answer = |(position, entry): (usize, &Value)| {
        let position = position.to_string();
        let below = |error: ArgumentError| error.below(&[ANSWERS, &position]);
        let wrong_entry = || ArgumentError::wrong_type(&position, "object").below(&[ANSWERS]);
        let entry = entry.as_object().ok_or_else(wrong_entry)?;
        let question = required_string(entry, "question").map_err(below)?;
        let proposal = match entry.get("proposal") {
            // A model that wrote JSON into a string meant the same.
            Some(Value::String(text)) => text.clone(),
            Some(proposal @ Value::Object(_)) => proposal.to_string(),
            Some(_) => return Err(below(ArgumentError::wrong_type("proposal", "object"))),
            None => return Err(below(ArgumentError::missing("proposal"))),
        };
        Ok((question.to_owned(), proposal))
    };
    all.iter().enumerate().map(answer).collect::<Result<Vec<_>, _>>().map(Some)
}
