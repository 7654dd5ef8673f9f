//! Runner for Codex: `codex exec`.
//!
//! The operating system enforces its sandbox, so every level holds against anything that the model tries.

pub(crate) mod rollout;

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::Value;

use super::command_line::{AttemptSpec, CommandLine, CommandVariant, OutputFormat, SchemaEnforcement};
use super::environment::RunnerVariables;
use super::failure::{Class, Failure};
use super::progress::ToolResult;
use super::run_state::{RunAccumulator, notice, text_event, thinking};
use super::sanitize::display_text;
use crate::definition::Permission;
use crate::run_report::Usage;
use crate::task::TaskEventKind;

pub(super) const VARIABLES: RunnerVariables = RunnerVariables {
    names: &["CODEX_HOME", "CODEX_API_KEY", "CODEX_CA_CERTIFICATE", "OPENAI_API_KEY", "OPENAI_BASE_URL"],
    prefixes: &[],
};

/// Disables this hub as an MCP server of the run, because a task that the run delegates would come back to the hub that
/// runs it.
const NO_RECURSION: &str = r#"mcp_servers.adjutant={command="true",enabled=false}"#;

/// Returns the command line of `codex exec`. `--ask-for-approval` and the sandbox are global, so they precede `exec`.
/// From 0.153 on an open stdin hangs it, so stdin holds the prompt and is closed.
pub(super) fn command(spec: &AttemptSpec<'_>) -> CommandLine {
    let mut line = CommandLine::default();
    line.arg("--cd").arg(spec.workdir);
    line.arg("--sandbox").arg(match spec.permission {
        Permission::ReadOnly => "read-only",
        Permission::WorkspaceWrite => "workspace-write",
        Permission::Full => "danger-full-access",
    });
    line.arg("--ask-for-approval").arg("never");
    line.option("--model", spec.model);
    // The documented line is a new run at `read-only`; every other run uses the native line.
    let documented = spec.variant == CommandVariant::Contract
        && spec.permission == Permission::ReadOnly
        && spec.schema.is_none()
        && spec.session.is_none();
    line.arg("exec");
    if documented {
        // These would be read as a command or a flag of `exec`.
        let is_subcommand = ["resume", "review", "fork", "help", "-"].contains(&spec.prompt);
        if spec.fits_an_argument() && !is_subcommand {
            line.arg(spec.prompt);
        } else {
            line.arg("-").stdin(spec.prompt);
        }
        line.format = Some(OutputFormat::Text);
        return line;
    }
    if spec.session.is_some() {
        line.arg("resume");
    }
    line.arg("--skip-git-repo-check").arg("-c").arg(NO_RECURSION).arg("--json");
    let last = spec.scratch.join("final-message.txt");
    line.arg("--output-last-message").arg(&last);
    line.output_files.final_message = Some(last);
    if let Some(schema) = spec.schema {
        let file = spec.scratch.join("output-schema.json");
        line.arg("--output-schema").arg(&file);
        line.files.push((file, schema.to_string().into_bytes()));
        line.schema = SchemaEnforcement::Runner;
    }
    if let Some(session) = spec.session {
        line.arg(session);
    }
    line.arg("-").stdin(spec.prompt);
    line.format = Some(OutputFormat::Codex);
    line
}

/// Returns the folder of Codex's sessions in a run with this environment.
pub(super) fn sessions(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let get =
        |wanted: &str| env.iter().find(|(name, _)| name == wanted).map(|(_, value)| PathBuf::from(value));
    let home = get("CODEX_HOME").or_else(|| Some(get("HOME")?.join(".codex")))?;
    Some(home.join("sessions"))
}

/// Parses one event of `--json`.
pub(super) fn read(run: &mut RunAccumulator, event: &Value) -> Vec<TaskEventKind> {
    match event["type"].as_str().unwrap_or_default() {
        "thread.started" => {
            run.session = event["thread_id"].as_str().map(ToOwned::to_owned);
            Vec::new()
        }
        "item.started" => started(run, &event["item"]),
        "item.completed" => completed(run, &event["item"]),
        "turn.completed" => {
            let usage = &event["usage"];
            // The total of the thread, so a later turn replaces the number of an earlier one.
            run.usage = Usage {
                input_tokens: usage["input_tokens"].as_u64(),
                cached_tokens: usage["cached_input_tokens"].as_u64(),
                output_tokens: usage["output_tokens"].as_u64(),
                cost_micro_usd: None,
            };
            run.end = Some(Ok(()));
            Vec::new()
        }
        "turn.failed" => {
            let message = event["error"]["message"].as_str().unwrap_or("the turn failed");
            run.end = Some(Err(Failure::classify(message, Class::Provider)));
            Vec::new()
        }
        "error" => {
            let message = event["message"].as_str().unwrap_or("an error without a message");
            run.error(Failure::classify(message, Class::Provider))
        }
        _ => Vec::new(),
    }
}

fn started(run: &mut RunAccumulator, item: &Value) -> Vec<TaskEventKind> {
    // The model answers again.
    run.last_error = None;
    let id = item["id"].as_str().unwrap_or_default();
    match item["type"].as_str().unwrap_or_default() {
        "command_execution" => run.command_started(id, item["command"].as_str().unwrap_or_default()),
        "mcp_tool_call" => run.tool_started(id, &tool(item), None),
        "web_search" => run.tool_started(id, "web_search", None),
        _ => Vec::new(),
    }
}

fn completed(run: &mut RunAccumulator, item: &Value) -> Vec<TaskEventKind> {
    let id = item["id"].as_str().unwrap_or_default();
    let text = |key: &str| item[key].as_str().unwrap_or_default();
    if text("type") != "error" {
        run.last_error = None;
    }
    match text("type") {
        "agent_message" => {
            run.message = Some(text("text").to_owned());
            text_event(text("text"))
        }
        "reasoning" => thinking(text("text")),
        "command_execution" => {
            let exit = item["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
            let denied = text("status") == "declined";
            let result = if denied { ToolResult::Denied } else { ToolResult::Done };
            match run.call_ended(id, result, exit) {
                // Its start was not reported.
                none if none.is_empty() && denied => run.denied(display_text(text("command"))),
                none if none.is_empty() => run.command_ended(display_text(text("command")), exit),
                ended => ended,
            }
        }
        "mcp_tool_call" | "web_search" => {
            let failed = text("status") == "failed" || !item["error"].is_null();
            run.call_ended(id, if failed { ToolResult::Failed } else { ToolResult::Done }, None)
        }
        "file_change" if text("status") != "failed" => {
            let changes = item["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
            run.files_changed(
                changes.iter().filter_map(|change| change["path"].as_str()).map(ToOwned::to_owned),
            )
        }
        // A warning; the turn continues.
        "error" => notice(text("message")),
        _ => Vec::new(),
    }
}

fn tool(item: &Value) -> String {
    let part = |key: &str| item[key].as_str().unwrap_or_default();
    format!("{}.{}", part("server"), part("tool"))
}
