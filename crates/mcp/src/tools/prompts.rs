//! `list_prompts` and `expand_prompt`.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, Tool};
use serde_json::{Map, Value, json};

use super::definition::{any_object, object, read_only, structured, success, tool, with_problems, words};
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

/// The descriptions of the contract.
const LIST_CONTRACT: &str = "List available prompt commands with descriptions. Users invoke prompt commands in \
messages by writing :<command> (e.g., :research topic); this lists what commands exist.";
const EXPAND_CONTRACT: &str = "Expands a named prompt command into a full prompt. When ANY user message contains a \
:-prefixed command token (e.g., :research topic, :summarize this article, :critique \"draft\"), you MUST call this tool \
before responding. Strip the leading colon from the command name and pass any remaining text (including quotes) as the \
input. Do not bypass this tool or answer directly whenever a :-prefixed command is present.";

const LIST_DESCRIPTION: &str = "List the user's prompt commands. Call it to find the name or the arguments of a command; \
to run a command, call expand_prompt. Returns the name, the description and the arguments of each.";
const EXPAND_DESCRIPTION: &str = "Expand a prompt command into its full prompt. Whenever a message of the user contains \
`:name` (`:research topic`, `:critique \"draft\"`), you MUST call this tool before you answer, with the name without its \
colon as `command` and the rest of the message as `input`. Returns the prompt: follow it as if the user had written it. \
list_prompts shows the names.";

/// Returns the tools of the prompts: those of the contract at 2024-11-05, with titles, annotations and schemas later.
pub fn tools(revision: Revision) -> Vec<Tool> {
    let (list, expand) = ("List prompt commands", "Expand a prompt command");
    let prompt = object(json!({"prompt": {"type": "string"}}), &["prompt"]);
    let tool = |name: &'static str, title: &str, contract, newer, input, output| {
        let description = words(revision, contract, newer);
        tool(revision, (name, title), description, (input, output), read_only(title))
    };
    let none = json!({"type": "object", "properties": {}});
    vec![
        tool(LIST, list, LIST_CONTRACT, LIST_DESCRIPTION, none, any_object()),
        tool(EXPAND, expand, EXPAND_CONTRACT, EXPAND_DESCRIPTION, expand_schema(revision), prompt),
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
        schema["properties"]["command"]["description"] = json!("Name of the command, without the colon");
        schema["properties"]["input"]["description"] = json!("The rest of the user's message");
        schema["properties"]["arguments"] = json!({
            "type": "object",
            "description": "Values of the command's arguments by name, as list_prompts shows them",
        });
        schema["required"] = json!(["command"]);
    }
    schema
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
