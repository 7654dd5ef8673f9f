//! A tool's arguments, checked before anything runs, with the contracts' error data.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};

use crate::error;
use crate::protocol_version::Revision;

/// A fault of one argument: `{path, validator, validator_value}` and a sentence.
#[derive(Debug)]
pub struct Fault {
    pub message: String,
    pub path: Vec<String>,
    pub validator: &'static str,
    pub validator_value: Value,
}

impl Fault {
    /// The same fault, where the argument stands within another one.
    pub fn below(mut self, outer: &[&str]) -> Self {
        let outer = outer.iter().map(|step| (*step).to_owned());
        self.message = format!("{} of {}", self.message, outer.clone().collect::<Vec<_>>().join("."));
        self.path.splice(0..0, outer);
        self
    }

    /// The answer: a protocol error up to 2025-06-18, from 2025-11-25 on a result that the model reads.
    pub fn answer(self, revision: Revision) -> Result<CallToolResult, ErrorData> {
        if !revision.argument_faults_are_results() {
            return Err(error::invalid_params(
                self.message,
                &self.path,
                self.validator,
                &self.validator_value,
            ));
        }
        let mut result = CallToolResult::error(vec![ContentBlock::text(self.message)]);
        result.structured_content =
            Some(error::validation(&self.path, self.validator, &self.validator_value));
        Ok(result)
    }
}

/// Returns a string argument; `Ok(None)` where it may be missing and is.
pub fn string<'a>(
    arguments: &'a Map<String, Value>,
    name: &str,
    required: bool,
) -> Result<Option<&'a str>, Fault> {
    match arguments.get(name) {
        Some(Value::String(text)) => Ok(Some(text)),
        None if !required => Ok(None),
        None => Err(Fault {
            message: format!("argument `{name}` is missing"),
            path: vec![name.to_owned()],
            validator: "required",
            validator_value: Value::Null,
        }),
        Some(_) => Err(mistyped(name, "string")),
    }
}

/// Returns an object argument, if it is there.
pub fn object<'a>(
    arguments: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a Map<String, Value>>, Fault> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(map)) => Ok(Some(map)),
        Some(_) => Err(mistyped(name, "object")),
    }
}

/// Returns a whole number of at least `least`, if it is there.
pub fn integer(arguments: &Map<String, Value>, name: &str, least: u64) -> Result<Option<u64>, Fault> {
    let Some(value) = arguments.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    match value.as_u64() {
        Some(number) if number >= least => Ok(Some(number)),
        _ if value.is_i64() || value.is_u64() => Err(Fault {
            message: format!("argument `{name}` must be at least {least}"),
            path: vec![name.to_owned()],
            validator: "minimum",
            validator_value: Value::from(least),
        }),
        _ => Err(mistyped(name, "integer")),
    }
}

/// Returns a truth value; `false` where it is missing.
pub fn boolean(arguments: &Map<String, Value>, name: &str) -> Result<bool, Fault> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(_) => Err(mistyped(name, "boolean")),
    }
}

/// Returns a list, if it is there.
pub fn array<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<Option<&'a Vec<Value>>, Fault> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(values)) => Ok(Some(values)),
        Some(_) => Err(mistyped(name, "array")),
    }
}

/// Returns one of `choices` by its name, if it is there.
pub fn choice<T: Copy>(
    arguments: &Map<String, Value>,
    name: &str,
    choices: &[T],
    word: impl Fn(T) -> &'static str,
) -> Result<Option<T>, Fault> {
    if arguments.get(name).is_none_or(Value::is_null) {
        return Ok(None);
    }
    let given = string(arguments, name, false)?.unwrap_or_default();
    let words: Vec<&str> = choices.iter().map(|choice| word(*choice)).collect();
    match choices.iter().find(|choice| word(**choice) == given) {
        Some(choice) => Ok(Some(*choice)),
        None => Err(Fault {
            message: format!("argument `{name}` must be one of {}", words.join(", ")),
            path: vec![name.to_owned()],
            validator: "enum",
            validator_value: Value::from(words),
        }),
    }
}

/// The fault of an argument that is not of type `kind`.
pub(crate) fn mistyped(name: &str, kind: &str) -> Fault {
    Fault {
        message: format!("argument `{name}` must be of type {kind}"),
        path: vec![name.to_owned()],
        validator: "type",
        validator_value: Value::from(kind),
    }
}
