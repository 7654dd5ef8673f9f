//! GitHub Copilot CLI. It has no sandbox of its own that is on by default, so the levels below `full` take the tools
//! away that could break them: a tool that is not offered is not run, also when the model calls it by name.

use serde_json::Value;

use super::environment::Own;
use super::failure::{Class, Failure};
use super::reader::{Dialect, Progress, ToolResult};
use super::seen::{Seen, add, say};
use super::{CommandLine, Form, Request};
use crate::agents::definition::Permission;

pub(super) const OWN: Own = Own { names: &["GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"], prefixes: &["COPILOT_"] };

/// The documented line gives everything away, so it is used only where it was asked for by name.
pub(super) fn command(request: &Request<'_>) -> CommandLine {
    let mut line = CommandLine::default();
    if request.form == Form::Contract && request.resume.is_none() {
        if request.fits_an_argument() {
            line.arg("-p").arg(request.prompt);
        } else {
            line.stdin(request.prompt);
        }
        line.arg("--allow-all-tools").arg("--allow-all-paths").arg("--stream").arg("off");
        if let Some(model) = request.model {
            line.arg("--model").arg(model);
        }
        line.dialect = Some(Dialect::Text);
        return line;
    }
    line.arg("--output-format").arg("json").arg("--stream").arg("off").arg("--no-color");
    // Its events do not tell tokens.
    let usage = request.scratch.join("usage.json");
    line.arg("--usage-output-file").arg(&usage);
    line.leaves.usage = Some(usage);
    line.arg("--no-ask-user").arg("--no-auto-update").arg("--disable-mcp-server").arg("adjutant");
    match request.permission {
        Permission::ReadOnly => {
            line.arg("--available-tools=view,grep,glob").arg("--disallow-temp-dir");
        }
        // Editing tools are held to the working directory by the CLI; a shell would not be.
        Permission::WorkspaceWrite => {
            line.arg("--available-tools=view,grep,glob,create,edit,apply_patch").arg("--allow-tool=write");
            line.arg("--disallow-temp-dir");
        }
        Permission::Full => {
            line.arg("--allow-all-tools").arg("--allow-all-paths").arg("--allow-all-urls");
        }
    }
    if let Some(model) = request.model {
        line.arg("--model").arg(model);
    }
    if let Some(session) = request.resume {
        line.arg(format!("--resume={session}"));
    }
    line.stdin(request.prompt);
    if request.permission < Permission::Full {
        // Its `true` would grant all tools behind the command line's back.
        line.without.push("COPILOT_ALLOW_ALL");
    }
    line.dialect = Some(Dialect::Copilot);
    line
}

/// Reads one event of `--output-format json`.
pub(super) fn read(seen: &mut Seen, event: &Value) -> Vec<Progress> {
    let data = &event["data"];
    let text = |key: &str| data[key].as_str().unwrap_or_default();
    match event["type"].as_str().unwrap_or_default() {
        "assistant.message" => {
            seen.last_error = None;
            if let Some(model) = data["model"].as_str() {
                seen.model = Some(model.to_owned());
            }
            // A message that calls tools is not the last one.
            let calls = data["toolRequests"].as_array().is_some_and(|calls| !calls.is_empty());
            if !calls {
                seen.message = Some(text("content").to_owned());
            }
            say(Progress::Text, text("content"))
        }
        "assistant.reasoning" => say(Progress::Thinking, text("content")),
        "tool.execution_start" => {
            let arguments = &data["arguments"];
            match arguments["command"].as_str() {
                Some(command) if text("toolName") == "bash" => {
                    seen.command_started(text("toolCallId"), command)
                }
                _ => seen.tool_started(text("toolCallId"), text("toolName"), None),
            }
        }
        "tool.execution_complete" => {
            let result = if data["success"] == true { ToolResult::Done } else { ToolResult::Failed };
            let exit = data["shellExecution"]["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok());
            let mut progress = seen.ended(text("toolCallId"), result, exit);
            let edits = data["fileEdits"].as_array().map(Vec::as_slice).unwrap_or_default();
            let files = edits.iter().filter_map(|edit| edit["path"].as_str()).map(ToOwned::to_owned);
            progress.extend(seen.files_changed(files));
            progress
        }
        "session.error" => {
            let failure = match data["statusCode"].as_u64() {
                Some(status) => Failure::status(status, text("message")),
                None => Failure::told(text("message"), Class::Provider),
            };
            seen.error(failure)
        }
        // It tries again by itself, for minutes: a time limit that ends it then is not the reason.
        "model.call_failure" => {
            let status = data["statusCode"].as_u64().unwrap_or(500);
            seen.last_error = Some(Failure::status(status, text("errorMessage")));
            Vec::new()
        }
        "session.info" if text("infoType") == "model_retry" => say(Progress::Notice, text("message")),
        "session.warning" => say(Progress::Notice, text("message")),
        // Its good end, in case the removal of secrets mangles the line that follows.
        "assistant.idle" if seen.message.is_some() && seen.last_error.is_none() => {
            seen.end = Some(Ok(()));
            Vec::new()
        }
        "result" => {
            seen.session = event["sessionId"].as_str().map(ToOwned::to_owned);
            let files = event["usage"]["codeChanges"]["filesModified"].as_array();
            let files = files.map(Vec::as_slice).unwrap_or_default().iter();
            // Told one by one before; this names only what was missed.
            drop(seen.files_changed(files.filter_map(Value::as_str).map(ToOwned::to_owned)));
            seen.end = Some(match event["exitCode"].as_i64() {
                Some(0) => Ok(()),
                _ => Err(seen.last_error.take().unwrap_or_else(|| {
                    Failure::new(Class::Crashed, "it told of a failure without saying which")
                })),
            });
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Reads what `--usage-output-file` says, model by model.
pub(super) fn usage(seen: &mut Seen, file: &[u8]) {
    let Ok(told) = serde_json::from_slice::<Value>(file) else { return };
    for metrics in told["modelMetrics"].as_object().into_iter().flat_map(|models| models.values()) {
        let usage = &metrics["usage"];
        add(&mut seen.usage.input_tokens, usage["inputTokens"].as_u64());
        add(&mut seen.usage.cached_tokens, usage["cacheReadTokens"].as_u64());
        add(&mut seen.usage.output_tokens, usage["outputTokens"].as_u64());
    }
}

/// How the last line of the statistics begins that end stderr where events were not asked for.
const RESUME: &str = "copilot --resume=";

/// Returns the session that the statistics name.
pub(super) fn session(stderr: &str) -> Option<String> {
    let (_, id) = stderr.rsplit_once(RESUME)?;
    id.split_whitespace().next().map(ToOwned::to_owned)
}

/// Returns what stderr says before the statistics: an error, if there was one, stands in a paragraph above them.
pub(super) fn without_statistics(stderr: &str) -> &str {
    let is_statistics = |last: &str| last.contains(RESUME);
    match stderr.trim_end().rsplit_once("\n\n") {
        Some((before, last)) if is_statistics(last) => before,
        Some(_) | None => stderr,
    }
}
