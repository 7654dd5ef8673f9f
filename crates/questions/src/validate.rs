//! Whether a question can be asked: its form and its sizes. Nothing is cut short, for a person who reads less than was
//! written would answer another question.

use serde_json::Value;

use super::answer::Answer;
use super::error::Error;
use super::question::{Choice, Draft, Field, Input, Level};
use crate::config::popups::PopupsConfig;

/// Checks a draft; its default, if it has one, comes back in the order of the fields.
pub(super) fn check(draft: Draft, settings: &PopupsConfig) -> Result<Draft, Error> {
    text(&draft.title, &["title"], settings.largest_title)?;
    if draft.title.trim().is_empty() {
        return Err(fault("the title is empty", &["title"], "minLength", 1));
    }
    text(&draft.message, &["message"], settings.largest_message)?;
    text(&draft.workspace, &["workspacePath"], 4096)?;
    if draft.fields.is_empty() {
        return Err(fault("the question has no field", &["fields"], "minItems", 1));
    }
    if draft.fields.len() > settings.most_fields {
        let message = format!("{} fields are more than {}", draft.fields.len(), settings.most_fields);
        return Err(fault(&message, &["fields"], "maxItems", settings.most_fields));
    }
    for (at, field) in draft.fields.iter().enumerate() {
        check_field(field, settings)?;
        if draft.fields[..at].iter().any(|other| other.name == field.name) {
            return Err(fault(
                &format!("field `{}` stands twice", field.name),
                &["fields"],
                "uniqueItems",
                true,
            ));
        }
    }
    let Some(mut default) = draft.default else { return Ok(draft) };
    if draft.level == Level::High {
        // Anybody can pretend that the question was seen, and silence is no passphrase.
        let message = "a question marked high has no default: only the person can answer it";
        return Err(fault(message, &["default"], "not", "high"));
    }
    let fitting = default.answer.fit(&draft.fields, settings.largest_answer);
    default.answer = fitting.map_err(|reason| {
        fault(&format!("the default does not fit: {reason}"), &["default"], "schema", Value::Null)
    })?;
    if default.answer == Answer::default() {
        return Err(fault("the default answers nothing", &["default"], "minProperties", 1));
    }
    Ok(Draft { default: Some(default), ..draft })
}

fn check_field(field: &Field, settings: &PopupsConfig) -> Result<(), Error> {
    let here = [field.name.as_str()];
    text(&field.name, &["fields"], 200)?;
    if field.name.is_empty() {
        return Err(fault("a field has no name", &["fields"], "minLength", 1));
    }
    text(&field.label, &here, settings.largest_option)?;
    text(&field.description, &here, settings.largest_message)?;
    match &field.input {
        Input::Choice { options, min, max, .. } => {
            check_options(options, settings)?;
            if *max == 0 || min > max || *min > options.len() {
                let message =
                    format!("field `{}` asks for {min} to {max} of {} options", field.name, options.len());
                return Err(fault(&message, &here, "maxItems", *max));
            }
        }
        Input::Text { min, max, .. } if min > max || *max == 0 => {
            let message = format!("field `{}` asks for {min} to {max} characters", field.name);
            return Err(fault(&message, &here, "maxLength", *max));
        }
        Input::Number { min: Some(min), max: Some(max), .. } if min > max => {
            let message = format!("field `{}` asks for a number between {min} and {max}", field.name);
            return Err(fault(&message, &here, "maximum", *max));
        }
        Input::Text { .. } | Input::Number { .. } | Input::Date { .. } | Input::YesNo => {}
    }
    Ok(())
}

fn check_options(options: &[Choice], settings: &PopupsConfig) -> Result<(), Error> {
    if options.is_empty() {
        return Err(fault("a choice has no options", &["options"], "minItems", 1));
    }
    if options.len() > settings.most_options {
        let message = format!("{} options are more than {}", options.len(), settings.most_options);
        return Err(fault(&message, &["options"], "maxItems", settings.most_options));
    }
    for (at, option) in options.iter().enumerate() {
        let number = at.to_string();
        text(&option.label, &["options", &number, "label"], settings.largest_option)?;
        text(&option.value, &["options", &number, "value"], settings.largest_option)?;
        if option.label.trim().is_empty() {
            return Err(fault(
                "an option has an empty label",
                &["options", &number, "label"],
                "minLength",
                1,
            ));
        }
        if options[..at].iter().any(|other| other.value == option.value) {
            let message = format!("two options have the value `{}`", option.value);
            return Err(fault(&message, &["options", &number, "value"], "uniqueItems", true));
        }
        // The person could not tell them apart.
        if options[..at].iter().any(|other| other.label.trim() == option.label.trim()) {
            let message = format!("two options have the label `{}`", option.label);
            return Err(fault(&message, &["options", &number, "label"], "uniqueItems", true));
        }
    }
    Ok(())
}

fn text(text: &str, path: &[&str], limit: usize) -> Result<(), Error> {
    let name = path.last().copied().unwrap_or_default();
    if text.len() > limit {
        let message = format!("`{name}` has {} bytes, over the limit of {limit}", text.len());
        return Err(fault(&message, path, "maxLength", limit));
    }
    if text.contains('\0') {
        return Err(fault(&format!("`{name}` holds a NUL character"), path, "pattern", "^[^\\u0000]*$"));
    }
    Ok(())
}

fn fault(message: &str, path: &[&str], validator: &'static str, expected: impl Into<Value>) -> Error {
    Error::Invalid {
        message: message.to_owned(),
        path: path.iter().map(|step| (*step).to_owned()).collect(),
        validator,
        expected: expected.into(),
    }
}
