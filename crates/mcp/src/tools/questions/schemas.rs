//! Descriptions and schemas of the tools of the questions toolset.

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::await_answer::MAX_WAIT;
use super::names::{AWAIT, FORM, TRIGGER};
use crate::protocol_version::Revision;
use crate::tools::definition::{object, tool};

const TRIGGER_DESCRIPTION: &str = "Ask the user a question, with options to choose from or, without any, for a few \
words, and return the answer. When the user has not answered in time, the answer is `pending` with a ticket: call \
await_answer, or ask the same again.";
const FORM_DESCRIPTION: &str = "Ask the user several questions in one form. `requestedSchema` is a flat JSON Schema \
object: texts, numbers, dates, yes or no, and choices by `enum`, one or several.";
const AWAIT_DESCRIPTION: &str =
    "Wait for the answer to a question that was asked before, by the ticket that its asker got.";

/// The tools as `revision` shows them.
pub fn tools(revision: Revision) -> Vec<Tool> {
    let option = json!({
        "type": "object",
        "properties": {"label": {"type": "string"}, "value": {"type": "string"}},
    });
    let mut trigger = json!({
        "workspacePath": {"type": "string", "description": "The folder the question is about"},
        "title": {"type": "string", "description": "The question in a few words"},
        "message": {"type": "string", "description": "What the user needs to know to decide, in Markdown"},
        "options": {"type": "array", "items": option, "description": "What can be chosen; none asks for free text"},
    });
    let mut form = json!({
        "title": {"type": "string", "description": "What the form is about"},
        "message": {"type": "string", "description": "What the user needs to know, in Markdown"},
        "workspacePath": {"type": "string", "description": "The folder the questions are about"},
        "requestedSchema": {"type": "object", "description": "An object schema with one property a question"},
    });
    if revision > Revision::V2024_11_05 {
        let timeout = json!({"type": "integer", "minimum": 1, "description": "How long the question may wait for the user"});
        let level = json!({"type": "string", "enum": ["normal", "high"], "description": "`high` takes the user's passphrase; for what cannot be undone"});
        trigger["allow_other"] =
            json!({"type": "boolean", "description": "Let the user write something else instead"});
        trigger["default"] = json!({"type": "string", "description": "The value that counts if the user saw the question and did nothing"});
        trigger["default_after_seconds"] = json!({"type": "integer", "minimum": 1, "description": "For how long the question must have been visible before the default counts"});
        for schema in [&mut trigger, &mut form] {
            schema["timeout_seconds"] = timeout.clone();
            schema["level"] = level.clone();
        }
    }
    let wait = json!({
        "ticket": {"type": "string", "description": "The ticket of the question"},
        "seconds": {"type": "integer", "minimum": 1, "maximum": MAX_WAIT.as_secs(), "description": "How long to wait"},
    });
    let asks = ToolAnnotations::new().read_only(false).destructive(false).idempotent(true).open_world(false);
    let reads = ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
    let tool = |name: &'static str,
                title: &str,
                description: &'static str,
                properties,
                required: &[&str],
                annotations| {
        tool(revision, (name, title), description, (object(properties, required), output()), annotations)
    };
    vec![
        tool(TRIGGER, "Ask the user", TRIGGER_DESCRIPTION, trigger, &["title", "message"], asks.clone()),
        tool(
            FORM,
            "Ask the user several questions",
            FORM_DESCRIPTION,
            form,
            &["title", "requestedSchema"],
            asks,
        ),
        tool(AWAIT, "Wait for the user's answer", AWAIT_DESCRIPTION, wait, &["ticket"], reads),
    ]
}

fn output() -> Value {
    let statuses = [
        "answered",
        "declined",
        "dismissed",
        "timed_out",
        "cancelled",
        "client_gone",
        "pending",
        "unavailable",
    ];
    json!({
        "type": "object",
        "properties": {
            "status": {"type": "string", "enum": statuses},
            "selectedValue": {"type": ["string", "null"], "description": "The value of the chosen option, or the user's words"},
            "content": {"type": "object", "description": "One member for each question of a form that was answered"},
            "note": {"type": "string", "description": "What the user added"},
            "ask_differently": {"type": "boolean", "description": "Ask in another way, as the note says"},
            "decided_by": {"type": "string", "enum": ["user", "default", "nobody"]},
            "through": {"type": "string", "description": "Where the user answered"},
            "seen_ms": {"type": "integer", "description": "For how long the question was visible"},
            "ticket": {"type": "string", "description": "For await_answer"},
            "poll_seconds": {"type": "integer", "description": "Call await_answer this often, or the user sees that nobody waits"},
            "snoozed_until": {"type": "string"},
            "availability": {"type": "string"},
            "until": {"type": "string"},
            "ask_again": {"type": "boolean"},
            "message": {"type": "string", "description": "What it means, and what to do"},
            "earlier_answers": {"type": "array", "items": {"type": "object"}, "description": "Answers to earlier questions that nobody waited for"},
            // The contracts' members for a refused argument.
            "path": {"type": "array"},
            "validator": {"type": "string"},
            "validator_value": {},
        },
    })
}
