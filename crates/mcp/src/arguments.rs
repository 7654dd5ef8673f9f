//! A tool's arguments, checked before anything runs, with the contracts' error data.

use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value};

use crate::error;
use crate::protocol_version::Revision;

/// The error of one argument: `{path, validator, validator_value}` and a sentence.
#[derive(Debug)]
pub struct ArgumentError {
    pub message: String,
    pub path: Vec<String>,
    pub validator: &'static str,
    pub validator_value: Value,
}

impl ArgumentError {
    /// Creates the error of the argument `name`; `reason` is the rest of the sentence.
    pub(crate) fn new(name: &str, reason: &str, validator: &'static str, value: impl Into<Value>) -> Self {
        Self {
            message: format!("argument `{name}` {reason}"),
            path: vec![name.to_owned()],
            validator,
            validator_value: value.into(),
        }
    }

    /// Returns the error of a required argument that the call does not have.
    pub(crate) fn missing(name: &str) -> Self {
        Self::new(name, "is missing", "required", Value::Null)
    }

    /// Returns the error of an argument that is not of type `kind`.
    pub(crate) fn wrong_type(name: &str, kind: &str) -> Self {
        Self::new(name, &format!("must be of type {kind}"), "type", kind)
    }

    /// Returns the same error for an argument that is a member of `outer`, the outermost first.
    pub fn below(mut self, outer: &[&str]) -> Self {
        self.message = format!("{} of {}", self.message, outer.join("."));
        self.path.splice(0..0, outer.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Returns the error as a protocol error.
    pub(crate) fn into_protocol_error(self) -> ErrorData {
        error::invalid_params(self.message, &self.path, self.validator, &self.validator_value)
    }

    /// Returns the response to the call: a protocol error up to 2025-06-18, from 2025-11-25 on a result that the model
    /// reads.
    pub fn answer<T: From<CallToolResult>>(self, revision: Revision) -> Result<T, ErrorData> {
        if !revision.argument_errors_are_results() {
            return Err(self.into_protocol_error());
        }
        let data = error::validation(&self.path, self.validator, &self.validator_value);
        Ok(error::error_result(self.message, data).into())
    }
}

/// Returns a string argument; `Ok(None)` where it may be missing and is.
pub fn string<'a>(
    arguments: &'a Map<String, Value>,
    name: &str,
    required: bool,
) -> Result<Option<&'a str>, ArgumentError> {
    match arguments.get(name) {
        Some(Value::String(text)) => Ok(Some(text)),
        None if !required => Ok(None),
        None => Err(ArgumentError::missing(name)),
        Some(_) => Err(ArgumentError::wrong_type(name, "string")),
    }
}

/// Returns a required string argument.
pub(crate) fn required_string<'a>(
    arguments: &'a Map<String, Value>,
    name: &str,
) -> Result<&'a str, ArgumentError> {
    string(arguments, name, true).map(Option::unwrap_or_default)
}

/// Returns what `read` makes of an argument of type `kind`; `None` if the argument is missing or `null`.
fn optional<'a, T>(
    arguments: &'a Map<String, Value>,
    name: &str,
    kind: &str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Option<T>, ArgumentError> {
    match arguments.get(name).filter(|value| !value.is_null()) {
        Some(value) => read(value).map(Some).ok_or_else(|| ArgumentError::wrong_type(name, kind)),
        None => Ok(None),
    }
}

/// Returns an object argument, if it is there.
pub fn object<'a>(
    arguments: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a Map<String, Value>>, ArgumentError> {
    optional(arguments, name, "object", Value::as_object)
}

/// Returns a number, if it is there.
pub(crate) fn number(arguments: &Map<String, Value>, name: &str) -> Result<Option<f64>, ArgumentError> {
    optional(arguments, name, "number", Value::as_f64)
}

/// Returns a whole number of at least `min`, if it is there.
pub fn integer(arguments: &Map<String, Value>, name: &str, min: u64) -> Result<Option<u64>, ArgumentError> {
    match optional(arguments, name, "integer", whole)? {
        None => Ok(None),
        Some(number) if number >= i128::from(min) => Ok(Some(u64::try_from(number).unwrap_or(u64::MAX))),
        Some(_) => Err(ArgumentError::new(name, &format!("must be at least {min}"), "minimum", min)),
    }
}

/// Returns the value of an integer, which JSON may write as `2.0` too.
pub(crate) fn whole(value: &Value) -> Option<i128> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0)?;
    let exact = value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from));
    Some(exact.unwrap_or_else(|| format!("{number:.0}").parse().unwrap_or(i128::MAX)))
}

/// Returns a truth value; `false` where it is missing.
pub fn boolean(arguments: &Map<String, Value>, name: &str) -> Result<bool, ArgumentError> {
    optional(arguments, name, "boolean", Value::as_bool).map(Option::unwrap_or_default)
}

/// Returns a list, if it is there.
pub fn array<'a>(
    arguments: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a Vec<Value>>, ArgumentError> {
    optional(arguments, name, "array", Value::as_array)
}

/// Returns one of `choices` by its name, if it is there.
pub fn choice<T: Copy>(
    arguments: &Map<String, Value>,
    name: &str,
    choices: &[T],
    choice_name: impl Fn(T) -> &'static str,
) -> Result<Option<T>, ArgumentError> {
    if arguments.get(name).is_none_or(Value::is_null) {
        return Ok(None);
    }
    let text = required_string(arguments, name)?;
    let found = choices.iter().copied().find(|choice| choice_name(*choice) == text);
    found.map(Some).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|choice| choice_name(*choice)).collect();
        ArgumentError::new(name, &format!("must be one of {}", names.join(", ")), "enum", names)
    })
}
