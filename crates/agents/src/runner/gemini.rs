//! Gemini CLI. Its plan mode is no boundary: without a person it approves its own plan and leaves the mode. So the
//! levels below `full` deny the tools by a policy file, which takes them away from the model.

use std::fmt::Write;

use serde_json::Value;

use super::environment::Own;
use super::failure::{Class, Failure};
use super::reader::{Dialect, Ended, Progress, ToolResult, Usage};
use super::seen::{Seen, say};
use super::{CommandLine, Refused, Request};
use crate::agents::definition::Permission;
use crate::process::Exit;

pub(super) const OWN: Own = Own { names: &["CLOUDSDK_CONFIG"], prefixes: &["GEMINI_", "GOOGLE_"] };

/// What would change something, or lead out of the mode, at both levels below `full`.
const NEVER: &[&str] = &[
    "run_shell_command",
    "enter_plan_mode",
    "exit_plan_mode",
    "invoke_agent",
    "activate_skill",
    "save_memory",
];
/// What a read-only run may not do besides.
const CHANGES: &[&str] = &["write_file", "replace", "web_fetch"];

pub(super) fn command(request: &Request<'_>) -> Result<CommandLine, Refused> {
    if request.permission < Permission::Full && request.workdir.join(".gemini/settings.json").exists() {
        let reason = "the working directory has settings of its own for it, which can start programs, and it cannot \
                      be told to leave them out";
        return Err(request.refused("gemini", reason));
    }
    let mut line = CommandLine::default();
    // Without a person to ask, a folder that nobody trusted is refused; the settings it could bring are checked above.
    line.arg("--output-format").arg("stream-json").arg("--skip-trust");
    let (mode, denied) = match request.permission {
        Permission::ReadOnly => ("default", Some([NEVER, CHANGES].concat())),
        Permission::WorkspaceWrite => ("auto_edit", Some(NEVER.to_vec())),
        Permission::Full => ("yolo", None),
    };
    line.arg("--approval-mode").arg(mode);
    if let Some(denied) = denied {
        let mut policy = String::new();
        for tool in denied {
            let _ = writeln!(policy, "[[rule]]\ntoolName = \"{tool}\"\ndecision = \"deny\"\npriority = 999");
        }
        let file = request.scratch.join("gemini-policy.toml");
        line.arg("--policy").arg(&file);
        line.files.push((file, policy.into_bytes()));
        // No server has this name, so none is started.
        line.arg("--allowed-mcp-server-names").arg("none");
    }
    if let Some(model) = request.model {
        line.arg("--model").arg(model);
    }
    if let Some(session) = request.resume {
        line.arg("--resume").arg(session);
    }
    line.stdin(request.prompt);
    line.dialect = Some(Dialect::Gemini);
    Ok(line)
}

/// Reads one event of `--output-format stream-json`.
pub(super) fn read(seen: &mut Seen, event: &Value) -> Vec<Progress> {
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    match text("type") {
        "init" => {
            seen.session = event["session_id"].as_str().map(ToOwned::to_owned);
            seen.model = event["model"].as_str().map(ToOwned::to_owned);
            Vec::new()
        }
        "message" if text("role") == "assistant" => {
            // The model answers again.
            seen.last_error = None;
            // Pieces of one message follow each other; a tool call begins the next one.
            seen.message.get_or_insert_default().push_str(text("content"));
            say(Progress::Text, text("content"))
        }
        "tool_use" => {
            seen.last_error = None;
            seen.message = None;
            let parameters = &event["parameters"];
            match (text("tool_name"), parameters["command"].as_str()) {
                ("run_shell_command", Some(command)) => seen.command_started(text("tool_id"), command),
                (tool @ ("write_file" | "replace"), _) => {
                    seen.tool_started(text("tool_id"), tool, parameters["file_path"].as_str())
                }
                (tool, _) => seen.tool_started(text("tool_id"), tool, None),
            }
        }
        "tool_result" => {
            let done = text("status") == "success";
            let result = if done { ToolResult::Done } else { ToolResult::Failed };
            // It does not tell the exit code of a command.
            seen.ended(text("tool_id"), result, None)
        }
        "error" => seen.error(Failure::told(text("message"), Class::Provider)),
        "result" => {
            let stats = &event["stats"];
            seen.usage = Usage {
                input_tokens: stats["input_tokens"].as_u64(),
                cached_tokens: stats["cached"].as_u64(),
                output_tokens: stats["output_tokens"].as_u64(),
                cost_micro_usd: None,
            };
            seen.end = Some(if text("status") == "success" {
                Ok(())
            } else {
                // Where the end has no words of its own, the error before it has them.
                Err(match (event["error"]["message"].as_str(), seen.last_error.take()) {
                    (Some(message), _) => Failure::told(message, Class::Provider),
                    (None, Some(failure)) => failure,
                    (None, None) => Failure::new(Class::Provider, "it failed without saying why"),
                })
            });
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Its error events do not tell the HTTP status; its exit code is that status without the upper bits.
pub(super) fn end(seen: &mut Seen, ended: &Ended<'_>) {
    let status = match ended.exit {
        // 41 is documented: no way to log in was set.
        Exit::Code(145 | 41) => 401,
        Exit::Code(147) => 403,
        Exit::Code(148) => 404,
        Exit::Code(173) => 429,
        Exit::Code(244) => 500,
        Exit::Code(247) => 503,
        Exit::Code(_) | Exit::Signal(_) | Exit::NotStarted | Exit::Unknown => return,
    };
    let told = match &seen.end {
        Some(Err(failure)) => failure.detail.clone(),
        Some(Ok(())) => return,
        None => seen.words_on(ended.stderr).unwrap_or_default(),
    };
    seen.end = Some(Err(Failure::status(status, &told)));
}
