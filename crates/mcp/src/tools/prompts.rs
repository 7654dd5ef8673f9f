//! `list_prompts` and `expand_prompt`.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, Tool};
use serde_json::{Map, Value, json};

use super::definition::{object, read_only, structured, success, tool, with_problems};
use crate::arguments::{self, ArgumentError};
use crate::call_context::CallContext;
use crate::client_context::ClientContext;
use crate::protocol_version::Revision;
use crate::transport::preserialized::{RawResult, members};
use adjutant_app::activity_log::ActivityKind;
use adjutant_base::events::Event;
use adjutant_prompts::{Argument, Catalogue, Error, Inputs};

/// Name of the tool that lists the prompts.
pub const LIST: &str = "list_prompts";
pub(crate) const EXPAND: &str = "expand_prompt";

const LIST_DESCRIPTION: &str = "List available prompt commands with descriptions. Users invoke prompt commands in \
messages by writing :<command> (e.g., :research topic); this lists what commands exist.";
const EXPAND_DESCRIPTION: &str = "Expands a named prompt command into a full prompt. When ANY user message contains a \
:-prefixed command token (e.g., :research topic, :summarize this article, :critique \"draft\"), you MUST call this tool \
before responding. Strip the leading colon from the command name and pass any remaining text (including quotes) as the \
input. Do not bypass this tool or answer directly whenever a :-prefixed command is present.";

/// Returns the tools of the prompts: those of the contract at 2024-11-05, with titles, annotations and schemas later.
pub fn tools(revision: Revision) -> Vec<Tool> {
    let (list, expand) = ("List prompt commands", "Expand a prompt command");
    let none = json!({"type": "object", "properties": {}});
    let prompt = json!({"prompt": {"type": "string", "description": "The full prompt, to be followed"}});
    let schemas = (expand_schema(revision), object(prompt, &["prompt"]));
    vec![
        tool(revision, (LIST, list), LIST_DESCRIPTION, (none, list_output_schema()), read_only(list)),
        tool(revision, (EXPAND, expand), EXPAND_DESCRIPTION, schemas, read_only(expand)),
    ]
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
            success(Vec::new())
        }
    };
    with_problems(result, &catalogue.problems)
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

/// Expands one command.
pub async fn expand(
    call: &CallContext<'_>,
    arguments: &Map<String, Value>,
) -> Result<CallToolResult, ErrorData> {
    let (command, inputs) = match read(arguments, call.revision) {
        Ok(read) => read,
        Err(error) => return error.answer(call.revision),
    };
    let catalogue = call.client.prompts().await;
    match call.client.app.prompts.expand(&catalogue, command, inputs) {
        Ok(expansion) => {
            record_expansion(call.client, &expansion.prompt.name, expansion.text.len());
            Ok(match &call.client.connection {
                Some(connection) => {
                    connection.prepare(call.request.id.clone(), RawResult::Prompt(expansion.text));
                    success(Vec::new())
                }
                None => structured(json!({"prompt": expansion.text})),
            })
        }
        Err(error) => {
            record_refusal(call.client, command, &error);
            match error {
                Error::Argument { message, path, validator, validator_value } => {
                    ArgumentError { message, path, validator, validator_value: *validator_value }
                        .answer(call.revision)
                }
                Error::Unknown { .. }
                | Error::TooLarge { .. }
                | Error::Template { .. }
                | Error::Broken { .. } => {
                    Ok(CallToolResult::error(vec![ContentBlock::text(error.to_string())]))
                }
            }
        }
    }
}

fn read(arguments: &Map<String, Value>, revision: Revision) -> Result<(&str, Inputs<'_>), ArgumentError> {
    let contract = revision == Revision::V2024_11_05;
    let command = arguments::required_string(arguments, "command")?;
    let text = arguments::string(arguments, "input", contract)?.unwrap_or_default();
    let named = if contract { None } else { arguments::object(arguments, "arguments")? };
    Ok((command, Inputs { text, named }))
}

/// Records that a command was expanded, and publishes it.
pub(crate) fn record_expansion(client: &ClientContext, prompt: &str, bytes: usize) {
    let app = &client.app;
    app.activity
        .record(client.connected.label(), ActivityKind::Expanded { prompt: prompt.to_owned(), bytes });
    app.events.send(Event::PromptExpanded);
}

/// Records that an expansion was refused, and publishes it.
pub(crate) fn record_refusal(client: &ClientContext, prompt: &str, error: &Error) {
    let app = &client.app;
    let prompt = prompt.chars().take(64).collect();
    app.activity
        .record(client.connected.label(), ActivityKind::Rejected { prompt, reason: error.to_string() });
    app.events.send(Event::PromptRefused);
}
