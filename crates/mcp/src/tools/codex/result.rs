//! Results of the two tools, as `codex mcp-server` returned them.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use crate::tools::definition::success;
use adjutant_codex as codex;
use adjutant_codex::event::End;
use adjutant_codex::thread::TurnOutcome;

/// Returns the result of a turn: its text, and as structured content the text and the thread.
pub(super) fn turn_result(thread: &str, last: Option<TurnOutcome>) -> CallToolResult {
    let (content, failed) = match last {
        Some(TurnOutcome { end: End::Failed, failure, .. }) => (failure.unwrap_or_default(), true),
        Some(TurnOutcome { end: End::Interrupted, said, .. }) => (said, true),
        Some(TurnOutcome { end: End::Completed, said, .. }) => (said, false),
        None => (codex::Error::Over.to_string(), true),
    };
    let structured = json!({"threadId": thread, "content": content});
    let mut result = success(vec![ContentBlock::text(content)]);
    result.is_error = failed.then_some(true);
    result.structured_content = Some(structured);
    result
}

/// Returns the result of a call that failed.
pub(super) fn failed_call(error: &codex::Error, arguments: &Map<String, Value>) -> CallToolResult {
    let text = match error {
        codex::Error::UnknownThread(thread) => format!("Session not found for thread_id: {thread}"),
        codex::Error::Store(source) => {
            tracing::error!(error = %source, "the store failed");
            "the hub's store failed; its log says more".to_owned()
        }
        // Only the user may see where the program was searched.
        codex::Error::Missing { .. } => {
            format!("codex was not found; the user can {}", error.hint().unwrap_or_default())
        }
        other => other.to_string(),
    };
    let mut result = CallToolResult::error(vec![ContentBlock::text(text.clone())]);
    if let Some(thread) = arguments.get("threadId").or(arguments.get("conversationId")) {
        result.structured_content = Some(json!({"threadId": thread, "content": text}));
    }
    result
}
