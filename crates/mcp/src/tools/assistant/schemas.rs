//! Descriptions and schemas of the assistant's tools: those of the contract at 2024-11-05, more of them later.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::arguments::{ANSWERS, MOST_ANSWERS};
use super::listing::{AHEAD, BACK, FORWARD};
use super::names::{EVENT, EVENTS, NOTIFICATIONS, PLAN, USER};
use crate::protocol_version::Revision;
use adjutant_assistant::notification::Status;
use adjutant_assistant::planner::proposal;
use adjutant_base::config::assistant::{Adviser, AssistantConfig};

/// The tools as `revision` shows them. Planning takes answers where the client's own model may be asked.
pub fn tools(revision: Revision, config: &AssistantConfig) -> Vec<Tool> {
    let user = || json!({"type": "string", "description": "User ID"});
    let event = || json!({"type": "string", "description": "Event ID"});
    let days = |least: u32, (usual, most): (u32, u32), description: &str| json!({"type": "integer", "description": description, "minimum": least, "maximum": most, "default": usual});
    let words: Vec<&str> = Status::ALL.iter().map(|status| status.name()).collect();
    vec![
        tool(
            revision,
            (USER, "Show a user", "Get user details by ID"),
            json!({"type": "object", "properties": {"user_id": user()}, "required": ["user_id"]}),
            told(&["id", "name", "email", "preferences"], &[]),
        ),
        tool(
            revision,
            (EVENT, "Show an event", "Get event details by ID"),
            json!({"type": "object", "properties": {"event_id": event()}, "required": ["event_id"]}),
            told(&["id", "title", "start_ts", "end_ts", "status"], &[]),
        ),
        tool(
            revision,
            (EVENTS, "List events", "List calendar events with filters"),
            json!({"type": "object", "properties": {
                "user_id": user(),
                "days_back": days(0, BACK, "Days back"),
                "days_forward": days(1, FORWARD, "Days forward"),
            }}),
            told(&["count", "events"], &["events"]),
        ),
        tool(
            revision,
            (NOTIFICATIONS, "List notifications", "List notifications with filters"),
            json!({"type": "object", "properties": {
                "user_id": user(),
                "status": {"type": "string", "description": "Status", "enum": words},
                "days_forward": days(1, AHEAD, "Days forward"),
            }}),
            told(&["count", "notifications"], &["notifications"]),
        ),
        tool(
            revision,
            (PLAN, "Plan notifications", "Plan notifications for user events using LLM policy"),
            planning(takes_answers(revision, config)),
            told(&["notifications_planned", "events_processed", "plan_time"], &["notifications", "skipped"]),
        ),
    ]
}

/// Whether the client's own model may answer by a second call. The contract of 2024-11-05 has no argument for it.
pub(super) fn takes_answers(revision: Revision, config: &AssistantConfig) -> bool {
    revision != Revision::V2024_11_05 && config.advisers.contains(&Adviser::Client)
}

fn planning(takes_answers: bool) -> Value {
    let mut input = json!({"type": "object", "properties": {
        "user_id": {"type": "string", "description": "User ID"},
        "event_id": {"type": "string", "description": "Event ID"},
        "force_replan": {"type": "boolean", "description": "Plan anew what is planned already", "default": false},
    }, "required": ["user_id"]});
    if takes_answers {
        input["properties"][ANSWERS] = json!({
            "type": "array",
            "description": "Your answers to the questions that an earlier call handed out under `ask`",
            "maxItems": MOST_ANSWERS,
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string", "description": "The question's id"},
                    "proposal": proposal::schema(),
                },
                "required": ["question", "proposal"],
            },
        });
    }
    input
}

fn tool(
    revision: Revision,
    (name, title, description): (&'static str, &str, &'static str),
    input: Value,
    output: Value,
) -> Tool {
    let mut tool = Tool::new(name, description, schema(input));
    if revision.has_annotations() {
        // Planning writes rows that a person sees before anything is sent; the same call twice plans once.
        let annotations = ToolAnnotations::with_title(title).read_only(name != PLAN).destructive(false);
        tool.annotations = Some(annotations.idempotent(true).open_world(false));
    }
    if revision.has_titles() {
        tool.title = Some(title.to_owned());
        tool.output_schema = Some(schema(output));
    }
    tool
}

/// The schema of an answer with these members, of which some are lists of objects.
fn told(members: &[&str], lists: &[&str]) -> Value {
    let mut properties = Map::new();
    for member in members.iter().chain(lists) {
        let kind = match *member {
            "count" | "notifications_planned" | "events_processed" => json!({"type": "integer"}),
            "preferences" => json!({"type": "object"}),
            "email" => json!({"type": ["string", "null"]}),
            member if lists.contains(&member) => json!({"type": "array", "items": {"type": "object"}}),
            _ => json!({"type": "string"}),
        };
        properties.insert((*member).to_owned(), kind);
    }
    json!({"type": "object", "properties": properties, "required": members})
}

fn schema(value: Value) -> Arc<Map<String, Value>> {
    Arc::new(match value {
        Value::Object(map) => map,
        _ => Map::new(),
    })
}
