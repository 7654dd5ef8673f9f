//! The arguments of `triggerPopup`: those of the contract, and a few more that nobody needs.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::arguments::{Fault, array, boolean, choice, integer, mistyped, string};
use adjutant_questions::{Answer, Choice, DefaultAnswer, Draft, Field, FieldValue, Input, Level};

/// The one field of such a question.
pub(super) const FIELD: &str = "answer";

/// Characters of a free answer at most; the desk counts its bytes as well.
pub(super) const TEXT: usize = 20_000;

/// How long a default needs to have been seen when its asker did not say.
const SEEN: u64 = 30;

/// Reads a question of one choice, or of free text where there are no options.
pub(crate) fn draft(arguments: &Map<String, Value>) -> Result<Draft, Fault> {
    let options = options(arguments)?;
    let other = boolean(arguments, "allow_other")?;
    let input = if options.is_empty() {
        Input::Text { multiline: true, min: 0, max: TEXT, format: None }
    } else {
        Input::Choice { options, min: 1, max: 1, other, list: false }
    };
    let default = string(arguments, "default", false)?.map(|value| match &input {
        Input::Choice { options, .. } if options.iter().any(|option| option.value == value) => {
            FieldValue::Choices(vec![value.to_owned()])
        }
        Input::Choice { other: true, .. } => FieldValue::Other(value.to_owned()),
        Input::Choice { .. } => FieldValue::Choices(vec![value.to_owned()]),
        _ => FieldValue::Text(value.to_owned()),
    });
    let seen = integer(arguments, "default_after_seconds", 1)?.unwrap_or(SEEN);
    let field = Field {
        name: FIELD.to_owned(),
        label: String::new(),
        description: String::new(),
        required: true,
        input,
    };
    let default = default
        .map(|given| DefaultAnswer { answer: Answer::one(FIELD, given), after: Duration::from_secs(seen) });
    Ok(Draft { fields: vec![field], default, ..about(arguments)? })
}

/// Reads what every question has.
pub(super) fn about(arguments: &Map<String, Value>) -> Result<Draft, Fault> {
    let text = |name, required| Ok(string(arguments, name, required)?.unwrap_or_default().to_owned());
    let level = choice(arguments, "level", &[Level::Normal, Level::High], Level::as_str)?;
    Ok(Draft {
        title: text("title", true)?,
        message: text("message", false)?,
        workspace: text("workspacePath", false)?,
        level: level.unwrap_or_default(),
        timeout: integer(arguments, "timeout_seconds", 1)?.map(Duration::from_secs),
        ..Draft::default()
    })
}

fn options(arguments: &Map<String, Value>) -> Result<Vec<Choice>, Fault> {
    let Some(given) = array(arguments, "options")? else { return Ok(Vec::new()) };
    given.iter().enumerate().map(|(at, option)| one(option, at)).collect()
}

/// One option; a label without a value is its own value, and the other way round.
fn one(option: &Value, at: usize) -> Result<Choice, Fault> {
    let at = at.to_string();
    let here = ["options", at.as_str()];
    let Value::Object(option) = option else {
        return Err(Fault { path: here.map(str::to_owned).to_vec(), ..mistyped("options", "object") });
    };
    let read = |name| string(option, name, false).map_err(|fault| fault.below(&here));
    let (label, value) = (read("label")?, read("value")?);
    let (Some(label), Some(value)) = (label.or(value), value.or(label)) else {
        return Err(string(option, "label", true)
            .err()
            .map_or_else(|| mistyped("options", "object"), |fault| fault.below(&here)));
    };
    Ok(Choice { label: label.to_owned(), value: value.to_owned() })
}
