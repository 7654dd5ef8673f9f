//! Error codes of the wire. No other file has an error code.
//!
//! | failure | 2024-11-05 | newer |
//! |---|---|---|
//! | not JSON | -32700 | -32700 |
//! | not a JSON-RPC message, a batch, a bad id, a line too long | -32600 | -32600 |
//! | unknown method | -32601 | -32601 |
//! | a revision that is not served | -32022 | -32022 |
//! | unknown tool, unknown prompt in `prompts/get` | -32601 | -32602 |
//! | malformed parameters | -32602 | -32602 |
//! | argument missing or not as declared | -32602 with `data` | up to 2025-06-18 the same, then `isError` |
//! | unknown skill in `skills/get` | -32602 | -32602 |
//! | unknown resource | -32002 | -32002, from 2026-07-28 on -32602 |
//! | assistant: an unknown id in a call | -32002 with `data` | `isError` |
//! | assistant: tool failed, timed out, cancelled | -32003, -32004, -32005 | `isError`; cancelled is not answered |
//! | assistant: a capability that it does not declare | -32001 | -32601 |
//! | too many requests in flight | -32000 | -32000, from 2026-07-28 on -32603 |
//! | `triggerPopup` dismissed or declined; timed out or not asked | -32005; -32004 | -32005; -32004 |
//! | a question that the user answers on its page, to a client that cannot wait | | 2025-11-25 alone: -32042 |
//! | an internal error, the hub or the connection lost, also as the error of a task | -32603 | -32603 |
//!
//! To a client of 2024-11-05 the assistant's server gives every error the contract's message, such as `Invalid params`, and
//! `data {path, validator, validator_value}`.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, RequestId};
use serde_json::{Value, json};

use crate::protocol_version::Revision;
use crate::toolset::ToolsetSelection;

const SERVER_BUSY: ErrorCode = ErrorCode(-32000);
const METHOD_NOT_FOUND: ErrorCode = ErrorCode(-32601);
const INTERNAL: i32 = -32603;
/// 2026-07-28 forbids this code.
const URL_ELICITATION_REQUIRED: ErrorCode = ErrorCode(-32042);

// The assistant's contract has a code for each failure of a tool; the questions' contract has the last two of them.
const NOT_SUPPORTED: ErrorCode = ErrorCode(-32001);
const TOOL_FAILED: ErrorCode = ErrorCode(-32003);
const TIMED_OUT: ErrorCode = ErrorCode(-32004);
const CANCELLED: ErrorCode = ErrorCode(-32005);

/// An error and the request it answers; `None` is `"id": null`.
#[derive(Debug)]
pub struct Refusal {
    pub id: Option<RequestId>,
    pub error: ErrorData,
}

impl Refusal {
    /// The refusal as one JSON-RPC message. An unreadable id is `null`, as JSON-RPC 2.0 section 5 asks.
    pub fn to_json(&self) -> Value {
        json!({
            "jsonrpc": "2.0",
            "id": self.id.clone().map_or(Value::Null, RequestId::into_json_value),
            "error": self.error,
        })
    }
}

/// The bytes are not one JSON text in UTF-8.
pub fn not_json(reason: &str) -> ErrorData {
    ErrorData::parse_error(format!("not JSON: {reason}"), None)
}

/// The JSON is not a JSON-RPC 2.0 message that can be served.
pub fn invalid_request(reason: impl Into<String>) -> ErrorData {
    ErrorData::invalid_request(reason.into(), None)
}

/// A known method with invalid parameters, in the contracts' form for an argument's error.
pub(crate) fn invalid_params(
    message: impl Into<String>,
    path: &[String],
    validator: &str,
    value: &Value,
) -> ErrorData {
    ErrorData::invalid_params(message.into(), Some(validation(path, validator, value)))
}

/// The contracts' error data for one argument.
pub(crate) fn validation(path: &[String], validator: &str, value: &Value) -> Value {
    json!({"path": path, "validator": validator, "validator_value": value})
}

/// An unknown method. A long name is cut off.
pub fn unknown_method(method: &str) -> ErrorData {
    ErrorData::new(METHOD_NOT_FOUND, format!("unknown method `{}`", clip(method)), None)
}

/// An unsupported revision.
pub fn unknown_revision(asked: &str) -> ErrorData {
    let asked = clip(asked);
    let message = format!("unsupported protocol version `{asked}`");
    let data = json!({"requested": asked, "supported": Revision::ALL.map(Revision::as_str)});
    ErrorData::new(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, message, Some(data))
}

/// Returns an error in the form of the assistant's contract at 2024-11-05: the message is the contract's name of the code,
/// and every error has `path`, `validator` and `validator_value`, even if it is about no argument.
pub fn in_contract(selection: ToolsetSelection, revision: Revision, error: ErrorData) -> ErrorData {
    if selection != ToolsetSelection::Assistant || revision != Revision::V2024_11_05 {
        return error;
    }
    let (message, validator) = match error.code {
        ErrorCode::PARSE_ERROR => ("Parse error", "json"),
        ErrorCode::INVALID_REQUEST => ("Invalid Request", "request"),
        METHOD_NOT_FOUND => ("Method not found", "exists"),
        ErrorCode::INVALID_PARAMS => ("Invalid params", "execution"),
        ErrorCode::INTERNAL_ERROR => ("Internal error", "execution"),
        SERVER_BUSY => ("Server error", "capacity"),
        NOT_SUPPORTED => ("Capability not supported", "capability"),
        ErrorCode::RESOURCE_NOT_FOUND => ("Resource not found", "exists"),
        TOOL_FAILED => ("Tool execution failed", "execution"),
        TIMED_OUT => ("Timeout", "timeout"),
        CANCELLED => ("Cancelled", "cancelled"),
        _ => return error,
    };
    if error.message != message {
        // The contract's form has no place for the reason.
        tracing::info!(error.code = error.code.0, reason = %error.message, "a request of the contract failed");
    }
    let data = error.data.or_else(|| Some(validation(&[], validator, &Value::Null)));
    ErrorData { message: message.into(), data, ..error }
}

/// Returns the beginning of a client's text, short enough for a message.
pub(crate) fn clip(text: &str) -> String {
    text.chars().take(64).collect()
}

/// An unknown tool, or an unknown prompt of `prompts/get`.
pub(crate) fn unknown_name(revision: Revision, message: String) -> ErrorData {
    match revision {
        Revision::V2024_11_05 => ErrorData::new(METHOD_NOT_FOUND, message, None),
        Revision::V2025_03_26 | Revision::V2025_06_18 | Revision::V2025_11_25 | Revision::V2026_07_28 => {
            ErrorData::invalid_params(message, None)
        }
    }
}

/// More requests in flight than one client may have.
pub fn busy(modern: bool, limit: usize) -> ErrorData {
    let message = format!("busy: {limit} requests are in flight; wait for an answer before sending more");
    if modern {
        // 2026-07-28 leaves no code below -32000 to servers.
        ErrorData::internal_error(message, None)
    } else {
        ErrorData::new(SERVER_BUSY, message, None)
    }
}

/// A question of the raw method that ended without an answer; `data` has the outcome.
pub fn unanswered(timed_out: bool, message: String, data: Value) -> ErrorData {
    ErrorData::new(if timed_out { TIMED_OUT } else { CANCELLED }, message, Some(data))
}

/// A call that continues after the user opened a link; `elicitation` is the request that asks for that.
pub(crate) fn link_required(message: String, elicitation: &Value) -> ErrorData {
    ErrorData::new(URL_ELICITATION_REQUIRED, message, Some(json!({"elicitations": [elicitation]})))
}

/// More sessions than one listener keeps, all of them with running calls.
pub fn sessions_full() -> ErrorData {
    ErrorData::new(SERVER_BUSY, "busy: all sessions are in use; end one, or try again later", None)
}

/// A capability that the server does not declare, requested by a client of 2024-11-05.
pub(crate) fn capability_not_supported(capability: &str) -> ErrorData {
    let data = validation(&[], "capability", &Value::from(capability));
    ErrorData::new(NOT_SUPPORTED, format!("this server has no `{capability}`"), Some(data))
}

/// An unknown resource; at 2026-07-28 that is an invalid parameter.
pub(crate) fn resource_not_found(revision: Revision, uri: &str) -> ErrorData {
    let uri = clip(uri);
    let message = format!("unknown resource `{uri}`");
    let mut data = validation(&["uri".to_owned()], "exists", &Value::from(uri.as_str()));
    data["uri"] = Value::from(uri);
    match revision {
        Revision::V2026_07_28 => ErrorData::invalid_params(message, Some(data)),
        Revision::V2024_11_05 | Revision::V2025_03_26 | Revision::V2025_06_18 | Revision::V2025_11_25 => {
            ErrorData::resource_not_found(message, Some(data))
        }
    }
}

/// More resources watched than the limit of one connection.
pub(crate) fn too_many_watched(limit: usize) -> ErrorData {
    let message = format!("{limit} resources are watched; unsubscribe from one first");
    ErrorData::invalid_params(message, None)
}

/// A tool's response to an unknown id: the contract's code at 2024-11-05, later a result that the model reads.
pub(crate) fn unknown_id(
    revision: Revision,
    message: String,
    argument: &str,
    id: &str,
) -> Result<CallToolResult, ErrorData> {
    let data = validation(&[argument.to_owned()], "exists", &Value::from(clip(id)));
    match revision {
        Revision::V2024_11_05 => Err(ErrorData::resource_not_found(message, Some(data))),
        _ => Ok(error_result(message, data)),
    }
}

/// A tool that failed.
pub(crate) fn tool_failed(revision: Revision, message: String) -> Result<CallToolResult, ErrorData> {
    let data = validation(&[], "execution", &Value::Null);
    match revision {
        Revision::V2024_11_05 => Err(ErrorData::new(TOOL_FAILED, message, Some(data))),
        _ => Ok(error_result(message, data)),
    }
}

/// A tool that took longer than one call may.
pub(crate) fn tool_timed_out(
    revision: Revision,
    tool: &str,
    timeout: Duration,
) -> Result<CallToolResult, ErrorData> {
    let seconds = timeout.as_secs();
    let message = format!("{tool} did not end within {seconds} seconds; try again, or ask for less");
    let data = validation(&[], "timeout", &Value::from(seconds));
    match revision {
        Revision::V2024_11_05 => Err(ErrorData::new(TIMED_OUT, message, Some(data))),
        _ => Ok(error_result(message, data)),
    }
}

/// A request that its client cancelled, in the assistant's contract.
pub fn cancelled() -> ErrorData {
    let data = validation(&[], "cancelled", &Value::Null);
    ErrorData::new(CANCELLED, "the request was cancelled", Some(data))
}

/// Returns the result of a failed call, as text and as structured content.
pub(crate) fn error_result(message: String, data: Value) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(message)]);
    result.structured_content = Some(data);
    result
}

/// An internal error. Only the log has the reason.
pub fn internal() -> ErrorData {
    ErrorData::internal_error("internal error; the log of the server names the reason", None)
}

/// A call that was not finished when its connection ended; `reason` is a clause without a full stop.
pub(crate) fn unfinished(reason: &str) -> ErrorData {
    ErrorData::internal_error(format!("{reason} before this call was finished; call again"), None)
}

/// A task that was lost with the hub that ran it.
pub fn lost(message: String) -> ErrorData {
    ErrorData::internal_error(message, None)
}

/// Returns the relay's response to a request that was in flight when the hub ended. `id` is the request's id as the
/// client wrote it.
pub fn hub_gone(id: &str, reason: &str) -> String {
    let message = Value::from(reason);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{INTERNAL},"message":{message}}}}}"#)
}
