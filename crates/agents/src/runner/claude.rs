//! Runner for Claude Code: `claude -p`.
//!
//! The levels below `full` list the available tools; the CLI confines its file tools to the working directory. A
//! project's own settings are left out, because they can start programs.

use std::collections::BTreeMap;

use serde_json::Value;

use super::command_line::{AttemptSpec, CommandLine, MAX_ARGUMENT, OutputFormat, SchemaEnforcement};
use super::environment::RunnerVariables;
use super::failure::{Class, Failure};
use super::progress::ToolResult;
use super::run_state::{RunAccumulator, text_event, thinking, to_micro_usd};
use crate::definition::Permission;
use crate::run_report::Usage;
use crate::task::TaskEventKind;

pub(super) const VARIABLES: RunnerVariables = RunnerVariables {
    names: &[
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
    ],
    prefixes: &["ANTHROPIC_", "AWS_", "GOOGLE_", "CLOUD_ML_", "VERTEX_"],
};

/// The beginning of the answer to a call of a tool that the level does not offer.
const NO_SUCH_TOOL: &str = "<tool_use_error>Error: No such tool available";

pub(super) fn command(spec: &AttemptSpec<'_>) -> CommandLine {
    let mut line = CommandLine::default();
    line.arg("-p").arg("--output-format").arg("stream-json").arg("--verbose");
    match spec.permission {
        Permission::ReadOnly => {
            line.arg("--setting-sources").arg("user").arg("--strict-mcp-config");
            line.arg("--tools").arg("Read,Grep,Glob");
        }
        Permission::WorkspaceWrite => {
            line.arg("--setting-sources").arg("user").arg("--strict-mcp-config");
            line.arg("--tools").arg("Read,Grep,Glob,Edit,Write,NotebookEdit");
            line.arg("--permission-mode").arg("acceptEdits");
        }
        Permission::Full => {
            line.arg("--permission-mode").arg("bypassPermissions");
            line.arg("--disallowedTools").arg("mcp__adjutant");
        }
    }
    line.option("--model", spec.model);
    // A schema is an argument here. A large one does not fit, so the executor validates the answer.
    if let Some(schema) = spec.schema.map(Value::to_string).filter(|schema| schema.len() <= MAX_ARGUMENT) {
        line.arg("--json-schema").arg(schema);
        line.schema = SchemaEnforcement::Runner;
    }
    line.option("--resume", spec.session);
    line.stdin(spec.prompt);
    line.format = Some(OutputFormat::Claude);
    line
}

/// Parses one event of `--output-format stream-json`.
pub(super) fn read(run: &mut RunAccumulator, event: &Value) -> Vec<TaskEventKind> {
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    match (text("type"), text("subtype")) {
        ("system", "init") => {
            run.session = event["session_id"].as_str().map(ToOwned::to_owned);
            run.model = event["model"].as_str().map(ToOwned::to_owned);
            Vec::new()
        }
        ("system", "api_retry") => {
            let words = format!("{}; trying again", event["error"].as_str().unwrap_or("the provider failed"));
            run.error(Failure::from_status(event["error_status"].as_u64().unwrap_or(500), &words))
        }
        ("system", "permission_denied") => run.call_ended(text("tool_use_id"), ToolResult::Denied, None),
        ("assistant", _) => blocks(event).flat_map(|block| assistant_block(run, block)).collect(),
        ("user", _) => blocks(event).flat_map(|block| tool_result(run, block)).collect(),
        ("result", _) => {
            result(run, event);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn blocks(event: &Value) -> impl Iterator<Item = &Value> {
    event["message"]["content"].as_array().into_iter().flatten()
}

fn assistant_block(run: &mut RunAccumulator, block: &Value) -> Vec<TaskEventKind> {
    // The model answers again.
    run.last_error = None;
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    match text("type") {
        "text" => text_event(text("text")),
        "thinking" => thinking(text("thinking")),
        "tool_use" => {
            let input = &block["input"];
            match (text("name"), input["command"].as_str()) {
                ("Bash", Some(command)) => run.command_started(text("id"), command),
                (tool @ ("Edit" | "Write" | "NotebookEdit"), _) => {
                    let file = input["file_path"].as_str().or_else(|| input["notebook_path"].as_str());
                    run.tool_started(text("id"), tool, file)
                }
                (tool, _) => run.tool_started(text("id"), tool, None),
            }
        }
        _ => Vec::new(),
    }
}

fn tool_result(run: &mut RunAccumulator, block: &Value) -> Vec<TaskEventKind> {
    if block["type"] != "tool_result" {
        return Vec::new();
    }
    let failed = block["is_error"] == true;
    let content =
        block["content"].as_str().or_else(|| block["content"][0]["text"].as_str()).unwrap_or_default();
    // A command's failure begins with its exit code; where it does not, the command did not run.
    let exit = if failed {
        let code = content.strip_prefix("Exit code ").and_then(|rest| rest.split_whitespace().next());
        code.and_then(|code| code.parse().ok())
    } else {
        Some(0)
    };
    let result = match failed {
        true if content.starts_with(NO_SUCH_TOOL) => ToolResult::Denied,
        true => ToolResult::Failed,
        false => ToolResult::Done,
    };
    run.call_ended(block["tool_use_id"].as_str().unwrap_or_default(), result, exit)
}

fn result(run: &mut RunAccumulator, event: &Value) {
    let usage = &event["usage"];
    let part = |key: &str| usage[key].as_u64();
    let cached = part("cache_read_input_tokens");
    let all = [part("input_tokens"), cached, part("cache_creation_input_tokens")];
    run.usage = Usage {
        // The API counts cached tokens separately.
        input_tokens: part("input_tokens").map(|_| all.into_iter().flatten().sum()),
        cached_tokens: cached,
        output_tokens: part("output_tokens"),
        cost_micro_usd: event["total_cost_usd"].as_f64().and_then(to_micro_usd),
    };
    let models: BTreeMap<&str, u64> = event["modelUsage"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(model, usage)| (model.as_str(), usage["outputTokens"].as_u64().unwrap_or_default()))
        .collect();
    // The CLI uses a cheaper model for small side jobs; the model with the most output answered.
    if let Some((model, _)) = models.into_iter().max_by_key(|(_, tokens)| *tokens) {
        run.model = Some(model.to_owned());
    }
    if let Some(session) = event["session_id"].as_str() {
        run.session = Some(session.to_owned());
    }
    let words = event["result"].as_str().unwrap_or_default();
    // With a failure `subtype` may still say "success"; `is_error` is what counts.
    run.end = Some(if event["is_error"] == true {
        Err(match event["api_error_status"].as_u64() {
            Some(status) => Failure::from_status(status, words),
            None if words.is_empty() => {
                let subtype = event["subtype"].as_str().unwrap_or("error");
                Failure::classify(subtype, Class::Crashed)
            }
            None => Failure::classify(words, Class::Crashed),
        })
    } else {
        let structured = Some(&event["structured_output"]).filter(|output| !output.is_null());
        run.message = Some(structured.map_or_else(|| words.to_owned(), Value::to_string));
        Ok(())
    });
}
