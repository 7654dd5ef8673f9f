//! Raw arguments to a delegation.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::agents::definition::Permission;
use crate::agents::{Caller, Request};
use crate::mcp::arguments::{Fault, array, choice, integer, mistyped, object, string};
use crate::mcp::dialect::Revision;

/// Reads one delegation. 2024-11-05 knows the three arguments of the contract, and no others.
pub(super) fn delegation(
    arguments: &Map<String, Value>,
    revision: Revision,
    caller: &Caller,
) -> Result<Request, Fault> {
    let text = |name| Ok(string(arguments, name, true)?.unwrap_or_default().to_owned());
    let request = Request {
        caller: caller.clone(),
        agent: text("agent")?,
        task: text("task")?,
        workdir: text("working_directory")?,
        timeout: None,
        output_schema: None,
        checks: Vec::new(),
        permission: None,
    };
    if revision == Revision::V2024_11_05 {
        return Ok(request);
    }
    let checks = array(arguments, "checks")?.map(Vec::as_slice).unwrap_or_default();
    Ok(Request {
        timeout: integer(arguments, "timeout_seconds", 1)?.map(Duration::from_secs),
        output_schema: object(arguments, "output_schema")?.cloned().map(Value::Object),
        checks: checks.iter().enumerate().map(check).collect::<Result<_, _>>()?,
        permission: choice(arguments, "permission", &Permission::ALL, Permission::name)?,
        ..request
    })
}

fn check((position, value): (usize, &Value)) -> Result<Vec<String>, Fault> {
    let words =
        value.as_array().map(|words| words.iter().map(|word| word.as_str().map(str::to_owned)).collect());
    words.flatten().ok_or_else(|| mistyped(&position.to_string(), "array of strings").below(&["checks"]))
}
