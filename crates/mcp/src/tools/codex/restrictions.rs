//! Restrictions of Codex in the server of all toolsets.
//!
//! Every agent of a user has that server, also an agent in a sandbox, which must not escape through Codex. So it starts
//! no session without a sandbox, and none with other settings than the user's. The server `codex`, which only a user
//! can name in a client's configuration, has no restrictions.

use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use crate::arguments::ArgumentError;

/// Arguments that would override the user's settings.
const FORBIDDEN: [&str; 4] = ["base-instructions", "compact-prompt", "config", "profile"];

const SANDBOXES: [&str; 2] = ["read-only", "workspace-write"];

/// Removes from the tools what [`check`] rejects, and an argument that only older clients use.
pub(crate) fn restrict(tools: Vec<Tool>) -> Vec<Tool> {
    let restrict = |mut tool: Tool| {
        let mut schema = (*tool.input_schema).clone();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.retain(|name, _| !FORBIDDEN.contains(&name.as_str()) && name != "conversationId");
            if let Some(sandbox) = properties.get_mut("sandbox") {
                sandbox["enum"] = json!(SANDBOXES);
            }
        }
        tool.input_schema = schema.into();
        tool
    };
    tools.into_iter().map(restrict).collect()
}

/// Rejects arguments that are forbidden here.
pub(super) fn check(arguments: &Map<String, Value>) -> Result<(), ArgumentError> {
    if let Some(name) = FORBIDDEN.into_iter().find(|name| arguments.contains_key(*name)) {
        let reason = "is for the server `codex` alone: adjutant connect codex";
        return Err(ArgumentError::new(name, reason, "additionalProperties", false));
    }
    match arguments.get("sandbox") {
        Some(sandbox) if !SANDBOXES.iter().any(|allowed| sandbox == allowed) => {
            let reason = format!("must be one of {} here", SANDBOXES.join(", "));
            Err(ArgumentError::new("sandbox", &reason, "enum", SANDBOXES.to_vec()))
        }
        _ => Ok(()),
    }
}
