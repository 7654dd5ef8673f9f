//! Raw arguments to a delegation.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::arguments::{Fault, array, choice, integer, mistyped, object, string};
use crate::protocol_version::Revision;
use adjutant_agents::definition::{Isolation, Permission};
use adjutant_agents::{Caller, Request, shell_words};

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
        isolation: None,
        permission: None,
        trace: BTreeMap::new(),
    };
    if revision == Revision::V2024_11_05 {
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

fn check((position, value): (usize, &Value)) -> Result<Vec<String>, Fault> {
    let fault = |what| mistyped(&position.to_string(), what).below(&["checks"]);
    match value {
        Value::String(line) => shell_words::split(line)
            .map_err(|_| fault("line of plain words, for no shell reads it; or an array of strings")),
        Value::Array(words) => {
            let words: Option<_> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            words.ok_or_else(|| fault("array of strings"))
        }
        _ => Err(fault("array of strings")),
    }
}
