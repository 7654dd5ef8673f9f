//! Runner for GitHub Copilot CLI.
//!
//! It has no sandbox that is on by default, so the levels below `full` remove the tools that could exceed them: a tool
//! that is not offered is not run, also when the model calls it by name.

use serde_json::Value;

use super::command_line::{AttemptSpec, CommandLine, CommandVariant, OutputFormat};
use super::environment::RunnerVariables;
use super::failure::{Class, Failure};
use super::progress::{AttemptEnd, ToolResult};
use super::run_state::{RunAccumulator, add, notice, text_event, thinking};
use crate::definition::Permission;
use crate::task::TaskEventKind;

pub(super) const VARIABLES: RunnerVariables =
    RunnerVariables { names: &["GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"], prefixes: &["COPILOT_"] };

/// Returns the command line. The documented one allows every tool and path, so it is used only if the user named it.
pub(super) fn command(spec: &AttemptSpec<'_>) -> CommandLine {
    let mut line = CommandLine::default();
    if spec.variant == CommandVariant::Contract && spec.session.is_none() {
        if spec.fits_an_argument() {
            line.arg("-p").arg(spec.prompt);
        } else {
            line.stdin(spec.prompt);
        }
        line.arg("--allow-all-tools").arg("--allow-all-paths").arg("--stream").arg("off");
        line.option("--model", spec.model);
        line.format = Some(OutputFormat::CopilotText);
        return line;
    }
    line.arg("--output-format").arg("json").arg("--stream").arg("off").arg("--no-color");
    // Its events have no token counts.
    let usage = spec.scratch.join("usage.json");
    line.arg("--usage-output-file").arg(&usage);
    line.output_files.usage = Some(usage);
    line.arg("--no-ask-user").arg("--no-auto-update").arg("--disable-mcp-server").arg("adjutant");
    match spec.permission {
        Permission::ReadOnly => {
            line.arg("--available-tools=view,grep,glob").arg("--disallow-temp-dir");
        }
        // The CLI confines its editing tools to the working directory, but not a shell.
        Permission::WorkspaceWrite => {
            line.arg("--available-tools=view,grep,glob,create,edit,apply_patch").arg("--allow-tool=write");
            line.arg("--disallow-temp-dir");
        }
        Permission::Full => {
            line.arg("--allow-all-tools").arg("--allow-all-paths").arg("--allow-all-urls");
        }
    }
    line.option("--model", spec.model);
    if let Some(session) = spec.session {
        line.arg(format!("--resume={session}"));
    }
    line.stdin(spec.prompt);
    if spec.permission < Permission::Full {
        // Its `true` would grant all tools despite the command line.
        line.without.push("COPILOT_ALLOW_ALL");
    }
    line.format = Some(OutputFormat::Copilot);
    line
}

/// Parses one event of `--output-format json`.
pub(super) fn read(run: &mut RunAccumulator, event: &Value) -> Vec<TaskEventKind> {
    let data = &event["data"];
    let text = |key: &str| data[key].as_str().unwrap_or_default();
    match event["type"].as_str().unwrap_or_default() {
        "assistant.message" => {
            run.last_error = None;
            if let Some(model) = data["model"].as_str() {
                run.model = Some(model.to_owned());
            }
            // A message that calls tools is not the last one.
            let calls = data["toolRequests"].as_array().is_some_and(|calls| !calls.is_empty());
            if !calls {
                run.message = Some(text("content").to_owned());
            }
            text_event(text("content"))
        }
        "assistant.reasoning" => thinking(text("content")),
        "tool.execution_start" => {
            let arguments = &data["arguments"];
            match arguments["command"].as_str() {
                Some(command) if text("toolName") == "bash" => {
                    run.command_started(text("toolCallId"), command)
                }
                _ => run.tool_started(text("toolCallId"), text("toolName"), None),
            }
        }
        "tool.execution_complete" => {
            let error = |key: &str| data["error"][key].as_str().unwrap_or_default();
            let result = if data["success"] == true {
                ToolResult::Done
            } else if error("code") == "denied" || error("message").ends_with("does not exist.") {
                // A tool that the level does not offer does not exist for the model.
                ToolResult::Denied
            } else {
                ToolResult::Failed
            };
            let exit = data["shellExecution"]["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok());
            let mut progress = run.call_ended(text("toolCallId"), result, exit);
            let edits = data["fileEdits"].as_array().map(Vec::as_slice).unwrap_or_default();
            let files = edits.iter().filter_map(|edit| edit["path"].as_str()).map(ToOwned::to_owned);
            progress.extend(run.files_changed(files));
            progress
        }
        "session.error" => {
            let failure = match data["statusCode"].as_u64() {
                Some(status) => Failure::from_status(status, text("message")),
                None => Failure::classify(text("message"), Class::Provider),
            };
            run.error(failure)
        }
        // It retries by itself for minutes, so this failure is the reason even if a time limit ends the run.
        "model.call_failure" => {
            let status = data["statusCode"].as_u64().unwrap_or(500);
            run.last_error = Some(Failure::from_status(status, text("errorMessage")));
            Vec::new()
        }
        "session.info" if text("infoType") == "model_retry" => notice(text("message")),
        "session.warning" => notice(text("message")),
        // Success is recorded here already, because the removal of secrets may mangle the `result` event that follows.
        "assistant.idle" if run.message.is_some() && run.last_error.is_none() => {
            run.end = Some(Ok(()));
            Vec::new()
        }
        "result" => {
            run.session = event["sessionId"].as_str().map(ToOwned::to_owned);
            let files = event["usage"]["codeChanges"]["filesModified"].as_array();
            let files = files.map(Vec::as_slice).unwrap_or_default().iter();
            // Earlier events named most of the files; only the others are recorded here.
            drop(run.files_changed(files.filter_map(Value::as_str).map(ToOwned::to_owned)));
            run.end = Some(match event["exitCode"].as_i64() {
                Some(0) => Ok(()),
                _ => Err(run.last_error.take().unwrap_or_else(|| {
                    Failure::new(Class::Crashed, "it reported a failure without a reason")
                })),
            });
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Adds the usage of all models in the file of `--usage-output-file`. Returns stderr without the statistics.
pub(super) fn finish<'a>(run: &mut RunAccumulator, end: &AttemptEnd<'a>) -> &'a str {
    let usage: Value = serde_json::from_slice(end.usage.unwrap_or_default()).unwrap_or_default();
    for metrics in usage["modelMetrics"].as_object().into_iter().flat_map(|models| models.values()) {
        let usage = &metrics["usage"];
        add(&mut run.usage.input_tokens, usage["inputTokens"].as_u64());
        add(&mut run.usage.cached_tokens, usage["cacheReadTokens"].as_u64());
        add(&mut run.usage.output_tokens, usage["outputTokens"].as_u64());
    }
    without_statistics(end.stderr)
}

/// Takes text output as the message, and the session from the statistics. Returns stderr without the statistics.
pub(super) fn finish_text<'a>(run: &mut RunAccumulator, end: &AttemptEnd<'a>) -> &'a str {
    run.finish_text(end);
    if run.session.is_none() {
        run.session = end
            .stderr
            .rsplit_once(RESUME)
            .and_then(|(_, id)| id.split_whitespace().next())
            .map(ToOwned::to_owned);
    }
    without_statistics(end.stderr)
}

/// The beginning of the last line of the statistics, which end stderr where no events were asked for.
const RESUME: &str = "copilot --resume=";

/// Returns stderr without the statistics; an error is in a paragraph above them.
fn without_statistics(stderr: &str) -> &str {
    let is_statistics = |last: &str| last.contains(RESUME);
    match stderr.trim_end().rsplit_once("\n\n") {
        Some((before, last)) if is_statistics(last) => before,
        Some(_) | None => stderr,
    }
}
