//! The form of a prompt's declared arguments, and its submitted values as typed values.

use minijinja::{Value as TemplateValue, context};
use serde_json::{Map, Number, Value};

use super::request::Fields;
use adjutant_prompts::{Argument, ArgumentType, Prompt};

/// The prefix of declared arguments, so that they differ from the page's own fields.
const PREFIX: &str = "arg.";

/// The submitted values of the form.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// The text after the command.
    pub(super) text: String,
    /// Values by argument name, as text; an unchecked box is absent.
    arguments: Fields,
    /// Whether to send the whole expansion as a file.
    pub(super) download: bool,
}

impl Answers {
    /// Takes the fields of a submitted form.
    pub(super) fn new(fields: Fields) -> Self {
        let mut answers = Self::default();
        for (name, value) in fields.0 {
            match name.as_str() {
                "input" => answers.text = value,
                "download" => answers.download = true,
                other => {
                    if let Some(argument) = other.strip_prefix(PREFIX) {
                        answers.arguments.0.push((argument.to_owned(), value));
                    }
                }
            }
        }
        answers
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.arguments.all(name).next()
    }

    /// Returns the values of the arguments. A value that does not parse as its type stays text, so that the domain rejects
    /// it; an empty field is a missing argument.
    pub(super) fn values(&self, arguments: &[Argument]) -> Map<String, Value> {
        let mut values = Map::new();
        for argument in arguments {
            let value = self.get(&argument.name);
            if argument.kind == ArgumentType::Boolean && argument.choices.is_empty() {
                values.insert(argument.name.clone(), Value::Bool(value.is_some()));
            } else if let Some(text) = value.filter(|text| !text.is_empty()) {
                values.insert(argument.name.clone(), typed(argument, text));
            }
        }
        values
    }
}

fn typed(argument: &Argument, text: &str) -> Value {
    if let Some(choice) = argument.choices.iter().find(|choice| label(choice) == text) {
        return choice.clone();
    }
    let number: Option<Number> = match argument.kind {
        ArgumentType::String | ArgumentType::Boolean => None,
        ArgumentType::Integer => text.trim().parse::<i64>().ok().map(Number::from),
        ArgumentType::Number => text.trim().parse::<Number>().ok(),
    };
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// The error of an answer, and its argument, if it is about one.
pub(super) struct InvalidAnswer {
    pub(super) argument: Option<String>,
    pub(super) message: String,
}

/// Returns the fields for the template, with the values of `answers`, or the defaults without any.
pub(super) fn fields(
    prompt: &Prompt,
    answers: Option<&Answers>,
    invalid: Option<&InvalidAnswer>,
) -> Vec<TemplateValue> {
    prompt
        .arguments
        .iter()
        .enumerate()
        .map(|(position, argument)| field(position, argument, answers, invalid))
        .collect()
}

fn field(
    position: usize,
    argument: &Argument,
    answers: Option<&Answers>,
    invalid: Option<&InvalidAnswer>,
) -> TemplateValue {
    let default = argument.default.as_ref().map(label).unwrap_or_default();
    let (value, checked) = match answers {
        Some(answers) => {
            let value = answers.get(&argument.name);
            (value.unwrap_or_default().to_owned(), value.is_some())
        }
        None => (default.clone(), argument.default == Some(Value::Bool(true))),
    };
    let choices: Vec<TemplateValue> = argument
        .choices
        .iter()
        .map(|choice| {
            let label = label(choice);
            context! { selected => label == value, label }
        })
        .collect();
    let kind = match argument.kind {
        _ if !choices.is_empty() => "choice",
        // The text after the command often has several lines.
        ArgumentType::String if argument.name == "input" => "lines",
        ArgumentType::String => "text",
        ArgumentType::Integer => "integer",
        ArgumentType::Number => "number",
        ArgumentType::Boolean => "flag",
    };
    let error = invalid
        .filter(|invalid| invalid.argument.as_ref() == Some(&argument.name))
        .map(|invalid| invalid.message.as_str());
    context! {
        id => format!("field-{position}"),
        field => format!("{PREFIX}{}", argument.name),
        name => &argument.name,
        description => &argument.description,
        kind,
        kind_name => kind_name(argument.kind),
        required => argument.required,
        default,
        pattern => argument.pattern.as_deref(),
        value,
        checked,
        choices,
        error,
    }
}

fn kind_name(kind: ArgumentType) -> &'static str {
    match kind {
        ArgumentType::String => "text",
        ArgumentType::Integer => "whole number",
        ArgumentType::Number => "number",
        ArgumentType::Boolean => "yes or no",
    }
}

/// Returns a value as a form shows it: text as it is, everything else as JSON.
fn label(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
