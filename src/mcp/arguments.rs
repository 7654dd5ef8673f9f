//! A tool's arguments, checked before anything runs, with the contracts' error data.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};

use crate::mcp::dialect::Revision;
use crate::mcp::error;

/// A fault of one argument: `{path, validator, validator_value}` and a sentence.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) path: Vec<String>,
    pub(crate) validator: &'static str,
    pub(crate) validator_value: Value,
}

impl Fault {
    /// The answer: a protocol error up to 2025-06-18, from 2025-11-25 on a result that the model reads.
    pub(crate) fn answer(self, revision: Revision) -> Result<CallToolResult, ErrorData> {
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
pub(crate) fn string<'a>(
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
pub(crate) fn object<'a>(
    arguments: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a Map<String, Value>>, Fault> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(map)) => Ok(Some(map)),
        Some(_) => Err(mistyped(name, "object")),
    }
}

fn mistyped(name: &str, kind: &str) -> Fault {
    Fault {
        message: format!("argument `{name}` must be of type {kind}"),
        path: vec![name.to_owned()],
        validator: "type",
        validator_value: Value::from(kind),
    }
}
