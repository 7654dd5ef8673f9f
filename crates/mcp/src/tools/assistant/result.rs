//! Results of the assistant's tools, and the reasons for which a call has none.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;

use crate::arguments::ArgumentError;
use crate::call_context::CallContext;
use crate::error;
use crate::protocol_version::Revision;
use crate::transport::preserialized::{RawResult, members};
use adjutant_assistant::Error;

/// Returns a value as text, and from 2025-06-18 on as structured content too. The text is indented in the contract only.
pub(super) fn answer(call: &CallContext<'_>, value: &impl Serialize) -> CallToolResult {
    let contract = call.revision == Revision::V2024_11_05;
    let text = if contract { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    let text = text.unwrap_or_default();
    if !call.revision.has_titles() {
        return CallToolResult::success(vec![ContentBlock::text(text)]);
    }
    let Some(connection) = &call.client.connection else {
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = serde_json::to_value(value).ok();
        return result;
    };
    // Written as bytes, so that a list of hundreds of events never becomes a tree of values.
    connection.prepare(call.request.id.clone(), RawResult::Members(members(&text, &text)));
    CallToolResult::success(Vec::new())
}

/// The reason for which a call has no result.
pub(super) enum CallError {
    Argument(ArgumentError),
    /// The domain refused the call because of the argument with this name.
    Domain(&'static str, Error),
    /// The client cancelled the call.
    Cancelled,
    /// A rule of the protocol.
    Protocol(ErrorData),
}

impl From<ArgumentError> for CallError {
    fn from(error: ArgumentError) -> Self {
        Self::Argument(error)
    }
}

/// Returns the result of a call that the domain refused because of `argument`.
pub(super) fn failed_call(
    argument: &str,
    error: &Error,
    revision: Revision,
) -> Result<CallToolResult, ErrorData> {
    if let Error::Store(source) = error {
        tracing::error!(error = %source, "the store failed");
    }
    match error {
        Error::Unknown { id, .. } => error::unknown_id(revision, error.to_string(), argument, id),
        _ => error::tool_failed(revision, error.to_string()),
    }
}
