//! What the server of all toolsets lets an agent ask of Codex. Every agent of a person has that server, also one that runs
//! in a sandbox, so Codex is no way out of it: no session without a sandbox, and none with other settings than the
//! person's. The server `codex` alone, which a person names in a client's configuration, has it all.

use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use crate::arguments::Fault;

/// Arguments that would bring settings of their own.
const LEFT_OUT: [&str; 4] = ["base-instructions", "compact-prompt", "config", "profile"];

const SANDBOXES: [&str; 2] = ["read-only", "workspace-write"];

/// The tools without what is refused here, and without a name that is only there for older clients.
pub fn narrowed(tools: Vec<Tool>) -> Vec<Tool> {
    let narrow = |mut tool: Tool| {
        let mut schema = (*tool.input_schema).clone();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.retain(|name, _| !LEFT_OUT.contains(&name.as_str()) && name != "conversationId");
            if let Some(sandbox) = properties.get_mut("sandbox") {
                sandbox["enum"] = json!(SANDBOXES);
            }
        }
        tool.input_schema = schema.into();
        tool
    };
    tools.into_iter().map(narrow).collect()
}

/// Refuses what goes beyond it.
pub(super) fn check(given: &Map<String, Value>) -> Result<(), Fault> {
    if let Some(name) = LEFT_OUT.into_iter().find(|name| given.contains_key(*name)) {
        return Err(Fault {
            message: format!("argument `{name}` is for the server `codex` alone: adjutant connect codex"),
            path: vec![name.to_owned()],
            validator: "additionalProperties",
            validator_value: Value::from(false),
        });
    }
    match given.get("sandbox") {
        Some(sandbox) if !SANDBOXES.iter().any(|known| sandbox == known) => Err(Fault {
            message: format!("argument `sandbox` must be one of {} here", SANDBOXES.join(", ")),
            path: vec!["sandbox".to_owned()],
            validator: "enum",
            validator_value: json!(SANDBOXES),
        }),
        _ => Ok(()),
    }
}
