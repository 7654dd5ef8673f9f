//! The form of a question: its fields for the template, and the submitted values as an answer.

use minijinja::{Value, context};

use super::view::label_parts;
use crate::request::Fields;
use adjutant_questions::{Answer, Choice, Field, FieldValue, Input};

/// The fields of the form. The fields of a question are `f0`, `f1`, … and their options have numbers, so no text of an
/// agent is a name here.
#[derive(Debug, Default)]
pub(super) struct Filled(pub(super) Fields);

/// The value of the option for the user's own text.
const OTHER: &str = "other";

impl Filled {
    /// Returns the fields of a form with this answer.
    pub(super) fn of(answer: &Answer, fields: &[Field], note: Option<&str>) -> Self {
        let mut pairs = Vec::new();
        for (number, field) in fields.iter().enumerate() {
            let name = format!("f{number}");
            match (answer.get(&field.name), &field.input) {
                (Some(FieldValue::Choices(values)), Input::Choice { options, .. }) => {
                    let chosen =
                        options.iter().enumerate().filter(|(_, option)| values.contains(&option.value));
                    pairs.extend(chosen.map(|(option, _)| (name.clone(), option.to_string())));
                }
                (Some(FieldValue::Other(text)), _) => {
                    pairs.push((name.clone(), OTHER.to_owned()));
                    pairs.push((format!("{name}.{OTHER}"), text.clone()));
                }
                (Some(FieldValue::Text(text) | FieldValue::Date(text)), _) => {
                    pairs.push((name, text.clone()));
                }
                (Some(FieldValue::Number(number)), _) => pairs.push((name, number.to_string())),
                (Some(FieldValue::YesNo(yes)), _) => {
                    pairs.push((name, if *yes { "yes" } else { "no" }.to_owned()));
                }
                (Some(FieldValue::Choices(_) | FieldValue::Secret) | None, _) => {}
            }
        }
        pairs.extend(note.map(|note| ("note".to_owned(), note.to_owned())));
        Self(Fields(pairs))
    }

    /// Returns the value of a field of the form; empty if there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name)
    }

    /// Returns the answer. A value that does not parse stays text, so that the domain rejects it.
    pub(super) fn answer(&self, fields: &[Field]) -> Answer {
        let values = fields.iter().enumerate().filter_map(|(number, field)| {
            Some((field.name.clone(), self.value(&format!("f{number}"), field)?))
        });
        Answer(values.collect())
    }

    fn value(&self, name: &str, field: &Field) -> Option<FieldValue> {
        let text = self.get(name);
        match &field.input {
            Input::Choice { options, .. } => {
                let chosen: Vec<&str> = self.0.all(name).collect();
                let other = self.get(&format!("{name}.{OTHER}"));
                if chosen.contains(&OTHER) {
                    return Some(FieldValue::Other(other.to_owned()));
                }
                let value = |number: &&str| Some(options.get(number.parse::<usize>().ok()?)?.value.clone());
                let values: Vec<String> = chosen.iter().filter_map(value).collect();
                match (values.is_empty(), other.trim().is_empty()) {
                    // The user's own text counts without its option.
                    (true, false) => Some(FieldValue::Other(other.to_owned())),
                    (true, true) => None,
                    (false, _) => Some(FieldValue::Choices(values)),
                }
            }
            Input::Text { .. } => (!text.is_empty()).then(|| FieldValue::Text(text.to_owned())),
            Input::Number { .. } => match text.trim() {
                "" => None,
                number => Some(
                    number.parse().map_or_else(|_| FieldValue::Text(text.to_owned()), FieldValue::Number),
                ),
            },
            Input::Date { .. } => (!text.trim().is_empty()).then(|| FieldValue::Date(text.trim().to_owned())),
            Input::YesNo => match text {
                "yes" => Some(FieldValue::YesNo(true)),
                "no" => Some(FieldValue::YesNo(false)),
                _ => None,
            },
        }
    }
}

/// The error of a form: a sentence fragment, and the name of the question's field, if it is about one.
pub(super) struct InvalidAnswer {
    pub(super) field: Option<String>,
    pub(super) message: String,
}

/// Returns the fields for the template. Only the options of the first choice have digits, because a key must have one
/// meaning.
pub(super) fn fields(fields: &[Field], filled: &Filled, error: Option<&InvalidAnswer>) -> Vec<Value> {
    let first = fields.iter().position(|field| matches!(field.input, Input::Choice { .. } | Input::YesNo));
    let shown = fields.iter().enumerate().map(|(number, field)| {
        let name = format!("f{number}");
        let error = error.filter(|error| error.field.as_ref() == Some(&field.name));
        let error = error.map(|error| match (filled.value(&name, field), &field.input) {
            (None, Input::Choice { .. } | Input::YesNo) => "choose an answer",
            (None, _) => "enter an answer",
            _ => error.message.as_str(),
        });
        let digits = first == Some(number);
        let about = about(field);
        context! {
            id => &name,
            label => &field.label,
            description => &field.description,
            required => field.required,
            secret => field.secret,
            error,
            about,
            ..kind(&name, field, filled, digits),
        }
    });
    shown.collect()
}

fn kind(name: &str, field: &Field, filled: &Filled, digits: bool) -> Value {
    // A secret is not written into a page, also when another field is rejected.
    let typed = |name: &str| if field.secret { String::new() } else { filled.get(name).to_owned() };
    let value = typed(name);
    let chosen: Vec<&str> = filled.0.all(name).collect();
    let option = |number: usize, value: &str, label: &str| {
        let digit = (digits && number < 9).then_some(number + 1);
        let checked = chosen.contains(&value);
        context! { id => format!("{name}-{number}"), value, digit, checked, ..label_parts(label) }
    };
    match &field.input {
        Input::Choice { options, max, other, .. } => {
            let choices = options.iter().enumerate();
            let choices =
                choices.map(|(number, Choice { label, .. })| option(number, &number.to_string(), label));
            let mut choices: Vec<Value> = choices.collect();
            if *other {
                choices.push(option(options.len(), OTHER, "Something else"));
            }
            context! {
                kind => if *max == 1 { "radio" } else { "checkbox" },
                options => choices,
                other => other.then(|| typed(&format!("{name}.{OTHER}"))),
            }
        }
        Input::YesNo => {
            context! { kind => "radio", options => [option(0, "yes", "Yes"), option(1, "no", "No")], other => () }
        }
        Input::Text { multiline: true, max, .. } if !field.secret => context! { kind => "lines", value, max },
        Input::Text { max, .. } => context! { kind => "text", value, max },
        Input::Number { whole, min, max } => context! { kind => "number", value, whole, min, max },
        Input::Date { time: false } => context! { kind => "date", value },
        Input::Date { time: true } => context! { kind => "instant", value },
    }
}

/// Returns a hint about the expected value; empty if it is obvious.
fn about(field: &Field) -> String {
    match &field.input {
        Input::Choice { min, max, .. } if *max > 1 => match (min, max) {
            (0 | 1, max) => format!("Choose up to {max}."),
            (min, max) if min == max => format!("Choose {min}."),
            (min, max) => format!("Choose {min} to {max}."),
        },
        Input::Text { format: Some(format), .. } => format!("Asks for {}.", format.wanted()),
        Input::Text { min, .. } if *min > 1 => format!("At least {min} characters."),
        Input::Number { whole, min, max } => {
            let kind = if *whole { "A whole number" } else { "A number" };
            match (min, max) {
                (Some(min), Some(max)) => format!("{kind} from {min} to {max}."),
                (Some(min), None) => format!("{kind}, {min} or more."),
                (None, Some(max)) => format!("{kind}, {max} or less."),
                (None, None) => format!("{kind}."),
            }
        }
        Input::Date { time: true } => "A moment with its offset, like 2026-11-21T09:30:00+01:00.".to_owned(),
        _ => String::new(),
    }
}
