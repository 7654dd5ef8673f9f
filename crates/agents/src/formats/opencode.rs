//! `OpenCode`: `.opencode/agent/*.md`.

use serde_json::Value;

use super::markdown::Head;
use super::{Draft, Program};

/// Tools and permissions that change files, or run commands that may.
const WRITING: [&str; 5] = ["*", "bash", "edit", "patch", "write"];

const CANNOT: [(&str, &str); 9] = [
    ("mode", "every agent can be delegated to"),
    ("temperature", "the runner's own configuration decides"),
    ("top_p", "the runner's own configuration decides"),
    ("steps", "steps are not counted; `timeout` in a file of ours bounds a run"),
    ("maxSteps", "steps are not counted; `timeout` in a file of ours bounds a run"),
    ("prompt", "the text below the front matter is the persona"),
    ("hidden", "every agent can be delegated to, and is listed"),
    ("color", "it is for OpenCode's display"),
    ("options", "the runner's own configuration decides"),
];

pub(super) fn read(text: &str) -> Result<Draft, String> {
    let mut head = Head::read(text)?;
    for (key, value) in head.keys() {
        match key.as_str() {
            "disable" if value == true => return Err("it is disabled".to_owned()),
            "disable" => head.draft.honoured(&key),
            // What is denied is worth as much as what is allowed: a level is named only where one of both is said.
            "permission" | "tools" => match level(&value) {
                Some(writes) => head.draft.tools(&key, writes),
                None => head.draft.cannot_be(&key, "it says nothing about changing files"),
            },
            _ => head.other(Program::Opencode, &key, &value, &CANNOT),
        }
    }
    Ok(head.draft)
}

/// Says whether files may be changed; nothing where the value does not say.
fn level(value: &Value) -> Option<bool> {
    let allows = |value: &Value| match value {
        Value::Bool(allows) => *allows,
        Value::String(word) => word == "allow",
        Value::Object(patterns) => patterns.values().any(|word| word == "allow"),
        Value::Null | Value::Number(_) | Value::Array(_) => false,
    };
    match value {
        Value::Object(rules) => {
            let said: Vec<bool> = rules
                .iter()
                .filter(|(key, _)| WRITING.contains(&key.as_str()))
                .map(|(_, rule)| allows(rule))
                .collect();
            (!said.is_empty()).then(|| said.contains(&true))
        }
        Value::String(_) => Some(allows(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}
