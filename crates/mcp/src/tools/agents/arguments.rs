//! Raw arguments to a delegation.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::arguments::{ArgumentError, array, choice, integer, object, required_string};
use crate::call_context::CallContext;
use crate::protocol_version::Revision;
use adjutant_agents::definition::{Isolation, Permission};
use adjutant_agents::{Request, shell_words};
use adjutant_base::trace_context::current;

/// The argument with the folder to work in.
const WORKDIR: &str = "working_directory";

/// Parses one delegation. 2024-11-05 has the three arguments of the contract, and no others.
pub(super) fn delegation(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<Request, ArgumentError> {
    let text = |name| required_string(arguments, name).map(str::to_owned);
    let request = Request {
        caller: call.client.caller(),
        agent: text("agent")?,
        task: text("task")?,
        workdir: workdir(call, &text(WORKDIR)?)?,
        timeout: None,
        output_schema: None,
        checks: Vec::new(),
        isolation: None,
        permission: None,
        trace: current().map_or_else(BTreeMap::new, |trace| trace.environment()),
    };
    if call.revision == Revision::V2024_11_05 {
        return Ok(request);
    }
    let checks = array(arguments, "checks")?.map(Vec::as_slice).unwrap_or_default();
    Ok(Request {
        timeout: integer(arguments, "timeout_seconds", 1)?.map(Duration::from_secs),
        output_schema: object(arguments, "output_schema")?.cloned().map(Value::Object),
        checks: checks.iter().enumerate().map(check).collect::<Result<_, _>>()?,
        isolation: choice(arguments, "isolation", Isolation::ALL, Isolation::name)?,
        permission: choice(arguments, "permission", Permission::ALL, Permission::name)?,
        ..request
    })
}

/// Returns the folder on this machine that the caller names.
fn workdir(call: &CallContext<'_>, named: &str) -> Result<String, ArgumentError> {
    call.client.folder_here(named).map_err(|folder| {
        let reason = format!("must be {folder} or below it, the folder of your task on this worker");
        ArgumentError::new(WORKDIR, &reason, "below", folder)
    })
}

fn check((position, value): (usize, &Value)) -> Result<Vec<String>, ArgumentError> {
    let error = |kind| ArgumentError::wrong_type(&position.to_string(), kind).below(&["checks"]);
    match value {
        Value::String(line) => shell_words::split(line)
            .map_err(|_| error("line of plain words, because no shell reads it; or an array of strings")),
        Value::Array(words) => {
            let words: Option<_> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            words.ok_or_else(|| error("array of strings"))
        }
        _ => Err(error("array of strings")),
    }
}
