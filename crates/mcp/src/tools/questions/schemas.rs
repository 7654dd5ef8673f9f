//! Descriptions and schemas of the tools of the questions toolset.

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::json;

use super::await_answer::MAX_WAIT;
use super::names::{AWAIT, FORM, TRIGGER};
use crate::protocol_version::Revision;
use crate::tools::definition::{any_object, object, tool, words};

/// The descriptions at 2024-11-05.
const TRIGGER_CONTRACT: &str = "Ask the user a question, with options to choose from or, without any, for a few \
words, and return the answer. When the user has not answered in time, the answer is `pending` with a ticket: call \
await_answer, or ask the same again.";
const FORM_CONTRACT: &str = "Ask the user several questions in one form. `requestedSchema` is a flat JSON Schema \
object: texts, numbers, dates, yes or no, and choices by `enum`, one or several.";
const AWAIT_CONTRACT: &str =
    "Wait for the answer to a question that was asked before, by the ticket that its asker got.";

const TRIGGER_DESCRIPTION: &str = "Ask the user one question, with options or for free text, and wait for the answer. Call \
it when a decision is the user's, or for an approval; for several questions at once, call ask_form. Returns the answer, or \
`pending` with a ticket for await_answer. Only `answered` is consent.";
const FORM_DESCRIPTION: &str = "Ask the user several questions in one form, and wait for the answers. For one question, call \
triggerPopup. Returns the answers by their names, or `pending` with a ticket for await_answer.";
const AWAIT_DESCRIPTION: &str = "Wait for the user's answer to a question that is `pending`, by its ticket. Returns what \
triggerPopup or ask_form returns; if it is `pending` again, call again.";

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
        let timeout =
            json!({"type": "integer", "minimum": 1, "description": "The question expires after this time"});
        let level = json!({"type": "string", "enum": ["normal", "high"], "description": "high: only the user's passphrase answers it; for what cannot be undone"});
        trigger["workspacePath"]["description"] = json!("The folder that the question is about");
        trigger["message"]["description"] = json!("What the user needs to know, in Markdown");
        trigger["options"]["description"] = json!("The choices; without any, the user writes a text");
        trigger["allow_other"] =
            json!({"type": "boolean", "description": "The user may write another answer"});
        trigger["default"] = json!({"type": "string", "description": "The answer if the user has seen the question and does nothing"});
        trigger["default_after_seconds"] = json!({"type": "integer", "minimum": 1, "description": "Time on the screen before `default` counts"});
        form["title"]["description"] = json!("The subject in a few words");
        form["requestedSchema"]["description"] = json!(
            "Flat JSON Schema of an object with one property for each question: string, number, integer, boolean, a date (`format`), or choices (`enum`, or an array of them)"
        );
        for schema in [&mut trigger, &mut form] {
            schema["timeout_seconds"] = timeout.clone();
            schema["level"] = level.clone();
        }
    }
    let wait = json!({
        "ticket": {"type": "string", "description": "The ticket of the question"},
        "seconds": {"type": "integer", "minimum": 1, "maximum": MAX_WAIT.as_secs(), "description": words(revision, "How long to wait", "Longest time to wait")},
    });
    let text = || json!({"type": "string"});
    let state = json!({"status": text(), "ticket": text(), "message": text()});
    let mut answer = state.clone();
    answer["selectedValue"] = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
    answer["note"] = text();
    let mut answers = state;
    answers["content"] = json!({"type": "object"});
    let asks = ToolAnnotations::new().read_only(false).destructive(false).idempotent(true).open_world(false);
    let reads = ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
    let tool =
        |title: (&'static str, &str), [contract, newer]: [&'static str; 2], input, output, annotations| {
            tool(revision, title, words(revision, contract, newer), (input, output), annotations)
        };
    vec![
        tool(
            (TRIGGER, "Ask the user"),
            [TRIGGER_CONTRACT, TRIGGER_DESCRIPTION],
            object(trigger, &["title", "message"]),
            object(answer, &[]),
            asks.clone(),
        ),
        tool(
            (FORM, "Ask the user several questions"),
            [FORM_CONTRACT, FORM_DESCRIPTION],
            object(form, &["title", "requestedSchema"]),
            object(answers, &[]),
            asks,
        ),
        tool(
            (AWAIT, "Wait for the user's answer"),
            [AWAIT_CONTRACT, AWAIT_DESCRIPTION],
            object(wait, &["ticket"]),
            any_object(),
            reads,
        ),
    ]
}
