//! Descriptions and schemas of the assistant's tools: clients of 2024-11-05 get only the tools of the contract, newer
//! ones get more.

use rmcp::model::Tool;
use serde_json::{Value, json};

use super::arguments::{ANSWERS, MAX_ANSWERS};
use super::listing::{DAYS_BACK, DAYS_FORWARD, NOTIFICATION_DAYS};
use super::names::{CANCEL, CREATE, EVENT, EVENTS, NOTIFICATIONS, PLAN, UPDATE, USER, USERS};
use crate::protocol_version::Revision;
use crate::tools::definition::{any_object, object, read_only, tool, words};
use adjutant_assistant::notification::Status;
use adjutant_assistant::planner::proposal;
use adjutant_base::config::assistant::{Adviser, AssistantConfig};

const USER_DESCRIPTION: &str = "Show one user: name, email address, time zone and preferences for notifications. For the \
user's appointments, call listEvents.";
const EVENT_DESCRIPTION: &str = "Show one calendar event by its id: times, place, people and description. To find an \
event, call listEvents.";
const EVENTS_DESCRIPTION: &str = "List the calendar events of one user, or of all users, in the days around today. For one \
event whose id you know, call getEvent. Returns each event with its times, weekday and time zone; do not compute them.";
const NOTIFICATIONS_DESCRIPTION: &str = "List the notifications that are due in the next days, of one user or of all users. \
Call it to see what is planned; to change the plan, call planNotifications. Returns each with its channel, time, status and \
reasons.";
const PLAN_DESCRIPTION: &str = "Plan the notifications about a user's coming events, by the user's preferences and rules. \
Call it after an event or a preference has changed; to only see the plan, call listNotifications. It sends nothing itself, and \
plans nothing twice. Returns what is planned and why, and which events are skipped.";

/// Added where a language model is configured.
const WITH_MODEL: &str = " A language model may propose the notifications.";

const USERS_DESCRIPTION: &str = "List all users. Call it if you do not know a user's id; for one user, call getUser. Returns \
the id, the name and the time zone of each.";
const CREATE_DESCRIPTION: &str = "Add an event to a user's calendar. The user is asked first, and this call waits for the \
answer. To move or change an event, call updateEvent. Returns the event.";
const UPDATE_DESCRIPTION: &str = "Change an event: only the arguments that you give. The user is asked first, and this call \
waits for the answer. To call it off, call cancelEvent. Returns the event.";
const CANCEL_DESCRIPTION: &str = "Cancel an event. The user is asked first, and this call waits for the answer. To move an \
event, call updateEvent. Returns the event.";

/// The tools as `revision` shows them. Planning takes answers if the client's own model may be asked.
pub fn tools(revision: Revision, config: &AssistantConfig) -> Vec<Tool> {
    let contract = revision == Revision::V2024_11_05;
    // Outside the contract an argument is described only where its name does not.
    let text = |described: &str| {
        if contract { json!({"type": "string", "description": described}) } else { json!({"type": "string"}) }
    };
    let (user, event) = (|| text("User ID"), || text("Event ID"));
    let days = |min: u32, (default, max): (u32, u32), described: &str| {
        let mut days = json!({"type": "integer", "description": described, "minimum": min, "maximum": max, "default": default});
        if let Some(days) = days.as_object_mut().filter(|_| !contract) {
            days.remove("description");
        }
        days
    };
    let statuses: Vec<&str> = Status::ALL.iter().map(|status| status.name()).collect();
    let tool = |(name, title): (&'static str, &str), [contract, newer]: [&'static str; 2], input| {
        // A plan is only rows, which the user sees before anything is sent; the same call twice plans once.
        let annotations = read_only(title).read_only(name != PLAN);
        let mut description = words(revision, contract, newer).to_owned();
        if name == PLAN && revision > Revision::V2024_11_05 && !config.advisers.is_empty() {
            description.push_str(WITH_MODEL);
        }
        tool(revision, (name, title), description, (input, any_object()), annotations)
    };
    let mut tools = vec![
        tool(
            (USER, "Show a user"),
            ["Get user details by ID", USER_DESCRIPTION],
            object(json!({"user_id": user()}), &["user_id"]),
        ),
        tool(
            (EVENT, "Show an event"),
            ["Get event details by ID", EVENT_DESCRIPTION],
            object(json!({"event_id": event()}), &["event_id"]),
        ),
        tool(
            (EVENTS, "List events"),
            ["List calendar events with filters", EVENTS_DESCRIPTION],
            json!({"type": "object", "properties": {
                "user_id": user(),
                "days_back": days(0, DAYS_BACK, "Days back"),
                "days_forward": days(1, DAYS_FORWARD, "Days forward"),
            }}),
        ),
        tool(
            (NOTIFICATIONS, "List notifications"),
            ["List notifications with filters", NOTIFICATIONS_DESCRIPTION],
            json!({"type": "object", "properties": {
                "user_id": user(),
                "status": {"type": "string", "description": "Status", "enum": statuses},
                "days_forward": days(1, NOTIFICATION_DAYS, "Days forward"),
            }}),
        ),
        tool(
            (PLAN, "Plan notifications"),
            ["Plan notifications for user events using LLM policy", PLAN_DESCRIPTION],
            planning(&user(), &event(), takes_answers(revision, config)),
        ),
    ];
    if !contract {
        tools.extend(newer_tools(revision));
    }
    tools
}

/// The tools that the contract does not have.
fn newer_tools(revision: Revision) -> [Tool; 4] {
    let text = || json!({"type": "string"});
    let change = |(name, title), description: &'static str, input, destructive: bool| {
        let annotations = read_only(title).read_only(false).idempotent(false).destructive(destructive);
        tool(revision, (name, title), description, (input, any_object()), annotations)
    };
    let event = |id: &str, when: &str| {
        let when = json!({"type": "string", "description": when});
        json!({id: text(), "title": text(), "when": when, "location": text(), "description": text()})
    };
    let when = "In the user's time zone: `Friday 15:00 for 45 min`, `2026-12-24 15:00-16:00`";
    [
        tool(
            revision,
            (USERS, "List users"),
            USERS_DESCRIPTION,
            (object(json!({}), &[]), any_object()),
            read_only("List users"),
        ),
        change(
            (CREATE, "Add an event"),
            CREATE_DESCRIPTION,
            object(event("user_id", when), &["user_id", "title", "when"]),
            false,
        ),
        change(
            (UPDATE, "Change an event"),
            UPDATE_DESCRIPTION,
            object(event("event_id", "As in createEvent"), &["event_id"]),
            true,
        ),
        change(
            (CANCEL, "Cancel an event"),
            CANCEL_DESCRIPTION,
            object(json!({"event_id": text()}), &["event_id"]),
            true,
        ),
    ]
}

/// Returns whether the client's own model may answer by a second call. The contract of 2024-11-05 has no argument for
/// it.
pub(super) fn takes_answers(revision: Revision, config: &AssistantConfig) -> bool {
    revision != Revision::V2024_11_05 && config.advisers.contains(&Adviser::Client)
}

fn planning(user: &Value, event: &Value, takes_answers: bool) -> Value {
    let mut input = json!({"type": "object", "properties": {
        "user_id": user,
        "event_id": event,
        "force_replan": {
            "type": "boolean",
            "description": "Replan events that have a plan already",
            "default": false,
        },
    }, "required": ["user_id"]});
    if takes_answers {
        input["properties"][ANSWERS] = json!({
            "type": "array",
            "description": "Your answers to the questions that an earlier call returned under `ask`",
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
