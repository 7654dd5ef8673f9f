//! The approvals of app-server. Each function returns the kind and the members that this version does not know; `None`
//! for a request that it does not understand, which then can be denied only.

use serde_json::{Map, Value};

use super::super::json_fields::{self, others};
use crate::approval::{ApprovalKind, InputQuestion};
use crate::patch::FileChange;

type Parsed = (ApprovalKind, Map<String, Value>);

/// Members that do not change what is allowed.
const COMMON: [&str; 6] = ["threadId", "turnId", "itemId", "approvalId", "startedAtMs", "reason"];

/// Members of a command: those that an approval has, a summary of the command, and answers that are never given.
const COMMAND: [&str; 7] = [
    "command",
    "cwd",
    "networkApprovalContext",
    "commandActions",
    "proposedExecpolicyAmendment",
    "proposedNetworkPolicyAmendments",
    "availableDecisions",
];

/// Members of `_meta` about a tool's call: those that an approval has, descriptions, and answers that are never given.
const TOOL_CALL: [&str; 8] = [
    "codex_approval_kind",
    "tool_name",
    "tool_title",
    "tool_description",
    "tool_annotations",
    "tool_params",
    "tool_params_display",
    "persist",
];

/// Parses a command, or the connection that it needs.
pub(super) fn command(params: &Value) -> Option<Parsed> {
    // 0.92 gives an argument list, later versions a shell line.
    let argv = match params["command"].as_str() {
        Some(line) => vec![line.to_owned()],
        None => json_fields::list(&params["command"]),
    };
    let is_empty = argv.iter().all(|argument| argument.trim().is_empty());
    let mut rest = others(params, &[&COMMON[..], &COMMAND].concat());
    if rest.get("environmentId").is_some_and(|id| id == "local") {
        rest.remove("environmentId");
    }
    let is_command = rest.remove("kind").is_none_or(|kind| kind == "command");
    let network = &params["networkApprovalContext"];
    if network.is_null() {
        return (is_command && !is_empty).then_some((ApprovalKind::Command { argv }, rest));
    }
    let host = json_fields::text(&network["host"]).filter(|host| !host.is_empty())?;
    let protocol = json_fields::text(&network["protocol"])?;
    rest.extend(others(network, &["host", "protocol"]));
    let argv = if is_empty { Vec::new() } else { argv };
    is_command.then_some((ApprovalKind::Network { host, protocol, argv }, rest))
}

/// Parses a patch; `changes` are those of its item.
pub(super) fn patch(params: &Value, changes: Vec<FileChange>) -> Option<Parsed> {
    let grant_root = json_fields::folder(&params["grantRoot"]);
    let rest = others(params, &[&COMMON[..], &["grantRoot"]].concat());
    let is_known = !changes.is_empty() || grant_root.is_some();
    is_known.then_some((ApprovalKind::Patch { changes, grant_root }, rest))
}

/// Parses a question of an MCP server, or a call of one of its tools.
pub(super) fn elicitation(params: &Value) -> Option<Parsed> {
    let server = json_fields::words(&params["serverName"]);
    let message = json_fields::words(&params["message"]);
    let known = ["serverName", "message", "mode", "requestedSchema", "url", "elicitationId"];
    let mut rest = others(params, &[&COMMON[..], &known].concat());
    let meta = &params["_meta"];
    let schema = params["requestedSchema"].clone();
    let fields = schema["properties"].as_object().map(Map::len);
    let kind = match (params["mode"].as_str().unwrap_or("form"), meta["codex_approval_kind"].as_str()) {
        ("form", Some("mcp_tool_call")) if fields == Some(0) => {
            rest.remove("_meta");
            rest.extend(others(meta, &TOOL_CALL));
            let tool =
                json_fields::text(&meta["tool_name"]).or_else(|| json_fields::text(&meta["tool_title"]));
            let tool = tool.unwrap_or_default();
            ApprovalKind::ToolCall { server, tool, message, arguments: meta["tool_params"].clone() }
        }
        ("form", None) if fields.is_some() => {
            ApprovalKind::Elicitation { server, message, url: None, schema }
        }
        ("url", None) => {
            let url = json_fields::text(&params["url"]).filter(|url| !url.is_empty())?;
            ApprovalKind::Elicitation { server, message, url: Some(url), schema: Value::Null }
        }
        _ => return None,
    };
    Some((kind, rest))
}

/// Parses questions of the model.
pub(super) fn input(params: &Value) -> Parsed {
    let questions = params["questions"].as_array().into_iter().flatten();
    let question = |question: &Value| InputQuestion {
        id: json_fields::words(&question["id"]),
        text: json_fields::words(&question["question"]),
        options: question["options"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|option| json_fields::words(&option["label"]))
            .collect(),
    };
    (ApprovalKind::Input { questions: questions.map(question).collect() }, Map::new())
}
