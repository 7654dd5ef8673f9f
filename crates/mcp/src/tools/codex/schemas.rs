//! Descriptions and schemas of the two tools, as in `codex mcp-server`.

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::names::{REPLY, START};
use super::options::{POLICIES, SANDBOXES};
use crate::protocol_version::Revision;
use crate::tools::definition::{object, tool};
use adjutant_codex::Codex;

/// The tools as `revision` shows them: 2024-11-05 gets the approval policies of the contract, a newer one those that the
/// installed Codex takes.
pub fn tools(revision: Revision, codex: &Codex) -> Vec<Tool> {
    let all = revision == Revision::V2024_11_05;
    let policies: Vec<&str> =
        POLICIES.into_iter().filter(|policy| all || codex.takes_policy(policy)).collect();
    let text = |description: &str| json!({"type": "string", "description": description});
    let start = json!({
        "type": "object",
        "properties": {
            "prompt": text("The initial user prompt to start the Codex conversation."),
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
                "description": "What commands may do.",
            },
        },
        "required": ["prompt"],
        "additionalProperties": false,
    });
    let reply = json!({
        "type": "object",
        "properties": {
            "threadId": text("The thread to go on in."),
            "conversationId": text("The older name of `threadId`."),
            "prompt": text("The next user prompt of the Codex conversation."),
        },
        "required": ["prompt"],
        "additionalProperties": false,
    });
    vec![
        definition(
            revision,
            (START, "Codex"),
            "Run a Codex session. Events are told as codex/event notifications.",
            start,
        ),
        definition(
            revision,
            (REPLY, "Codex Reply"),
            "Go on in a Codex session, by its threadId and a prompt.",
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
