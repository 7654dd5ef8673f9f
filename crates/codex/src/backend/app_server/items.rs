//! The items of app-server.

use serde_json::Value;

use super::super::json_fields;
use crate::event::{Item, ItemKind, ItemState, PlanStep};
use adjutant_base::text::clip;

/// Parses the plan of a turn, which replaces its earlier one.
pub(super) fn plan(params: &Value, turn: Option<String>) -> Item {
    let steps = params["plan"].as_array().into_iter().flatten();
    let step = |step: &Value| PlanStep {
        step: json_fields::words(&step["step"]),
        status: json_fields::words(&step["status"]),
    };
    let kind = ItemKind::Plan {
        explanation: json_fields::text(&params["explanation"]),
        steps: steps.map(step).collect(),
    };
    let id = format!("plan-{}", turn.as_deref().unwrap_or_default());
    Item { id, turn, state: ItemState::Running, kind }
}

/// Parses the turns of a thread that Codex describes. Each item comes with the time of its end or of its turn, in
/// milliseconds since 1970, if Codex has it.
pub(crate) fn history(thread: &Value) -> Vec<(Option<i64>, Item)> {
    let turns = thread["turns"].as_array().into_iter().flatten();
    let past = |turn: &Value, value: &Value| {
        let of_turn = turn["startedAt"].as_i64().map(|seconds| seconds.saturating_mul(1000));
        let at = value["completedAtMs"].as_i64().or(of_turn);
        (at, item(value, json_fields::text(&turn["id"]), true))
    };
    let items = |turn: &'_ Value| turn["items"].as_array().cloned().unwrap_or_default();
    turns
        .flat_map(|turn| items(turn).into_iter().map(|value| past(turn, &value)).collect::<Vec<_>>())
        .collect()
}

/// Returns an item of another kind in words, or its kind and the beginning of its content.
fn described(kind: &str, value: &Value) -> String {
    /// Characters of the content.
    const MAX_CHARS: usize = 300;
    match (kind, value["review"].as_str()) {
        ("contextCompaction", _) => "the context was compacted".to_owned(),
        ("enteredReviewMode", Some(target)) => format!("the review begins: {target}"),
        // Its text is also a message.
        ("exitedReviewMode", _) => "the review has ended".to_owned(),
        _ => {
            let content = json_fields::others(value, &["id", "type", "startedAtMs", "completedAtMs"]);
            let kind = if kind.is_empty() { "an item without a kind" } else { kind };
            if content.is_empty() {
                return kind.to_owned();
            }
            format!("{kind} {}", clip::chars(&Value::Object(content).to_string(), MAX_CHARS))
        }
    }
}

/// Parses an item; an unknown kind keeps its content.
pub(super) fn item(value: &Value, turn: Option<String>, ended: bool) -> Item {
    let kind = match value["type"].as_str().unwrap_or_default() {
        "userMessage" => {
            let mut text = json_fields::joined(&value["content"], "\n");
            for part in value["content"].as_array().into_iter().flatten() {
                if let ("localImage", Some(path)) =
                    (part["type"].as_str().unwrap_or_default(), part["path"].as_str())
                {
                    text.extend(["\n[image ", path, "]"]);
                }
            }
            ItemKind::User { text }
        }
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
        // What the agent proposes before it works, in plan mode; `turn/plan/updated` has the steps of its work.
        "plan" => ItemKind::Plan { explanation: Some(json_fields::words(&value["text"])), steps: Vec::new() },
        "error" => ItemKind::Error { message: json_fields::words(&value["message"]) },
        name => ItemKind::Other { name: described(name, value), content: value.clone() },
    };
    let state = if ended { ItemState::parse(value["status"].as_str()) } else { ItemState::Running };
    // An ended item cannot run, even if it says so.
    let state = if ended && state == ItemState::Running { ItemState::Failed } else { state };
    Item { id: json_fields::words(&value["id"]), turn, state, kind }
}
