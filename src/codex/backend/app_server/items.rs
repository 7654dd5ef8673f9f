//! The items of app-server.

use serde_json::Value;

use super::super::read;
use crate::codex::happened::{Item, ItemState, Kind};

/// Reads an item; one that is not known is kept as it is.
pub(super) fn item(value: &Value, turn: Option<String>, ended: bool) -> Item {
    let kind = match value["type"].as_str().unwrap_or_default() {
        "userMessage" => Kind::User { text: read::joined(&value["content"], "\n") },
        "agentMessage" => Kind::Agent { text: read::words(&value["text"]) },
        "reasoning" => Kind::Reasoning { text: read::joined(&value["summary"], "\n") },
        "commandExecution" => Kind::Command {
            command: read::words(&value["command"]),
            cwd: read::folder(&value["cwd"]),
            output: read::words(&value["aggregatedOutput"]),
            exit_code: value["exitCode"].as_i64(),
        },
        "fileChange" => Kind::Patch { changes: read::changes_listed(&value["changes"]) },
        "mcpToolCall" => Kind::Tool {
            server: read::words(&value["server"]),
            tool: read::words(&value["tool"]),
            arguments: value["arguments"].clone(),
            result: read::tool_result(&value["result"]).or_else(|| read::text(&value["error"]["message"])),
        },
        "error" => Kind::Error { message: read::words(&value["message"]) },
        name => Kind::Other { name: name.to_owned(), content: value.clone() },
    };
    let state = if ended { ItemState::parse(value["status"].as_str()) } else { ItemState::Running };
    // Over is over, whatever the item says of itself.
    let state = if ended && state == ItemState::Running { ItemState::Failed } else { state };
    Item { id: read::words(&value["id"]), turn, state, kind }
}
