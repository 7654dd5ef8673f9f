//! Runner for Gemini CLI.
//!
//! Without a user its plan mode approves its own plan and leaves the mode. So the levels below `full` deny tools by a
//! policy file, which removes them from the model.

use std::fmt::Write;

use serde_json::Value;

use super::command_line::{AttemptSpec, CommandLine, OutputFormat, Rejection};
use super::environment::RunnerVariables;
use super::failure::{Class, Failure};
use super::progress::{AttemptEnd, ToolResult};
use super::run_state::{RunAccumulator, text_event};
use crate::definition::Permission;
use crate::run_report::Usage;
use crate::task::TaskEventKind;
use adjutant_host::process::Exit;

pub(super) const VARIABLES: RunnerVariables =
    RunnerVariables { names: &["CLOUDSDK_CONFIG"], prefixes: &["GEMINI_", "GOOGLE_"] };

/// Tools that could change files or leave the mode, denied at both levels below `full`.
const NEVER: &[&str] = &[
    "run_shell_command",
    "enter_plan_mode",
    "exit_plan_mode",
    "invoke_agent",
    "activate_skill",
    "save_memory",
];
/// Further tools that a read-only run must not have.
const CHANGES: &[&str] = &["write_file", "replace", "web_fetch"];

pub(super) fn command(spec: &AttemptSpec<'_>) -> Result<CommandLine, Rejection> {
    if spec.permission < Permission::Full && spec.workdir.join(".gemini/settings.json").exists() {
        let reason = "the working directory has settings of its own for it, which can start programs, and it cannot \
                      be told to leave them out";
        return Err(spec.rejection("gemini", reason));
    }
    let mut line = CommandLine::default();
    // Without this flag a run without a user rejects an untrusted folder. The settings of the folder are checked above.
    line.arg("--output-format").arg("stream-json").arg("--skip-trust");
    let (mode, denied) = match spec.permission {
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
        let file = spec.scratch.join("gemini-policy.toml");
        line.arg("--policy").arg(&file);
        line.files.push((file, policy.into_bytes()));
        // No server has this name, so none is started.
        line.arg("--allowed-mcp-server-names").arg("none");
    }
    line.option("--model", spec.model);
    line.option("--resume", spec.session);
    line.stdin(spec.prompt);
    line.format = Some(OutputFormat::Gemini);
    Ok(line)
}

/// Parses one event of `--output-format stream-json`.
pub(super) fn read(run: &mut RunAccumulator, event: &Value) -> Vec<TaskEventKind> {
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    match text("type") {
        "init" => {
            run.session = event["session_id"].as_str().map(ToOwned::to_owned);
            run.model = event["model"].as_str().map(ToOwned::to_owned);
            Vec::new()
        }
        "message" if text("role") == "assistant" => {
            // The model answers again.
            run.last_error = None;
            // Pieces of one message follow each other; a tool call begins the next one.
            run.message.get_or_insert_default().push_str(text("content"));
            text_event(text("content"))
        }
        "tool_use" => {
            run.last_error = None;
            run.message = None;
            let parameters = &event["parameters"];
            match (text("tool_name"), parameters["command"].as_str()) {
                ("run_shell_command", Some(command)) => run.command_started(text("tool_id"), command),
                (tool @ ("write_file" | "replace"), _) => {
                    run.tool_started(text("tool_id"), tool, parameters["file_path"].as_str())
                }
                (tool, _) => run.tool_started(text("tool_id"), tool, None),
            }
        }
        "tool_result" => {
            let error = &event["error"];
            let outside =
                error["message"].as_str().is_some_and(|text| text.starts_with("Path not in workspace"));
            let result = match error["type"].as_str() {
                _ if text("status") == "success" => ToolResult::Done,
                Some("tool_not_registered" | "policy_violation") => ToolResult::Denied,
                _ if outside => ToolResult::Denied,
                _ => ToolResult::Failed,
            };
            // It does not report the exit code of a command.
            run.call_ended(text("tool_id"), result, None)
        }
        "error" => run.error(Failure::classify(text("message"), Class::Provider)),
        "result" => {
            let stats = &event["stats"];
            run.usage = Usage {
                input_tokens: stats["input_tokens"].as_u64(),
                cached_tokens: stats["cached"].as_u64(),
                output_tokens: stats["output_tokens"].as_u64(),
                cost_micro_usd: None,
            };
            run.end = Some(if text("status") == "success" {
                Ok(())
            } else {
                // An end without a message follows an error with one.
                Err(match (event["error"]["message"].as_str(), run.last_error.take()) {
                    (Some(message), _) => Failure::classify(message, Class::Provider),
                    (None, Some(failure)) => failure,
                    (None, None) => Failure::new(Class::Provider, "it failed without a reason"),
                })
            });
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Classifies a failure by the exit code, which is the low byte of the HTTP status; the error events have no status.
pub(super) fn finish(run: &mut RunAccumulator, end: &AttemptEnd<'_>) {
    let status = match end.exit {
        // 41 is documented: no way to log in was set.
        Exit::Code(145 | 41) => 401,
        Exit::Code(147) => 403,
        Exit::Code(148) => 404,
        Exit::Code(173) => 429,
        Exit::Code(244) => 500,
        Exit::Code(247) => 503,
        Exit::Code(_) | Exit::Signal(_) | Exit::NotStarted | Exit::Unknown => return,
    };
    let text = match &run.end {
        Some(Err(failure)) => failure.detail.clone(),
        Some(Ok(())) => return,
        None => run.failure_text(end.stderr).unwrap_or_default(),
    };
    run.end = Some(Err(Failure::from_status(status, &text)));
}
