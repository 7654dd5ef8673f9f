//! The arguments of the two tools. Wrong ones are results with the words of `codex mcp-server`, at every protocol version.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};

use super::restrictions;
use crate::arguments::{ArgumentError, object, required_string, string};
use crate::client_context::ClientContext;
use crate::toolset::ToolsetSelection;
use adjutant_codex::thread_options::ThreadOptions;

/// The arguments of `codex`, in the order of the original's message.
const START_ARGUMENTS: [&str; 10] = [
    "prompt",
    "model",
    "profile",
    "cwd",
    "approval-policy",
    "sandbox",
    "config",
    "base-instructions",
    "developer-instructions",
    "compact-prompt",
];
/// The arguments of `codex-reply`.
const REPLY_ARGUMENTS: [&str; 3] = ["conversationId", "threadId", "prompt"];
/// The approval policies of the contract. An installed version may know fewer.
pub(super) const POLICIES: [&str; 4] = ["untrusted", "on-failure", "on-request", "never"];
pub(super) const SANDBOXES: [&str; 3] = ["read-only", "workspace-write", "danger-full-access"];

/// Returns the options of a new thread.
pub(super) fn start(
    client: &ClientContext,
    arguments: &Map<String, Value>,
) -> Result<ThreadOptions, ArgumentError> {
    if client.selection == ToolsetSelection::All {
        restrictions::check(arguments)?;
    }
    reject_unknown(arguments, &START_ARGUMENTS)?;
    let text = |name: &str| match arguments.get(name) {
        Some(Value::Null) => Ok(None),
        _ => Ok(string(arguments, name, false)?.map(ToOwned::to_owned)),
    };
    let one_of = |name: &str, known: &[&'static str]| {
        let value: Option<String> = text(name)?;
        match value {
            Some(value) if !known.contains(&value.as_str()) => {
                let reason = format!("must be one of {}", known.join(", "));
                Err(ArgumentError::new(name, &reason, "enum", known))
            }
            value => Ok(value),
        }
    };
    Ok(ThreadOptions {
        turn: required_string(arguments, "prompt")?.to_owned().into(),
        cwd: text("cwd")?,
        model: text("model")?,
        sandbox: one_of("sandbox", &SANDBOXES)?,
        approval_policy: one_of("approval-policy", &POLICIES)?,
        worktree: false,
        profile: text("profile")?,
        config: object(arguments, "config")?.cloned().unwrap_or_default(),
        base_instructions: text("base-instructions")?,
        developer_instructions: text("developer-instructions")?,
        compact_prompt: text("compact-prompt")?,
    })
}

/// Returns the thread, by its name or by its older name, and the prompt.
pub(super) fn reply(arguments: &Map<String, Value>) -> Result<(&str, &str), ArgumentError> {
    reject_unknown(arguments, &REPLY_ARGUMENTS)?;
    let prompt = required_string(arguments, "prompt")?;
    let older = string(arguments, "conversationId", false)?;
    let thread = string(arguments, "threadId", older.is_none())?.or(older);
    Ok((thread.unwrap_or_default(), prompt))
}

fn reject_unknown(arguments: &Map<String, Value>, known: &[&'static str]) -> Result<(), ArgumentError> {
    match arguments.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(ArgumentError::new(name, "is unknown", "additionalProperties", known)),
        None => Ok(()),
    }
}

/// Returns the result of a call with a wrong argument.
pub(super) fn refused(error: &ArgumentError, arguments: &Map<String, Value>) -> CallToolResult {
    let name = error.path.join(".");
    let listed = || {
        let names = error.validator_value.as_array().into_iter().flatten().filter_map(Value::as_str);
        names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let value = arguments.get(&name).unwrap_or(&Value::Null);
    let text = match error.validator {
        "required" if name == "threadId" => {
            "Failed to parse thread_id: either threadId or conversationId must be provided".to_owned()
        }
        "required" => configuration(&format!("missing field `{name}`")),
        "type" => configuration(&format!("invalid type: {}, expected {}", kind(value), expected(error))),
        "enum" => {
            let value = value.as_str().unwrap_or_default();
            configuration(&format!("unknown variant `{value}`, expected one of {}", listed()))
        }
        "additionalProperties" if error.validator_value.is_array() => {
            configuration(&format!("unknown field `{name}`, expected one of {}", listed()))
        }
        _ => configuration(&error.message),
    };
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn configuration(fault: &str) -> String {
    format!("Failed to parse configuration for Codex tool: {fault}")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "sequence",
        Value::Object(_) => "map",
    }
}

fn expected(error: &ArgumentError) -> &'static str {
    if error.validator_value == "object" { "a map" } else { "a string" }
}
