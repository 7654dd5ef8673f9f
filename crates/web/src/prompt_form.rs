//! The form of a prompt's declared arguments, and its submitted values as typed values.

use minijinja::{Value as Shown, context};
use serde_json::{Map, Number, Value};

use adjutant_prompts::{Argument, ArgumentType, Prompt};

/// Declared arguments are sent under this prefix, so that none can be taken for a field of the page itself.
const PREFIX: &str = "arg.";

/// What a person filled in.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// The text behind the command.
    pub(super) text: String,
    /// Values by argument name, as text; a box that was not ticked is absent.
    fields: Vec<(String, String)>,
    /// The whole expansion is wanted as a file.
    pub(super) download: bool,
}

impl Answers {
    /// Takes the pairs of a submitted form. A browser sends a line break as CR LF; a prompt has LF.
    pub(super) fn new(pairs: Vec<(String, String)>) -> Self {
        let mut answers = Self::default();
        for (name, value) in pairs {
            let value = value.replace("\r\n", "\n");
            match name.as_str() {
                "input" => answers.text = value,
                "download" => answers.download = true,
                other => {
                    if let Some(argument) = other.strip_prefix(PREFIX) {
                        answers.fields.push((argument.to_owned(), value));
                    }
                }
            }
        }
        answers
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// Returns the values for the room. What does not read as its declared type goes on as text, so that the
    /// room's own check names the fault; an empty field is an argument left out.
    pub(super) fn values(&self, arguments: &[Argument]) -> Map<String, Value> {
        let mut values = Map::new();
        for argument in arguments {
            let given = self.get(&argument.name);
            if argument.kind == ArgumentType::Boolean && argument.choices.is_empty() {
                values.insert(argument.name.clone(), Value::Bool(given.is_some()));
            } else if let Some(text) = given.filter(|text| !text.is_empty()) {
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

/// A fault of the answers, and the argument it belongs to, if it belongs to one.
pub(super) struct Fault {
    pub(super) argument: Option<String>,
    pub(super) message: String,
}

/// Returns the fields for the template, filled with `answers`, or with the defaults while there are none.
pub(super) fn fields(prompt: &Prompt, answers: Option<&Answers>, fault: Option<&Fault>) -> Vec<Shown> {
    prompt
        .arguments
        .iter()
        .enumerate()
        .map(|(position, argument)| field(position, argument, answers, fault))
        .collect()
}

fn field(position: usize, argument: &Argument, answers: Option<&Answers>, fault: Option<&Fault>) -> Shown {
    let default = argument.default.as_ref().map(label).unwrap_or_default();
    let (value, checked) = match answers {
        Some(answers) => {
            let given = answers.get(&argument.name);
            (given.unwrap_or_default().to_owned(), given.is_some())
        }
        None => (default.clone(), argument.default == Some(Value::Bool(true))),
    };
    let choices: Vec<Shown> = argument
        .choices
        .iter()
        .map(|choice| {
            let label = label(choice);
            context! { selected => label == value, label }
        })
        .collect();
    let kind = match argument.kind {
        _ if !choices.is_empty() => "choice",
        // The text behind the command is seldom one line.
        ArgumentType::String if argument.name == "input" => "lines",
        ArgumentType::String => "text",
        ArgumentType::Integer => "integer",
        ArgumentType::Number => "number",
        ArgumentType::Boolean => "flag",
    };
    let error = fault
        .filter(|fault| fault.argument.as_ref() == Some(&argument.name))
        .map(|fault| fault.message.as_str());
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
