//! Codex: `codex exec`. Its sandbox is the operating system's, so every level is held, whatever the model tries.

pub(crate) mod session;

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::Value;

use super::environment::Own;
use super::failure::{Class, Failure};
use super::reader::{Dialect, Progress, ToolResult, Usage};
use super::seen::{Seen, say};
use super::text::shown;
use super::{CommandLine, Form, Request, SchemaHeld};
use crate::agents::definition::Permission;

pub(super) const OWN: Own = Own {
    names: &["CODEX_HOME", "CODEX_API_KEY", "CODEX_CA_CERTIFICATE", "OPENAI_API_KEY", "OPENAI_BASE_URL"],
    prefixes: &[],
};

/// Switches this hub off as a server of the run's, whether or not the user's configuration has it: what a run
/// delegates on would come back to the hub that runs it.
const NO_RECURSION: &str = r#"mcp_servers.adjutant={command="true",enabled=false}"#;

/// `codex exec`: `--ask-for-approval` and the sandbox are global, so they stand before `exec`; from 0.153 on an open
/// stdin hangs it, so the prompt goes there and it is closed.
pub(super) fn command(request: &Request<'_>) -> CommandLine {
    let mut line = CommandLine::default();
    line.arg("--cd").arg(request.workdir);
    line.arg("--sandbox").arg(match request.permission {
        Permission::ReadOnly => "read-only",
        Permission::WorkspaceWrite => "workspace-write",
        Permission::Full => "danger-full-access",
    });
    line.arg("--ask-for-approval").arg("never");
    if let Some(model) = request.model {
        line.arg("--model").arg(model);
    }
    // The documented line is a fresh run at `read-only`; what it has no words for goes our way.
    let documented = request.form == Form::Contract
        && request.permission == Permission::ReadOnly
        && request.schema.is_none()
        && request.resume.is_none();
    line.arg("exec");
    if documented {
        // These would be read as a command or a flag of `exec`.
        let word = ["resume", "review", "fork", "help", "-"].contains(&request.prompt);
        if request.fits_an_argument() && !word {
            line.arg(request.prompt);
        } else {
            line.arg("-").stdin(request.prompt);
        }
        line.dialect = Some(Dialect::Text);
        return line;
    }
    if request.resume.is_some() {
        line.arg("resume");
    }
    line.arg("--skip-git-repo-check").arg("-c").arg(NO_RECURSION).arg("--json");
    let last = request.scratch.join("final-message.txt");
    line.arg("--output-last-message").arg(&last);
    line.leaves.final_message = Some(last);
    if let Some(schema) = request.schema {
        let file = request.scratch.join("output-schema.json");
        line.arg("--output-schema").arg(&file);
        line.files.push((file, schema.to_string().into_bytes()));
        line.schema = SchemaHeld::ByRunner;
    }
    if let Some(session) = request.resume {
        line.arg(session);
    }
    line.arg("-").stdin(request.prompt);
    line.dialect = Some(Dialect::Codex);
    line
}

/// Where Codex keeps its sessions, in a run with this environment.
pub(super) fn sessions(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let get =
        |wanted: &str| env.iter().find(|(name, _)| name == wanted).map(|(_, value)| PathBuf::from(value));
    let home = get("CODEX_HOME").or_else(|| Some(get("HOME")?.join(".codex")))?;
    Some(home.join("sessions"))
}

/// Reads one event of `--json`.
pub(super) fn read(seen: &mut Seen, event: &Value) -> Vec<Progress> {
    match event["type"].as_str().unwrap_or_default() {
        "thread.started" => {
            seen.session = event["thread_id"].as_str().map(ToOwned::to_owned);
            Vec::new()
        }
        "item.started" => started(seen, &event["item"]),
        "item.completed" => completed(seen, &event["item"]),
        "turn.completed" => {
            let usage = &event["usage"];
            // The thread's total: a later turn's number takes an earlier one's place.
            seen.usage = Usage {
                input_tokens: usage["input_tokens"].as_u64(),
                cached_tokens: usage["cached_input_tokens"].as_u64(),
                output_tokens: usage["output_tokens"].as_u64(),
                cost_micro_usd: None,
            };
            seen.end = Some(Ok(()));
            Vec::new()
        }
        "turn.failed" => {
            let message = event["error"]["message"].as_str().unwrap_or("the turn failed");
            seen.end = Some(Err(Failure::told(message, Class::Provider)));
            Vec::new()
        }
        "error" => {
            let message = event["message"].as_str().unwrap_or("an error without words");
            seen.error(Failure::told(message, Class::Provider))
        }
        _ => Vec::new(),
    }
}

fn started(seen: &mut Seen, item: &Value) -> Vec<Progress> {
    // The model answers again.
    seen.last_error = None;
    let id = item["id"].as_str().unwrap_or_default();
    match item["type"].as_str().unwrap_or_default() {
        "command_execution" => seen.command_started(id, item["command"].as_str().unwrap_or_default()),
        "mcp_tool_call" => seen.tool_started(id, &tool(item), None),
        "web_search" => seen.tool_started(id, "web_search", None),
        _ => Vec::new(),
    }
}

fn completed(seen: &mut Seen, item: &Value) -> Vec<Progress> {
    let id = item["id"].as_str().unwrap_or_default();
    let text = |key: &str| item[key].as_str().unwrap_or_default();
    if text("type") != "error" {
        seen.last_error = None;
    }
    match text("type") {
        "agent_message" => {
            seen.message = Some(text("text").to_owned());
            say(Progress::Text, text("text"))
        }
        "reasoning" => say(Progress::Thinking, text("text")),
        "command_execution" => {
            let exit = item["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
            match seen.ended(id, ToolResult::Done, exit) {
                // Its start was not told.
                none if none.is_empty() => seen.command_ended(shown(text("command")), exit),
                ended => ended,
            }
        }
        "mcp_tool_call" | "web_search" => {
            let failed = text("status") == "failed" || !item["error"].is_null();
            seen.ended(id, if failed { ToolResult::Failed } else { ToolResult::Done }, None)
        }
        "file_change" if text("status") != "failed" => {
            let changes = item["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
            seen.files_changed(
                changes.iter().filter_map(|change| change["path"].as_str()).map(ToOwned::to_owned),
            )
        }
        // A warning: the turn goes on.
        "error" => say(Progress::Notice, text("message")),
        _ => Vec::new(),
    }
}

fn tool(item: &Value) -> String {
    let part = |key: &str| item[key].as_str().unwrap_or_default();
    format!("{}.{}", part("server"), part("tool"))
}
