//! `list_prompts` and `expand_prompt`.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::arguments::{self, Fault};
use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::protocol_version::Revision;
use crate::transport::preserialized::{RawResult, members};
use adjutant_app::activity_log::ActivityKind;
use adjutant_base::events::Event;
use adjutant_prompts::{Argument, Catalogue, Error, Inputs, Problem};

/// Name of the tool that lists the prompts.
pub const LIST: &str = "list_prompts";
pub(crate) const EXPAND: &str = "expand_prompt";

const LIST_DESCRIPTION: &str = "List available prompt commands with descriptions. Users invoke prompt commands in \
messages by writing :<command> (e.g., :research topic); this lists what commands exist.";
const EXPAND_DESCRIPTION: &str = "Expands a named prompt command into a full prompt. When ANY user message contains a \
:-prefixed command token (e.g., :research topic, :summarize this article, :critique \"draft\"), you MUST call this tool \
before responding. Strip the leading colon from the command name and pass any remaining text (including quotes) as the \
input. Do not bypass this tool or answer directly whenever a :-prefixed command is present.";

/// How many files that were left out one answer names.
const PROBLEMS: usize = 100;

/// Returns the tools of the prompts: those of the contract at 2024-11-05, with titles, annotations and schemas later.
pub fn tools(revision: Revision) -> Vec<Tool> {
    let mut list = Tool::new(LIST, LIST_DESCRIPTION, schema(json!({"type": "object", "properties": {}})));
    let mut expand = Tool::new(EXPAND, EXPAND_DESCRIPTION, schema(expand_schema(revision)));
    if revision.has_annotations() {
        list.annotations = Some(read_only("List prompt commands"));
        expand.annotations = Some(read_only("Expand a prompt command"));
    }
    if revision.has_titles() {
        list.title = Some("List prompt commands".to_owned());
        expand.title = Some("Expand a prompt command".to_owned());
        list.output_schema = Some(schema(list_output_schema()));
        expand.output_schema = Some(schema(json!({
            "type": "object",
            "properties": {"prompt": {"type": "string", "description": "The full prompt, to be followed"}},
            "required": ["prompt"],
        })));
    }
    vec![list, expand]
}

/// Codex and Copilot run a tool without asking only if it says that it changes nothing.
fn read_only(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title).read_only(true).destructive(false).idempotent(true).open_world(false)
}

fn expand_schema(revision: Revision) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "Prompt command name (filename without extension)"},
            "input": {"type": "string", "description": "Text to inject into the prompt template"},
        },
        "required": ["command", "input"],
    });
    if revision > Revision::V2024_11_05 {
        schema["properties"]["arguments"] = json!({
            "type": "object",
            "description": "Values of the arguments that the command declares, by name; list_prompts shows them",
        });
        schema["required"] = json!(["command"]);
    }
    schema
}

fn list_output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "prompts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "description": {"type": "string"},
                        "arguments": {"type": "array", "items": {"type": "object"}},
                    },
                    "required": ["name", "description"],
                },
            },
        },
        "required": ["prompts"],
    })
}

fn schema(value: Value) -> Arc<Map<String, Value>> {
    Arc::new(match value {
        Value::Object(map) => map,
        _ => Map::new(),
    })
}

/// Lists all commands by name.
pub async fn list(call: &CallContext<'_>) -> CallToolResult {
    let catalogue = call.client.prompts().await;
    let result = match &call.client.connection {
        None => structured(listing(&catalogue, call.revision)),
        Some(connection) => {
            let contract = call.revision == Revision::V2024_11_05;
            let slot = if contract { &catalogue.contract_listing } else { &catalogue.listing };
            let members = slot.get_or_init(|| {
                let json = listing(&catalogue, call.revision).to_string();
                members(&json, &json)
            });
            connection.prepare(call.request.id.clone(), RawResult::Members(members.clone()));
            empty()
        }
    };
    with_problems(result, &catalogue)
}

fn listing(catalogue: &Catalogue, revision: Revision) -> Value {
    let prompts = catalogue.prompts.values().map(|prompt| {
        let mut entry = json!({"name": prompt.name, "description": prompt.description});
        if revision > Revision::V2024_11_05 && !prompt.arguments.is_empty() {
            entry["arguments"] = prompt.arguments.iter().map(argument).collect();
        }
        entry
    });
    json!({"prompts": prompts.collect::<Vec<_>>()})
}

fn argument(argument: &Argument) -> Value {
    let mut entry =
        json!({"name": argument.name, "type": argument.kind.name(), "required": argument.required});
    if !argument.description.is_empty() {
        entry["description"] = Value::from(argument.description.as_str());
    }
    if !argument.choices.is_empty() {
        entry["enum"] = Value::from(argument.choices.clone());
    }
    if let Some(default) = &argument.default {
        entry["default"] = default.clone();
    }
    entry
}

/// Names the files that were left out, where there are any.
fn with_problems(mut result: CallToolResult, catalogue: &Catalogue) -> CallToolResult {
    if catalogue.problems.is_empty() {
        return result;
    }
    let problem = |problem: &Problem| json!({"file": problem.source.relative, "problem": problem.message});
    let problems: Vec<Value> = catalogue.problems.iter().take(PROBLEMS).map(problem).collect();
    let mut meta = MetaObject::default();
    meta.0.insert("adjutant/problems".to_owned(), Value::from(problems));
    result.meta = Some(meta);
    result
}

/// Expands one command.
pub async fn expand(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResult, ErrorData> {
    let (command, inputs) = match read(arguments, call.revision) {
        Ok(read) => read,
        Err(fault) => return fault.answer(call.revision),
    };
    let catalogue = call.client.prompts().await;
    let error = match call.client.app.prompts.expand(&catalogue, command, inputs) {
        Ok(expansion) => {
            expanded(call.client, &expansion.prompt.name, expansion.text.len());
            return Ok(match &call.client.connection {
                Some(connection) => {
                    connection.prepare(call.request.id.clone(), RawResult::Prompt(expansion.text));
                    empty()
                }
                None => structured(json!({"prompt": expansion.text})),
            });
        }
        Err(error) => error,
    };
    refused(call.client, command, &error);
    match error {
        Error::Argument { message, path, validator, validator_value } => {
            Fault { message, path, validator, validator_value: *validator_value }.answer(call.revision)
        }
        Error::Unknown { .. } | Error::TooLarge { .. } | Error::Template { .. } | Error::Broken { .. } => {
            Ok(CallToolResult::error(vec![ContentBlock::text(error.to_string())]))
        }
    }
}

fn read(arguments: &Map<String, Value>, revision: Revision) -> Result<(&str, Inputs<'_>), Fault> {
    let contract = revision == Revision::V2024_11_05;
    let command = arguments::string(arguments, "command", true)?.unwrap_or_default();
    let text = arguments::string(arguments, "input", contract)?.unwrap_or_default();
    let named = if contract { None } else { arguments::object(arguments, "arguments")? };
    Ok((command, Inputs { text, named }))
}

/// Tells the console that a command was expanded.
pub fn expanded(client: &ClientContext, prompt: &str, bytes: usize) {
    let app = &client.app;
    app.activity
        .record(client.connected.label(), ActivityKind::Expanded { prompt: prompt.to_owned(), bytes });
    app.events.send(Event::PromptExpanded);
}

/// Tells the console that an expansion was refused.
pub fn refused(client: &ClientContext, prompt: &str, error: &Error) {
    let app = &client.app;
    let prompt = prompt.chars().take(64).collect();
    app.activity
        .record(client.connected.label(), ActivityKind::Rejected { prompt, reason: error.to_string() });
    app.events.send(Event::PromptRefused);
}

fn empty() -> CallToolResult {
    let mut result = CallToolResult::success(Vec::new());
    // The contract shows no `isError` on success.
    result.is_error = None;
    result
}

/// The whole answer twice, as structured content and as text: some clients show the one, some the other.
fn structured(value: Value) -> CallToolResult {
    let mut result = empty();
    result.content = vec![ContentBlock::text(value.to_string())];
    result.structured_content = Some(value);
    result
}
