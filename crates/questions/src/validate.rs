//! Validation of questions and answers: form and sizes. Nothing is truncated, because a user who reads only a part
//! would answer a different question.

use serde_json::Value;

use super::answer::{Answer, FieldValue};
use super::error::Error;
use super::question::{Choice, Draft, Field, Input, Level};
use super::viewer::{GROUP, SEPARATOR};
use adjutant_base::config::questions::QuestionsConfig;

/// Checks a draft; its default, if it has one, comes back in the order of the fields.
pub(super) fn check(draft: Draft, settings: &QuestionsConfig) -> Result<Draft, Error> {
    text(&draft.title, &["title"], settings.max_title_bytes)?;
    if draft.title.trim().is_empty() {
        return Err(fault("the title is empty", &["title"], "minLength", 1));
    }
    text(&draft.message, &["message"], settings.max_message_bytes)?;
    text(&draft.workspace, &["workspacePath"], 4096)?;
    if draft.fields.is_empty() {
        return Err(fault("the question has no field", &["fields"], "minItems", 1));
    }
    if draft.fields.len() > settings.max_fields {
        let message = format!("{} fields are more than {}", draft.fields.len(), settings.max_fields);
        return Err(fault(&message, &["fields"], "maxItems", settings.max_fields));
    }
    for (at, field) in draft.fields.iter().enumerate() {
        check_field(field, settings)?;
        if draft.fields[..at].iter().any(|other| other.name == field.name) {
            return Err(fault(
                &format!("field `{}` is there twice", field.name),
                &["fields"],
                "uniqueItems",
                true,
            ));
        }
    }
    let Some(mut default) = draft.default else { return Ok(draft) };
    if draft.level == Level::High {
        // Any program can pretend that the question was seen, and silence does not prove the passphrase.
        let message = "a question marked high has no default: only the user can answer it";
        return Err(fault(message, &["default"], "not", "high"));
    }
    let fitting = default.answer.fit(&draft.fields, settings.max_answer_bytes);
    default.answer = fitting.map_err(|reason| {
        fault(&format!("the default does not fit: {reason}"), &["default"], "schema", Value::Null)
    })?;
    if default.answer == Answer::default() {
        return Err(fault("the default is empty", &["default"], "minProperties", 1));
    }
    Ok(Draft { default: Some(default), ..draft })
}

/// Checks the form of an addressee, and that its group is in the settings.
pub(super) fn check_addressee(addressee: &str, settings: &QuestionsConfig) -> Result<(), Error> {
    text(addressee, &["for"], 200)?;
    if addressee.contains(|letter: char| letter == SEPARATOR || letter.is_control()) {
        return Err(fault("a user or group has no `|` in its name", &["for"], "pattern", "[^|]*"));
    }
    match addressee.strip_prefix(GROUP) {
        Some(group) if !settings.groups.contains_key(group) => {
            let known = settings.groups.keys().map(|name| format!("{GROUP}{name}")).collect::<Vec<_>>();
            let message = format!(
                "there is no group `{addressee}`; `groups` under [questions] in config.toml has: {}",
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            );
            Err(fault(&message, &["for"], "enum", Value::from(known)))
        }
        _ => Ok(()),
    }
}

fn check_field(field: &Field, settings: &QuestionsConfig) -> Result<(), Error> {
    let here = [field.name.as_str()];
    text(&field.name, &["fields"], 200)?;
    if field.name.is_empty() {
        return Err(fault("a field has no name", &["fields"], "minLength", 1));
    }
    text(&field.label, &here, settings.max_option_bytes)?;
    text(&field.description, &here, settings.max_message_bytes)?;
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

fn check_options(options: &[Choice], settings: &QuestionsConfig) -> Result<(), Error> {
    if options.is_empty() {
        return Err(fault("a choice has no options", &["options"], "minItems", 1));
    }
    if options.len() > settings.max_options {
        let message = format!("{} options are more than {}", options.len(), settings.max_options);
        return Err(fault(&message, &["options"], "maxItems", settings.max_options));
    }
    for (at, option) in options.iter().enumerate() {
        let number = at.to_string();
        text(&option.label, &["options", &number, "label"], settings.max_option_bytes)?;
        text(&option.value, &["options", &number, "value"], settings.max_option_bytes)?;
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
        // The user could not distinguish them.
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

impl Answer {
    /// Checks the answer against the fields, puts it into their order and returns it. `largest` is the number of
    /// bytes that a text may have.
    pub fn fit(self, fields: &[Field], largest: usize) -> Result<Self, Error> {
        if let Some((name, _)) =
            self.0.iter().find(|(name, _)| fields.iter().all(|field| field.name != *name))
        {
            return Err(Error::Answer {
                field: name.clone(),
                reason: "the question has no such field".to_owned(),
            });
        }
        let mut fitting = Vec::with_capacity(fields.len());
        for field in fields {
            let fault = |reason: String| Error::Answer { field: field.name.clone(), reason };
            let mut given = self.0.iter().filter(|(name, _)| *name == field.name).map(|(_, given)| given);
            match (given.next(), given.next()) {
                (Some(_), Some(_)) => return Err(fault("it is answered twice".to_owned())),
                (Some(given), None) => {
                    fits(field, given, largest).map_err(fault)?;
                    fitting.push((field.name.clone(), given.clone()));
                }
                (None, _) if field.required => return Err(fault("an answer is needed".to_owned())),
                (None, _) => {}
            }
        }
        Ok(Self(fitting))
    }
}

/// Returns the reason when a value does not fit its field.
fn fits(field: &Field, given: &FieldValue, largest: usize) -> Result<(), String> {
    let short = |text: &str| {
        if text.contains('\0') {
            Err("it holds a NUL character".to_owned())
        } else if text.len() > largest {
            Err(format!("it has {} bytes, over the limit of {largest}", text.len()))
        } else {
            Ok(())
        }
    };
    match (&field.input, given) {
        (Input::Choice { options, min, max, .. }, FieldValue::Choices(values)) => {
            if let Some(value) =
                values.iter().find(|value| options.iter().all(|option| option.value != **value))
            {
                return Err(format!("`{value}` is not one of its options"));
            }
            let twice = |(at, value): (usize, &String)| values[..at].contains(value);
            if values.iter().enumerate().any(twice) {
                return Err("an option is chosen twice".to_owned());
            }
            let least = if field.required { (*min).max(1) } else { *min };
            if values.len() < least || values.len() > *max {
                return Err(format!(
                    "{} are chosen, and between {least} and {max} are asked for",
                    values.len()
                ));
            }
            Ok(())
        }
        (Input::Choice { other: true, .. }, FieldValue::Other(text)) if !text.trim().is_empty() => {
            short(text)
        }
        (Input::Text { min, max, format, .. }, FieldValue::Text(text)) => {
            short(text)?;
            if let Some(format) = format.filter(|format| !format.takes(text)) {
                return Err(format!("it is not {}", format.wanted()));
            }
            let count = text.chars().count();
            let least = if field.required { (*min).max(1) } else { *min };
            if count < least || count > *max {
                return Err(format!(
                    "it has {count} characters, and between {least} and {max} are asked for"
                ));
            }
            Ok(())
        }
        (Input::Number { whole, min, max }, FieldValue::Number(number)) => {
            if !number.is_finite() || (*whole && number.fract() != 0.0) {
                return Err(format!("{number} is not a {}number", if *whole { "whole " } else { "" }));
            }
            if min.is_some_and(|min| *number < min) || max.is_some_and(|max| *number > max) {
                return Err(format!("{number} is out of range"));
            }
            Ok(())
        }
        (Input::Date { time: false }, FieldValue::Date(text)) => match text.parse::<jiff::civil::Date>() {
            Ok(date) if date.to_string() == *text => Ok(()),
            _ => Err("a date looks like 2026-11-21".to_owned()),
        },
        (Input::Date { time: true }, FieldValue::Date(text)) => match text.parse::<jiff::Timestamp>() {
            Ok(_) => Ok(()),
            Err(_) => Err("an instant looks like 2026-11-21T09:30:00+01:00".to_owned()),
        },
        (Input::YesNo, FieldValue::YesNo(_)) => Ok(()),
        _ => Err("the value is of another kind than the field".to_owned()),
    }
}
