//! Descriptions and schemas of the assistant's tools: those of the contract at 2024-11-05, more of them later.

use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use super::arguments::{ANSWERS, MAX_ANSWERS};
use super::listing::{DAYS_BACK, DAYS_FORWARD, NOTIFICATION_DAYS};
use super::names::{CANCEL, CREATE, EVENT, EVENTS, NOTIFICATIONS, PLAN, UPDATE, USER, USERS};
use crate::protocol_version::Revision;
use crate::tools::definition::{object, read_only, tool};
use adjutant_assistant::notification::Status;
use adjutant_assistant::planner::proposal;
use adjutant_base::config::assistant::{Adviser, AssistantConfig};

/// The tools as `revision` shows them. Planning takes answers if the client's own model may be asked.
pub fn tools(revision: Revision, config: &AssistantConfig) -> Vec<Tool> {
    let user = || json!({"type": "string", "description": "User ID"});
    let event = || json!({"type": "string", "description": "Event ID"});
    let days = |min: u32, (default, max): (u32, u32), description: &str| json!({"type": "integer", "description": description, "minimum": min, "maximum": max, "default": default});
    let statuses: Vec<&str> = Status::ALL.iter().map(|status| status.name()).collect();
    let tool = |(name, title): (&'static str, &str), description: &'static str, input, output| {
        // A plan is only rows, which the user sees before anything is sent; the same call twice plans once.
        let annotations = read_only(title).read_only(name != PLAN);
        tool(revision, (name, title), description, (input, output), annotations)
    };
    let mut tools = vec![
        tool(
            (USER, "Show a user"),
            "Get user details by ID",
            object(json!({"user_id": user()}), &["user_id"]),
            output(&["id", "name", "email", "preferences"], &[]),
        ),
        tool(
            (EVENT, "Show an event"),
            "Get event details by ID",
            object(json!({"event_id": event()}), &["event_id"]),
            output(&["id", "title", "start_ts", "end_ts", "status"], &[]),
        ),
        tool(
            (EVENTS, "List events"),
            "List calendar events with filters",
            json!({"type": "object", "properties": {
                "user_id": user(),
                "days_back": days(0, DAYS_BACK, "Days back"),
                "days_forward": days(1, DAYS_FORWARD, "Days forward"),
            }}),
            output(&["count", "events"], &["events"]),
        ),
        tool(
            (NOTIFICATIONS, "List notifications"),
            "List notifications with filters",
            json!({"type": "object", "properties": {
                "user_id": user(),
                "status": {"type": "string", "description": "Status", "enum": statuses},
                "days_forward": days(1, NOTIFICATION_DAYS, "Days forward"),
            }}),
            output(&["count", "notifications"], &["notifications"]),
        ),
        tool(
            (PLAN, "Plan notifications"),
            "Plan notifications for user events using LLM policy",
            planning(takes_answers(revision, config)),
            output(
                &["notifications_planned", "events_processed", "plan_time"],
                &["notifications", "skipped"],
            ),
        ),
    ];
    if revision != Revision::V2024_11_05 {
        tools.extend(newer_tools(revision));
    }
    tools
}

/// The tools that the contract does not have.
fn newer_tools(revision: Revision) -> [Tool; 4] {
    let text = || json!({"type": "string"});
    let when = || json!({"type": "string", "description": "In the user's time zone: 'Friday 15:00 for 45 min', '2026-12-24 15:00-16:00'"});
    let event = || output(&["id", "title", "start_ts", "end_ts", "time_zone"], &[]);
    let change = |(name, title), description: &'static str, input, destructive: bool| {
        let annotations = read_only(title).read_only(false).idempotent(false).destructive(destructive);
        tool(revision, (name, title), description, (input, event()), annotations)
    };
    [
        tool(
            revision,
            (USERS, "List users"),
            "List users with their time zones",
            (object(json!({}), &[]), output(&["count", "users"], &["users"])),
            read_only("List users"),
        ),
        change(
            (CREATE, "Add an event"),
            "Add an event, after the user allows it",
            object(
                json!({"user_id": text(), "title": text(), "when": when(), "location": text(), "description": text()}),
                &["user_id", "title", "when"],
            ),
            false,
        ),
        change(
            (UPDATE, "Change an event"),
            "Change an event, after the user allows it",
            object(
                json!({"event_id": text(), "title": text(), "when": when(), "location": text(), "description": text()}),
                &["event_id"],
            ),
            true,
        ),
        change(
            (CANCEL, "Cancel an event"),
            "Cancel an event, after the user allows it",
            object(json!({"event_id": text()}), &["event_id"]),
            true,
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
            "maxItems": MAX_ANSWERS,
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

/// Returns the schema of a result with these members; `lists` are lists of objects.
fn output(members: &[&str], lists: &[&str]) -> Value {
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
    object(Value::Object(properties), members)
}
