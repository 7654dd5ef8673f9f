//! Format of `OpenCode`: `.opencode/agent/*.md`.

use serde_json::Value;

use super::markdown::Head;
use crate::definition::{Agent, Program};
use adjutant_base::text::yaml::truth;

/// Tools and permissions that change files, or run commands that may.
const WRITING_TOOLS: [&str; 5] = ["*", "bash", "edit", "patch", "write"];

/// Keys without an effect here, each with the reason.
const UNSUPPORTED: [(&str, &str); 9] = [
    ("mode", "every agent can be delegated to"),
    ("temperature", "the runner's own configuration decides"),
    ("top_p", "the runner's own configuration decides"),
    ("steps", "steps are not counted; `timeout` in a file of Adjutant bounds a run"),
    ("maxSteps", "steps are not counted; `timeout` in a file of Adjutant bounds a run"),
    ("prompt", "the text below the front matter is the persona"),
    ("hidden", "every agent can be delegated to, and is listed"),
    ("color", "it is for OpenCode's display"),
    ("options", "the runner's own configuration decides"),
];

pub(super) fn read(text: &str) -> Result<Agent, String> {
    let mut head = Head::read(text)?;
    for (key, value) in head.keys() {
        match key.as_str() {
            "disable" if truth(&value) == Some(true) => return Err("it is disabled".to_owned()),
            "disable" => head.agent.report_supported(&key),
            // A denied tool counts as much as an allowed one: the level is set if one of the two is given.
            "permission" | "tools" => match level(&value) {
                Some(writes) => head.agent.set_permission(&key, writes),
                None => head.agent.report_unsupported(&key, "it says nothing about changing files"),
            },
            _ => head.other(Program::Opencode, &key, &value, &UNSUPPORTED),
        }
    }
    Ok(head.agent)
}

/// Returns whether files may be changed; `None` if the value does not say so.
fn level(value: &Value) -> Option<bool> {
    let allows = |value: &Value| match value {
        Value::Bool(allows) => *allows,
        Value::String(word) => word == "allow",
        Value::Object(patterns) => patterns.values().any(|word| word == "allow"),
        Value::Null | Value::Number(_) | Value::Array(_) => false,
    };
    match value {
        Value::Object(rules) => {
            let rules: Vec<bool> = rules
                .iter()
                .filter(|(key, _)| WRITING_TOOLS.contains(&key.as_str()))
                .map(|(_, rule)| allows(rule))
                .collect();
            (!rules.is_empty()).then(|| rules.contains(&true))
        }
        Value::String(_) => Some(allows(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}
