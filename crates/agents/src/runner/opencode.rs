//! opencode: `opencode run`. Its plan agent still ran `touch`, so the levels below `full` deny by permission, which
//! takes the tools away from the model; a project's own configuration and plugins are left out.

use serde_json::{Value, json};

use super::environment::Own;
use super::failure::{Class, Failure};
use super::reader::{Dialect, Progress, ToolResult};
use super::seen::{Seen, add, micro, say};
use super::{CommandLine, Request};
use crate::agents::definition::Permission;

pub(super) const OWN: Own =
    Own { names: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"], prefixes: &["OPENCODE_"] };

pub(super) fn command(request: &Request<'_>) -> CommandLine {
    let mut line = CommandLine::default();
    line.arg("run").arg("--format").arg("json").arg("--pure");
    let permission = match request.permission {
        Permission::ReadOnly => json!({
            "*": "deny", "read": "allow", "grep": "allow", "glob": "allow", "list": "allow",
            "external_directory": "deny",
        }),
        Permission::WorkspaceWrite => json!({
            "*": "deny", "read": "allow", "grep": "allow", "glob": "allow", "list": "allow", "edit": "allow",
            "external_directory": "deny",
        }),
        Permission::Full => json!({"*": "allow"}),
    };
    line.env("OPENCODE_PERMISSION", permission.to_string());
    if request.permission < Permission::Full {
        line.env("OPENCODE_DISABLE_PROJECT_CONFIG", "1");
    }
    line.env("OPENCODE_DISABLE_AUTOUPDATE", "1");
    if let Some(model) = request.model {
        line.arg("--model").arg(model);
    }
    if let Some(session) = request.resume {
        line.arg("--session").arg(session);
    }
    line.stdin(request.prompt);
    line.dialect = Some(Dialect::Opencode);
    line
}

/// Reads one event of `--format json`.
pub(super) fn read(seen: &mut Seen, event: &Value) -> Vec<Progress> {
    if let Some(session) = event["sessionID"].as_str() {
        seen.session = Some(session.to_owned());
    }
    let part = &event["part"];
    match event["type"].as_str().unwrap_or_default() {
        "step_start" => {
            seen.message = None;
            Vec::new()
        }
        "text" => {
            let text = part["text"].as_str().unwrap_or_default();
            let message = seen.message.get_or_insert_default();
            if !message.is_empty() {
                message.push('\n');
            }
            message.push_str(text);
            say(Progress::Text, text)
        }
        "reasoning" => say(Progress::Thinking, part["text"].as_str().unwrap_or_default()),
        "tool_use" => tool(seen, part),
        "step_finish" => {
            let tokens = &part["tokens"];
            let cached = tokens["cache"]["read"].as_u64();
            // What it took from the cache is counted apart.
            add(
                &mut seen.usage.input_tokens,
                tokens["input"].as_u64().map(|input| input + cached.unwrap_or(0)),
            );
            add(&mut seen.usage.cached_tokens, cached);
            add(&mut seen.usage.output_tokens, tokens["output"].as_u64());
            add(&mut seen.usage.cost_micro_usd, part["cost"].as_f64().and_then(micro));
            seen.end = match part["reason"].as_str().unwrap_or_default() {
                "stop" => Some(Ok(())),
                "length" => {
                    Some(Err(Failure::new(Class::BadOutput, "the answer was cut at the model's limit")))
                }
                "content-filter" => {
                    Some(Err(Failure::new(Class::Refused, "the provider's filter stopped it")))
                }
                // Tool calls: there is another step.
                _ => None,
            };
            Vec::new()
        }
        "error" => {
            let error = &event["error"];
            let message = error["data"]["message"].as_str().or_else(|| error["name"].as_str());
            let message = message.unwrap_or("an error without words");
            let named = format!("{}: {message}", error["name"].as_str().unwrap_or("error"));
            let mut failure = match error["data"]["statusCode"].as_u64() {
                Some(status) => Failure::status(status, message),
                None => Failure::told(&named, Class::Provider),
            };
            let after = error["data"]["responseHeaders"]["retry-after"].as_str();
            if let Some(seconds) = after.and_then(|text| text.trim().parse().ok())
                && failure.class == Class::UsageLimit
            {
                failure.retry_after = Some(std::time::Duration::from_secs(seconds));
            }
            let text = failure.detail.clone();
            seen.end = Some(Err(failure));
            say(Progress::Notice, &text)
        }
        _ => Vec::new(),
    }
}

/// A call is told once, when it is over.
fn tool(seen: &mut Seen, part: &Value) -> Vec<Progress> {
    let text = |key: &str| part[key].as_str().unwrap_or_default();
    let state = &part["state"];
    let done = state["status"] == "completed";
    let result = if done { ToolResult::Done } else { ToolResult::Failed };
    let id = text("callID");
    let input = &state["input"];
    let mut progress = match (text("tool"), input["command"].as_str()) {
        ("bash", Some(command)) => seen.command_started(id, command),
        (tool @ ("write" | "edit"), _) => seen.tool_started(id, tool, input["filePath"].as_str()),
        (tool, _) => seen.tool_started(id, tool, None),
    };
    let exit = state["metadata"]["exit"].as_i64().and_then(|code| i32::try_from(code).ok());
    progress.extend(seen.ended(id, result, exit));
    progress
}
