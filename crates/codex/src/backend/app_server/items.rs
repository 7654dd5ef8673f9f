//! The items of app-server.

use serde_json::Value;

use super::super::json_fields;
use crate::event::{Item, ItemKind, ItemState};

/// Parses an item; an unknown kind keeps its content.
pub(super) fn item(value: &Value, turn: Option<String>, ended: bool) -> Item {
    let kind = match value["type"].as_str().unwrap_or_default() {
        "userMessage" => ItemKind::User { text: json_fields::joined(&value["content"], "\n") },
        "agentMessage" => ItemKind::Agent { text: json_fields::words(&value["text"]) },
        "reasoning" => ItemKind::Reasoning { text: json_fields::joined(&value["summary"], "\n") },
        "commandExecution" => ItemKind::Command {
            command: json_fields::words(&value["command"]),
            cwd: json_fields::folder(&value["cwd"]),
            output: json_fields::words(&value["aggregatedOutput"]),
            exit_code: value["exitCode"].as_i64(),
        },
        "fileChange" => ItemKind::Patch { changes: json_fields::changes_listed(&value["changes"]) },
        "mcpToolCall" => ItemKind::Tool {
            server: json_fields::words(&value["server"]),
            tool: json_fields::words(&value["tool"]),
            arguments: value["arguments"].clone(),
            result: json_fields::tool_result(&value["result"])
                .or_else(|| json_fields::text(&value["error"]["message"])),
        },
        "error" => ItemKind::Error { message: json_fields::words(&value["message"]) },
        name => ItemKind::Other { name: name.to_owned(), content: value.clone() },
    };
    let state = if ended { ItemState::parse(value["status"].as_str()) } else { ItemState::Running };
    // An ended item cannot run, even if it says so.
    let state = if ended && state == ItemState::Running { ItemState::Failed } else { state };
    Item { id: json_fields::words(&value["id"]), turn, state, kind }
}
