//! Results of the two tools, as `codex mcp-server` gave them.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use adjutant_codex as codex;
use adjutant_codex::event::End;
use adjutant_codex::thread::TurnOutcome;

/// Returns the result of a turn: its text, and the same with the thread.
pub(super) fn answered(thread: &str, last: Option<TurnOutcome>) -> CallToolResult {
    let (content, failed) = match last {
        Some(TurnOutcome { end: End::Failed, failure, .. }) => (failure.unwrap_or_default(), true),
        Some(TurnOutcome { end: End::Interrupted, said, .. }) => (said, true),
        Some(TurnOutcome { end: End::Completed, said, .. }) => (said, false),
        None => (codex::Error::Over.to_string(), true),
    };
    let structured = json!({"threadId": thread, "content": content});
    let blocks = vec![ContentBlock::text(content)];
    let mut result = if failed { CallToolResult::error(blocks) } else { CallToolResult::success(blocks) };
    result.structured_content = Some(structured);
    if !failed {
        result.is_error = None;
    }
    result
}

/// Returns the result of a call that failed.
pub(super) fn failed(error: &codex::Error, given: &Map<String, Value>) -> CallToolResult {
    let text = match error {
        codex::Error::UnknownThread(thread) => format!("Session not found for thread_id: {thread}"),
        codex::Error::Store(source) => {
            tracing::error!(error = %source, "the store failed");
            "the hub's store failed; its log says more".to_owned()
        }
        // Where the program was looked for is the person's business.
        codex::Error::Missing { .. } => "codex was not found".to_owned(),
        other => other.to_string(),
    };
    let mut result = CallToolResult::error(vec![ContentBlock::text(text.clone())]);
    if let Some(thread) = given.get("threadId").or(given.get("conversationId")) {
        result.structured_content = Some(json!({"threadId": thread, "content": text}));
    }
    result
}
