//! What a person gives for an answer, and whether it fits the question.

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::question::{Field, Input};

/// One value for each field that was filled in, in the order of the question's fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer(pub(crate) Vec<(String, Given)>);

/// The value of one field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Given {
    /// The values of the chosen options.
    Choices(Vec<String>),
    /// The person's own words instead of an option, where the field allows them.
    Other(String),
    Text(String),
    Number(f64),
    Date(String),
    YesNo(bool),
}

impl Answer {
    /// Returns an answer to a question of one field.
    pub(crate) fn one(field: &str, given: Given) -> Self {
        Self(vec![(field.to_owned(), given)])
    }

    /// Returns the value of a field.
    pub(crate) fn get(&self, field: &str) -> Option<&Given> {
        self.0.iter().find(|(name, _)| name == field).map(|(_, given)| given)
    }

    /// Checks the answer against the fields, puts it into their order and returns it. `largest` is the number of
    /// bytes that a text may have.
    pub(crate) fn fit(self, fields: &[Field], largest: usize) -> Result<Self, Error> {
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

/// Says why a value does not fit its field.
fn fits(field: &Field, given: &Given, largest: usize) -> Result<(), String> {
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
        (Input::Choice { options, min, max, .. }, Given::Choices(values)) => {
            if let Some(value) =
                values.iter().find(|value| options.iter().all(|option| option.value != **value))
            {
                return Err(format!("`{value}` is none of its options"));
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
        (Input::Choice { other: true, .. }, Given::Other(text)) if !text.trim().is_empty() => short(text),
        (Input::Text { min, max, format, .. }, Given::Text(text)) => {
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
        (Input::Number { whole, min, max }, Given::Number(number)) => {
            if !number.is_finite() || (*whole && number.fract() != 0.0) {
                return Err(format!("{number} is no {}number", if *whole { "whole " } else { "" }));
            }
            if min.is_some_and(|min| *number < min) || max.is_some_and(|max| *number > max) {
                return Err(format!("{number} is out of range"));
            }
            Ok(())
        }
        (Input::Date { time: false }, Given::Date(text)) => match text.parse::<jiff::civil::Date>() {
            Ok(date) if date.to_string() == *text => Ok(()),
            _ => Err("a date looks like 2026-11-21".to_owned()),
        },
        (Input::Date { time: true }, Given::Date(text)) => match text.parse::<jiff::Timestamp>() {
            Ok(_) => Ok(()),
            Err(_) => Err("an instant looks like 2026-11-21T09:30:00+01:00".to_owned()),
        },
        (Input::YesNo, Given::YesNo(_)) => Ok(()),
        _ => Err("the value is of another kind than the field".to_owned()),
    }
}
