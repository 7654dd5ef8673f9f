//! Descriptions and schemas of the two tools, as in `codex mcp-server`.

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::names::{REPLY, START};
use super::options::{POLICIES, SANDBOXES};
use crate::protocol_version::Revision;
use crate::tools::definition::{object, tool, words};
use adjutant_codex::Codex;

const START_DESCRIPTION: &str = "Start a Codex session with a prompt, and wait for the answer. Call it for work with \
Codex in several turns: codex-reply continues the session. Returns Codex's last message and the threadId.";
const REPLY_DESCRIPTION: &str = "Send the next prompt to a Codex session that `codex` started, and wait for the answer. For \
a new session, call codex. Returns Codex's last message and the threadId.";

/// The tools as `revision` shows them: 2024-11-05 gets the approval policies of the contract, a newer one those that the
/// installed Codex takes.
pub fn tools(revision: Revision, codex: &Codex) -> Vec<Tool> {
    let all = revision == Revision::V2024_11_05;
    let policies: Vec<&str> =
        POLICIES.into_iter().filter(|policy| all || codex.takes_policy(policy)).collect();
    let text = |description: &str| json!({"type": "string", "description": description});
    let words = |contract, newer| words(revision, contract, newer);
    let start = json!({
        "type": "object",
        "properties": {
            "prompt": text(words("The initial user prompt to start the Codex conversation.", "The first prompt.")),
            "approval-policy": {
                "type": "string",
                "enum": policies,
                "description": "When Codex asks before it runs a command.",
            },
            "base-instructions": text("The instructions to use instead of the default ones."),
            "compact-prompt": text("The prompt that is used when the conversation is compacted."),
            "config": {
                "type": "object",
                "additionalProperties": true,
                "description": "Settings that win over those of Codex's config.toml.",
            },
            "cwd": text("The working directory of the session."),
            "developer-instructions": text("Instructions that are given as a developer's message."),
            "model": text("The model."),
            "profile": text("A profile of Codex's config.toml."),
            "sandbox": {
                "type": "string",
                "enum": SANDBOXES,
                "description": words("What commands may do.", "What Codex's commands may change."),
            },
        },
        "required": ["prompt"],
        "additionalProperties": false,
    });
    let reply = json!({
        "type": "object",
        "properties": {
            "threadId": text(words("The thread to go on in.", "The threadId that codex returned.")),
            "conversationId": text("The older name of `threadId`."),
            "prompt": text(words("The next user prompt of the Codex conversation.", "The next prompt.")),
        },
        "required": ["prompt"],
        "additionalProperties": false,
    });
    vec![
        definition(
            revision,
            (START, "Codex"),
            words("Run a Codex session. Events are told as codex/event notifications.", START_DESCRIPTION),
            start,
        ),
        definition(
            revision,
            (REPLY, "Codex Reply"),
            words("Go on in a Codex session, by its threadId and a prompt.", REPLY_DESCRIPTION),
            reply,
        ),
    ]
}

/// Returns a tool with the title and the output schema that `codex mcp-server` had at every protocol version.
fn definition(
    revision: Revision,
    (name, title): (&'static str, &str),
    description: &'static str,
    input: Value,
) -> Tool {
    let text = json!({"type": "string"});
    let output = object(json!({"threadId": text, "content": text}), &["threadId", "content"]);
    let annotations = ToolAnnotations::with_title(title).read_only(false).destructive(true);
    let annotations = annotations.idempotent(false).open_world(true);
    let mut tool = tool(Revision::V2026_07_28, (name, title), description, (input, output), annotations);
    tool.annotations = tool.annotations.filter(|_| revision.has_annotations());
    tool
}
