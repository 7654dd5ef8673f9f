//! Results of the assistant's tools, and the reasons for which a call has none.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;

use crate::arguments::Fault;
use crate::call_context::CallContext;
use crate::error;
use crate::protocol_version::Revision;
use crate::transport::preserialized::{RawResult, members};
use adjutant_assistant::Error;

/// Returns the whole answer as text, and from 2025-06-18 on as structured content too.
pub(super) fn answer(call: &CallContext<'_>, told: &impl Serialize) -> CallToolResult {
    let text = serde_json::to_string_pretty(told).unwrap_or_default();
    if !call.revision.has_titles() {
        return CallToolResult::success(vec![ContentBlock::text(text)]);
    }
    let Some(connection) = &call.client.connection else {
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = serde_json::to_value(told).ok();
        return result;
    };
    // A list of hundreds of events never becomes a tree of values.
    let json = serde_json::to_string(told).unwrap_or_default();
    connection.prepare(call.request.id.clone(), RawResult::Members(members(&text, &json)));
    CallToolResult::success(Vec::new())
}

/// Why there is no answer.
pub(super) enum Refused {
    Argument(Fault),
    /// By what the named argument names.
    Domain(&'static str, Error),
    /// The client does not want the answer any more.
    TakenBack,
    /// By the protocol's own rules.
    Protocol(ErrorData),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Argument(fault)
    }
}

/// Returns the result of a call that the domain refused, because of what `argument` names.
pub(super) fn failed(
    argument: &str,
    refused: &Error,
    revision: Revision,
) -> Result<CallToolResult, ErrorData> {
    if let Error::Store(source) = refused {
        tracing::error!(error = %source, "the store failed");
    }
    match refused {
        Error::Unknown { id, .. } => error::tool_found_nothing(revision, refused.to_string(), argument, id),
        Error::UnknownZone { .. }
        | Error::Invalid { .. }
        | Error::AlreadyExists { .. }
        | Error::WrongStatus { .. }
        | Error::Damaged { .. }
        | Error::Calendar(_)
        | Error::Randomness
        | Error::Store(_) => error::tool_failed(revision, refused.to_string()),
    }
}
