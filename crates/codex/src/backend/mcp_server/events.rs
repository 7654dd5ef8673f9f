//! The messages of `codex/event` that tell of items, in the two ways that versions tell of them: some say
//! `item_started` and `item_completed`, some have a pair of messages for each kind, most say both.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::super::read;
use crate::codex::approval::shown;
use crate::codex::happened::{Happened, Item, ItemState, Kind, Level, Ready, Usage};

/// What is known of the items of the running turn.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Whether the item has ended already.
    seen: HashMap<String, bool>,
}

impl Events {
    /// Forgets the turn.
    pub(super) fn forget(&mut self) {
        self.seen.clear();
    }

    /// Reads a message; nothing for one that is not known, or that says again what was said.
    pub(super) fn read(&mut self, message: &Value, turn: Option<String>) -> Vec<Happened> {
        match message["type"].as_str().unwrap_or_default() {
            "item_started" => item(&message["item"], turn, false).and_then(|item| self.started(item)),
            "item_completed" => item(&message["item"], turn, true).and_then(|item| self.ended(item)),
            "agent_message_content_delta" | "reasoning_content_delta" => Some(Happened::ItemGrew {
                id: read::words(&message["item_id"]),
                text: read::words(&message["delta"]),
            }),
            "exec_command_begin" => self.started(command(message, turn, ItemState::Running)),
            "exec_command_output_delta" => Some(Happened::ItemGrew {
                id: read::words(&message["call_id"]),
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
            "token_count" => usage(&message["info"]["total_token_usage"]).map(Happened::Usage),
            "turn_diff" => Some(Happened::Diff { diff: read::words(&message["unified_diff"]) }),
            "warning" | "background_event" | "stream_error" => {
                Some(Happened::Notice { level: Level::Warning, message: read::words(&message["message"]) })
            }
            "deprecation_notice" => {
                Some(Happened::Notice { level: Level::Info, message: read::words(&message["summary"]) })
            }
            _ => None,
        }
        .into_iter()
        .collect()
    }

    fn started(&mut self, item: Item) -> Option<Happened> {
        if self.seen.contains_key(&item.id) {
            return None;
        }
        self.seen.insert(item.id.clone(), false);
        Some(Happened::ItemStarted { item })
    }

    fn ended(&mut self, item: Item) -> Option<Happened> {
        (self.seen.insert(item.id.clone(), true) != Some(true)).then_some(Happened::ItemEnded { item })
    }
}

/// Reads `session_configured`.
pub(super) fn ready(message: &Value, version: Option<String>) -> Ready {
    Ready { model: read::text(&message["model"]), cwd: read::folder(&message["cwd"]), version }
}

fn item(value: &Value, turn: Option<String>, ended: bool) -> Option<Item> {
    let kind = match value["type"].as_str()? {
        "UserMessage" => Kind::User { text: read::joined(&value["content"], "\n") },
        "AgentMessage" => Kind::Agent { text: read::joined(&value["content"], "") },
        "Reasoning" => Kind::Reasoning { text: read::joined(&value["summary_text"], "\n") },
        "CommandExecution" => command(value, None, ItemState::Running).kind,
        "FileChange" => Kind::Patch { changes: read::changes_by_path(&value["changes"]) },
        "McpToolCall" => Kind::Tool {
            server: read::words(&value["server"]),
            tool: read::words(&value["tool"]),
            arguments: value["arguments"].clone(),
            result: read::tool_result(&value["result"]),
        },
        name => Kind::Other { name: name.to_owned(), content: value.clone() },
    };
    let state = if ended { ItemState::parse(value["status"].as_str()) } else { ItemState::Running };
    Some(Item { id: read::words(&value["id"]), turn, state, kind })
}

fn command(message: &Value, turn: Option<String>, state: ItemState) -> Item {
    let output = read::text(&message["aggregated_output"]).unwrap_or_else(|| read::words(&message["stdout"]));
    let kind = Kind::Command {
        command: shown(&read::list(&message["command"])),
        cwd: read::folder(&message["cwd"]),
        output,
        exit_code: message["exit_code"].as_i64(),
    };
    Item { id: read::words(&message["call_id"]), turn, state, kind }
}

fn patch(message: &Value, turn: Option<String>, state: ItemState) -> Item {
    let kind = Kind::Patch { changes: read::changes_by_path(&message["changes"]) };
    Item { id: read::words(&message["call_id"]), turn, state, kind }
}

fn tool(message: &Value, turn: Option<String>, state: ItemState) -> Item {
    let invocation = &message["invocation"];
    let kind = Kind::Tool {
        server: read::words(&invocation["server"]),
        tool: read::words(&invocation["tool"]),
        arguments: invocation["arguments"].clone(),
        result: read::tool_result(&message["result"]),
    };
    Item { id: read::words(&message["call_id"]), turn, state, kind }
}

fn usage(total: &Value) -> Option<Usage> {
    let count = |member: &str| total[member].as_u64().unwrap_or(0);
    total.is_object().then(|| Usage {
        input: count("input_tokens"),
        cached: count("cached_input_tokens"),
        output: count("output_tokens"),
        reasoning: count("reasoning_output_tokens"),
        total: count("total_tokens"),
    })
}

/// A piece of output as text: it comes as base64, and one that is none is text already.
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
