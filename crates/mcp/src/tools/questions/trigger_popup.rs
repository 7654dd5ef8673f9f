//! The arguments of `triggerPopup`: those of the contract, and a few optional ones.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::arguments::{ArgumentError, array, boolean, choice, integer, string};
use adjutant_questions::{Answer, Choice, DefaultAnswer, Draft, Field, FieldValue, Input, Level};

/// The one field of such a question.
pub(super) const FIELD: &str = "answer";

/// Maximum characters of a free answer; the domain limits its bytes as well.
pub(super) const MAX_TEXT: usize = 20_000;

/// Seconds for which a default answer must have been visible, unless the asker says otherwise.
const DEFAULT_SEEN_SECONDS: u64 = 30;

/// Parses a question with one choice, or with free text if there are no options.
pub(crate) fn draft(arguments: &Map<String, Value>) -> Result<Draft, ArgumentError> {
    let options = options(arguments)?;
    let other = boolean(arguments, "allow_other")?;
    let input = if options.is_empty() {
        Input::Text { multiline: true, min: 0, max: MAX_TEXT, format: None }
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
    let seen = integer(arguments, "default_after_seconds", 1)?.unwrap_or(DEFAULT_SEEN_SECONDS);
    let default = default
        .map(|value| DefaultAnswer { answer: Answer::one(FIELD, value), after: Duration::from_secs(seen) });
    Ok(Draft { fields: vec![Field::new(FIELD, input)], default, ..common(arguments)? })
}

/// Parses the arguments that every question has.
pub(super) fn common(arguments: &Map<String, Value>) -> Result<Draft, ArgumentError> {
    let text = |name, required| Ok(string(arguments, name, required)?.unwrap_or_default().to_owned());
    let level = choice(arguments, "level", &[Level::Normal, Level::High], Level::name)?;
    Ok(Draft {
        title: text("title", true)?,
        message: text("message", false)?,
        workspace: text("workspacePath", false)?,
        level: level.unwrap_or_default(),
        timeout: integer(arguments, "timeout_seconds", 1)?.map(Duration::from_secs),
        ..Draft::default()
    })
}

fn options(arguments: &Map<String, Value>) -> Result<Vec<Choice>, ArgumentError> {
    let Some(options) = array(arguments, "options")? else { return Ok(Vec::new()) };
    options.iter().enumerate().map(|(position, value)| option(value, position)).collect()
}

/// Parses an option. Of label and value one may be missing; then both are the same.
fn option(option: &Value, position: usize) -> Result<Choice, ArgumentError> {
    let position = position.to_string();
    let path = ["options", position.as_str()];
    let Value::Object(option) = option else {
        return Err(ArgumentError {
            path: path.map(str::to_owned).to_vec(),
            ..ArgumentError::wrong_type("options", "object")
        });
    };
    let read = |name| string(option, name, false).map_err(|error| error.below(&path));
    let (label, value) = (read("label")?, read("value")?);
    let (Some(label), Some(value)) = (label.or(value), value.or(label)) else {
        return Err(string(option, "label", true)
            .err()
            .map_or_else(|| ArgumentError::wrong_type("options", "object"), |error| error.below(&path)));
    };
    Ok(Choice { label: label.to_owned(), value: value.to_owned() })
}
