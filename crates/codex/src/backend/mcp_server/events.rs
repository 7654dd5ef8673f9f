//! The messages of `codex/event` about items. Some versions send `item_started` and `item_completed`, some a pair of
//! messages for each kind, most send both.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::super::json_fields;
use crate::approval::shell_line;
use crate::event::{CodexEvent, Item, ItemKind, ItemState, Level, Ready, Usage};

/// The known items of the running turn.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// By id: true once the item has ended.
    ended_by_id: HashMap<String, bool>,
}

impl Events {
    /// Forgets the turn.
    pub(super) fn forget(&mut self) {
        self.ended_by_id.clear();
    }

    /// Parses a message; empty for an unknown one, and for one that repeats another.
    pub(super) fn read(&mut self, message: &Value, turn: Option<String>) -> Vec<CodexEvent> {
        match message["type"].as_str().unwrap_or_default() {
            "item_started" => item(&message["item"], turn, false).and_then(|item| self.started(item)),
            "item_completed" => item(&message["item"], turn, true).and_then(|item| self.ended(item)),
            "agent_message_content_delta" | "reasoning_content_delta" => Some(CodexEvent::ItemGrew {
                id: json_fields::words(&message["item_id"]),
                text: json_fields::words(&message["delta"]),
            }),
            "exec_command_begin" => self.started(command(message, turn, ItemState::Running)),
            "exec_command_output_delta" => Some(CodexEvent::ItemGrew {
                id: json_fields::words(&message["call_id"]),
                text: output(message["chunk"].as_str().unwrap_or_default()),
            }),
            "exec_command_end" => {
                let state = match message["status"].as_str() {
                    None if message["exit_code"].as_i64().is_some_and(|code| code != 0) => ItemState::Failed,
                    word => ItemState::parse(word),
                };
                self.ended(command(message, turn, state))
            }
            "patch_apply_begin" => self.started(patch(message, turn, ItemState::Running)),
            "patch_apply_end" => {
                let state = match message["status"].as_str() {
                    None if message["success"] == false => ItemState::Failed,
                    word => ItemState::parse(word),
                };
                self.ended(patch(message, turn, state))
            }
            "mcp_tool_call_begin" => self.started(tool(message, turn, ItemState::Running)),
            "mcp_tool_call_end" => {
                let failed = !message["result"]["Err"].is_null();
                self.ended(tool(message, turn, if failed { ItemState::Failed } else { ItemState::Done }))
            }
            "token_count" => usage(&message["info"]).map(CodexEvent::Usage),
            "turn_diff" => Some(CodexEvent::Diff { diff: json_fields::words(&message["unified_diff"]) }),
            "warning" | "background_event" | "stream_error" => Some(CodexEvent::Notice {
                level: Level::Warning,
                message: json_fields::words(&message["message"]),
            }),
            "deprecation_notice" => Some(CodexEvent::Notice {
                level: Level::Info,
                message: json_fields::words(&message["summary"]),
            }),
            _ => None,
        }
        .into_iter()
        .collect()
    }

    fn started(&mut self, item: Item) -> Option<CodexEvent> {
        if self.ended_by_id.contains_key(&item.id) {
            return None;
        }
        self.ended_by_id.insert(item.id.clone(), false);
        Some(CodexEvent::ItemStarted { item })
    }

    fn ended(&mut self, item: Item) -> Option<CodexEvent> {
        (self.ended_by_id.insert(item.id.clone(), true) != Some(true))
            .then_some(CodexEvent::ItemEnded { item })
    }
}

/// Parses `session_configured`.
pub(super) fn ready(message: &Value, version: Option<String>) -> Ready {
    Ready {
        model: json_fields::text(&message["model"]),
        effort: json_fields::text(&message["reasoning_effort"]),
        cwd: json_fields::folder(&message["cwd"]),
        version,
    }
}

fn item(value: &Value, turn: Option<String>, ended: bool) -> Option<Item> {
    let kind = match value["type"].as_str()? {
        "UserMessage" => ItemKind::User { text: json_fields::joined(&value["content"], "\n") },
        "AgentMessage" => ItemKind::Agent { text: json_fields::joined(&value["content"], "") },
        "Reasoning" => ItemKind::Reasoning { text: json_fields::joined(&value["summary_text"], "\n") },
        "CommandExecution" => command(value, None, ItemState::Running).kind,
        "FileChange" => ItemKind::Patch { changes: json_fields::changes_by_path(&value["changes"]) },
        "McpToolCall" => ItemKind::Tool {
            server: json_fields::words(&value["server"]),
            tool: json_fields::words(&value["tool"]),
            arguments: value["arguments"].clone(),
            result: json_fields::tool_result(&value["result"]),
        },
        name => ItemKind::Other { name: name.to_owned(), content: value.clone() },
    };
    let state = if ended { ItemState::parse(value["status"].as_str()) } else { ItemState::Running };
    Some(Item { id: json_fields::words(&value["id"]), turn, state, kind })
}

fn command(message: &Value, turn: Option<String>, state: ItemState) -> Item {
    let output = json_fields::text(&message["aggregated_output"])
        .unwrap_or_else(|| json_fields::words(&message["stdout"]));
    let kind = ItemKind::Command {
        command: shell_line(&json_fields::list(&message["command"]).unwrap_or_default()),
        cwd: json_fields::folder(&message["cwd"]),
        output,
        exit_code: message["exit_code"].as_i64(),
    };
    Item { id: json_fields::words(&message["call_id"]), turn, state, kind }
}

fn patch(message: &Value, turn: Option<String>, state: ItemState) -> Item {
    let kind = ItemKind::Patch { changes: json_fields::changes_by_path(&message["changes"]) };
    Item { id: json_fields::words(&message["call_id"]), turn, state, kind }
}

fn tool(message: &Value, turn: Option<String>, state: ItemState) -> Item {
    let invocation = &message["invocation"];
    let kind = ItemKind::Tool {
        server: json_fields::words(&invocation["server"]),
        tool: json_fields::words(&invocation["tool"]),
        arguments: invocation["arguments"].clone(),
        result: json_fields::tool_result(&message["result"]),
    };
    Item { id: json_fields::words(&message["call_id"]), turn, state, kind }
}

fn usage(info: &Value) -> Option<Usage> {
    let total = &info["total_token_usage"];
    let count = |member: &str| total[member].as_u64().unwrap_or(0);
    total.is_object().then(|| Usage {
        input: count("input_tokens"),
        cached: count("cached_input_tokens"),
        output: count("output_tokens"),
        reasoning: count("reasoning_output_tokens"),
        total: count("total_tokens"),
        context: info["last_token_usage"]["total_tokens"].as_u64().unwrap_or(0),
        window: info["model_context_window"].as_u64().unwrap_or(0),
    })
}

/// Decodes a piece of output from base64; other text is returned as it is.
fn output(chunk: &str) -> String {
    let bytes = STANDARD.decode(chunk).unwrap_or_else(|_| chunk.into());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::output;

    #[test]
    fn output_comes_as_base64() {
        assert_eq!(output("bWFkZQo="), "made\n");
        assert_eq!(output("bWFkZQ=="), "made");
        assert_eq!(output("made, in words"), "made, in words");
    }
}
