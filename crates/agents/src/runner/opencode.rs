//! Runner for opencode: `opencode run`.
//!
//! Its plan agent still ran `touch` in a test, so the levels below `full` deny tools by permission, which removes them
//! from the model. A project's own configuration and plugins are left out.

use serde_json::{Value, json};

use super::command_line::{AttemptSpec, CommandLine, OutputFormat};
use super::environment::RunnerVariables;
use super::failure::{Class, Failure};
use super::progress::ToolResult;
use super::run_state::{RunAccumulator, add, notice, text_event, thinking, to_micro_usd};
use crate::definition::Permission;
use crate::task::TaskEventKind;

pub(super) const VARIABLES: RunnerVariables = RunnerVariables {
    names: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"],
    prefixes: &["OPENCODE_"],
};

pub(super) fn command(spec: &AttemptSpec<'_>) -> CommandLine {
    let mut line = CommandLine::default();
    line.arg("run").arg("--format").arg("json").arg("--pure");
    let permission = match spec.permission {
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
    if spec.permission < Permission::Full {
        line.env("OPENCODE_DISABLE_PROJECT_CONFIG", "1");
    }
    line.env("OPENCODE_DISABLE_AUTOUPDATE", "1");
    line.option("--model", spec.model);
    line.option("--session", spec.session);
    line.stdin(spec.prompt);
    line.format = Some(OutputFormat::Opencode);
    line
}

/// Parses one event of `--format json`.
pub(super) fn read(run: &mut RunAccumulator, event: &Value) -> Vec<TaskEventKind> {
    if let Some(session) = event["sessionID"].as_str() {
        run.session = Some(session.to_owned());
    }
    let part = &event["part"];
    match event["type"].as_str().unwrap_or_default() {
        "step_start" => {
            run.message = None;
            Vec::new()
        }
        "text" => {
            let text = part["text"].as_str().unwrap_or_default();
            let message = run.message.get_or_insert_default();
            if !message.is_empty() {
                message.push('\n');
            }
            message.push_str(text);
            text_event(text)
        }
        "reasoning" => thinking(part["text"].as_str().unwrap_or_default()),
        "tool_use" => tool(run, part),
        "step_finish" => {
            let tokens = &part["tokens"];
            let cached = tokens["cache"]["read"].as_u64();
            // Cached tokens are counted separately.
            add(
                &mut run.usage.input_tokens,
                tokens["input"].as_u64().map(|input| input + cached.unwrap_or(0)),
            );
            add(&mut run.usage.cached_tokens, cached);
            add(&mut run.usage.output_tokens, tokens["output"].as_u64());
            add(&mut run.usage.cost_micro_usd, part["cost"].as_f64().and_then(to_micro_usd));
            run.end = match part["reason"].as_str().unwrap_or_default() {
                "stop" => Some(Ok(())),
                "length" => {
                    Some(Err(Failure::new(Class::BadOutput, "the answer was cut at the model's limit")))
                }
                "content-filter" => {
                    Some(Err(Failure::new(Class::Refused, "the provider's filter stopped it")))
                }
                // Tool calls lead to another step.
                _ => None,
            };
            Vec::new()
        }
        "error" => {
            let error = &event["error"];
            let message = error["data"]["message"].as_str().or_else(|| error["name"].as_str());
            let message = message.unwrap_or("an error without a message");
            let named = format!("{}: {message}", error["name"].as_str().unwrap_or("error"));
            let mut failure = match error["data"]["statusCode"].as_u64() {
                Some(status) => Failure::from_status(status, message),
                None => Failure::classify(&named, Class::Provider),
            };
            let after = error["data"]["responseHeaders"]["retry-after"].as_str();
            if let Some(seconds) = after.and_then(|text| text.trim().parse().ok())
                && failure.class == Class::UsageLimit
            {
                failure.retry_after = Some(std::time::Duration::from_secs(seconds));
            }
            let text = failure.detail.clone();
            run.end = Some(Err(failure));
            notice(&text)
        }
        _ => Vec::new(),
    }
}

/// The beginnings of the error of a call that a rule of the level prevents.
const DENIALS: [&str; 2] =
    ["The user has specified a rule which prevents you", "Model tried to call unavailable tool"];

/// Parses a tool call, which is one event at its end.
fn tool(run: &mut RunAccumulator, part: &Value) -> Vec<TaskEventKind> {
    let text = |key: &str| part[key].as_str().unwrap_or_default();
    let state = &part["state"];
    let error = state["error"].as_str().unwrap_or_default();
    let result = if state["status"] == "completed" {
        ToolResult::Done
    } else if DENIALS.iter().any(|denial| error.starts_with(denial)) {
        ToolResult::Denied
    } else {
        ToolResult::Failed
    };
    let id = text("callID");
    let input = &state["input"];
    let mut progress = match (text("tool"), input["command"].as_str()) {
        ("bash", Some(command)) => run.command_started(id, command),
        (tool @ ("write" | "edit"), _) => run.tool_started(id, tool, input["filePath"].as_str()),
        (tool, _) => run.tool_started(id, tool, None),
    };
    let exit = state["metadata"]["exit"].as_i64().and_then(|code| i32::try_from(code).ok());
    progress.extend(run.call_ended(id, result, exit));
    progress
}
