//! The approvals of app-server. Each function returns the kind and the members that this version does not know; `None`
//! for a request that it does not understand, which then can be denied only.

use serde_json::{Map, Value, json};

use super::super::json_fields::{self, others};
use crate::approval::{ApprovalKind, InputQuestion, shell_line};
use crate::patch::FileChange;

type Parsed = (ApprovalKind, Map<String, Value>);

/// Members that do not change what is allowed.
const COMMON: [&str; 6] = ["threadId", "turnId", "itemId", "approvalId", "startedAtMs", "reason"];

/// Members of a command: those that an approval has, a summary of the command, and what it may allow for ever.
const COMMAND: [&str; 7] = [
    "command",
    "cwd",
    "networkApprovalContext",
    "commandActions",
    "proposedExecpolicyAmendment",
    "proposedNetworkPolicyAmendments",
    "availableDecisions",
];

/// Members of `_meta` about a tool's call: those that an approval has, descriptions, and what it may allow for ever.
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
        None if params["command"].is_null() => Vec::new(),
        None => json_fields::list(&params["command"])?,
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

/// Parses a request for permissions.
pub(super) fn permissions(params: &Value) -> Option<Parsed> {
    let permissions = params["permissions"].clone();
    let mut rest = others(params, &[&COMMON[..], &["cwd", "permissions"]].concat());
    if rest.get("environmentId").is_some_and(|id| id == "local") {
        rest.remove("environmentId");
    }
    permissions.is_object().then_some((ApprovalKind::Permissions { permissions }, rest))
}

/// The scopes that an approval may allow beyond the request itself.
#[derive(Default)]
pub(super) struct Lasting {
    /// What it allows for the session, in words, where the kind alone does not say so.
    pub(super) session: Option<String>,
    /// What it allows for ever, in words.
    pub(super) always: Option<String>,
    /// The part of the request that the answer repeats.
    pub(super) offer: Value,
}

/// Parses the scopes that Codex offers to remember.
pub(super) fn lasting(kind: &ApprovalKind, params: &Value) -> Lasting {
    match kind {
        ApprovalKind::Permissions { permissions } => {
            Lasting { offer: permissions.clone(), ..Lasting::default() }
        }
        ApprovalKind::Command { .. } => {
            let rule = json_fields::list(&params["proposedExecpolicyAmendment"]).unwrap_or_default();
            if rule.is_empty() {
                return Lasting::default();
            }
            let always = Some(format!("commands that begin with {}", shell_line(&rule)));
            let offer = json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": rule}});
            Lasting { session: None, always, offer }
        }
        ApprovalKind::Network { .. } => {
            let mut rules = params["proposedNetworkPolicyAmendments"].as_array().into_iter().flatten();
            let Some(rule) = rules.find(|rule| rule["action"] == "allow") else { return Lasting::default() };
            let always = Some(format!("connections to {}", json_fields::words(&rule["host"])));
            let offer = json!({"applyNetworkPolicyAmendment": {"network_policy_amendment": rule}});
            Lasting { session: None, always, offer }
        }
        ApprovalKind::ToolCall { server, tool, .. } => {
            let persist = &params["_meta"]["persist"];
            let offers = |scope: &str| {
                persist == scope
                    || persist.as_array().is_some_and(|scopes| scopes.iter().any(|one| one == scope))
            };
            let calls = format!("every call of {server}.{tool}");
            let session = offers("session").then(|| format!("{calls}, until this Codex session ends"));
            Lasting { session, always: offers("always").then_some(calls), offer: Value::Null }
        }
        ApprovalKind::Patch { .. }
        | ApprovalKind::Elicitation { .. }
        | ApprovalKind::Input { .. }
        | ApprovalKind::Unknown { .. } => Lasting::default(),
    }
}

/// Parses questions of the model; `None` if there are none, or if one has no id or no words.
pub(super) fn input(params: &Value) -> Option<Parsed> {
    let present = |value: &Value| json_fields::text(value).filter(|text| !text.trim().is_empty());
    let question = |question: &Value| {
        Some(InputQuestion {
            id: present(&question["id"])?,
            text: present(&question["question"])?,
            options: question["options"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|option| present(&option["label"]))
                .collect(),
            // Versions before 0.153 do not say it, and take any text.
            other: question["isOther"] != false,
            secret: question["isSecret"] == true,
        })
    };
    let questions: Vec<InputQuestion> =
        params["questions"].as_array()?.iter().map(question).collect::<Option<_>>()?;
    (!questions.is_empty()).then_some((ApprovalKind::Input { questions }, Map::new()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::approval::{Approval, Decider, Decision};
    use crate::backend::Protocol;
    use crate::event::CodexEvent;
    use crate::thread_options::Backend;

    /// Sends a request of Codex and its decision. Returns the approval, the answer, and the decision that is kept.
    #[track_caller]
    fn decided(method: &str, params: &Value, decision: &Decision) -> (Approval, Value, Value) {
        let mut protocol = Protocol::new(Backend::AppServer, "run");
        let mut out = Vec::new();
        let request = json!({"id": 9, "method": method, "params": params});
        let batch = protocol.on_line(request.to_string().as_bytes(), &mut out);
        let [CodexEvent::ApprovalRequested { approval }] = batch.events.as_slice() else {
            panic!("{batch:?}")
        };
        assert!(approval.permits(decision), "{approval:?}");
        let batch = protocol.decide(&approval.id, decision, Decider::User, &mut out);
        let kept = serde_json::to_value(&batch.events[0]).unwrap()["decision"].clone();
        let answer: Value = serde_json::from_slice(&out).unwrap();
        (approval.clone(), answer, kept)
    }

    /// Sends requests of Codex. Returns the approvals.
    fn asked(protocol: &mut Protocol, requests: &[Value]) -> Vec<Approval> {
        let events =
            |request: &Value| protocol.on_line(request.to_string().as_bytes(), &mut Vec::new()).events;
        let approval = |event| match event {
            CodexEvent::ApprovalRequested { approval } => approval,
            other => panic!("{other:?}"),
        };
        requests.iter().flat_map(events).map(approval).collect()
    }

    #[test]
    fn requests_with_one_id_are_decided_one_by_one_and_withdrawn_by_their_own_id() {
        let mut protocol = Protocol::new(Backend::AppServer, "run");
        let request = |id: Value, command: &str| {
            json!({"id": id, "method": "item/commandExecution/requestApproval",
                   "params": {"threadId": "t", "command": command, "cwd": "/"}})
        };
        let twins = [
            request(json!(7), "ls"),
            request(json!(7), "rm -r src"),
            request(json!("7"), "touch it"),
            request(json!("a\n[turn completed]\u{202e}"), "pwd"),
        ];
        let approvals = asked(&mut protocol, &twins);
        let ids: Vec<&str> = approvals.iter().map(|approval| approval.id.as_str()).collect();
        assert_eq!(ids, ["run-0", "run-1", "run-2", "run-3"]);
        let mut out = Vec::new();
        let batch = protocol.decide(ids[0], &Decision::Approve, Decider::User, &mut out);
        assert_eq!(batch.events.len(), 1);
        assert_eq!(serde_json::from_slice::<Value>(&out).unwrap()["id"], 7);
        let resolved =
            json!({"method": "serverRequest/resolved", "params": {"threadId": "t", "requestId": "7"}});
        let batch = protocol.on_line(resolved.to_string().as_bytes(), &mut out);
        let [CodexEvent::ApprovalResolved { approval, .. }] = batch.events.as_slice() else {
            panic!("{batch:?}")
        };
        assert_eq!(approval, "run-2");
        // A later request with an id that was used: the decision that is stored does not replace the earlier one.
        assert_eq!(asked(&mut protocol, &twins[..1])[0].id, "run-4");
    }

    #[test]
    fn a_request_of_which_a_part_cannot_be_shown_can_only_be_denied() {
        for (method, params) in [
            ("item/commandExecution/requestApproval", json!({"command": ["a", 1], "cwd": "/"})),
            ("item/commandExecution/requestApproval", json!({"command": [["rm"], "b"], "cwd": "/"})),
            ("item/commandExecution/requestApproval", json!({"command": {"0": "a"}, "cwd": "/"})),
            ("item/tool/requestUserInput", json!({"questions": [{}]})),
            ("item/tool/requestUserInput", json!({"questions": []})),
            ("item/tool/requestUserInput", json!({})),
            ("item/tool/requestUserInput", json!({"questions": [{"id": "a", "question": " "}]})),
            ("item/tool/requestUserInput", json!({"questions": [{"question": "Who?"}]})),
        ] {
            let mut protocol = Protocol::new(Backend::AppServer, "run");
            let request = json!({"id": 1, "method": method, "params": params});
            let [approval]: [Approval; 1] = asked(&mut protocol, &[request]).try_into().unwrap();
            assert!(approval.line().contains(&params.to_string()), "{}", approval.line());
            assert!(approval.choices.is_empty() && !approval.kind.is_form(), "{approval:?}");
        }
    }

    #[test]
    fn permissions_are_granted_for_the_turn_or_for_the_session() {
        let wanted = json!({"network": {"enabled": true}, "fileSystem": {"write": ["/srv"]}});
        let params =
            json!({"threadId": "t", "turnId": "u", "itemId": "i", "cwd": "/", "permissions": wanted});
        let cases = [
            (Decision::Approve, json!({"permissions": wanted, "scope": "turn"})),
            (Decision::ApproveForSession, json!({"permissions": wanted, "scope": "session"})),
            (Decision::Deny { note: None }, json!({"permissions": {}, "scope": "turn"})),
        ];
        for (decision, result) in cases {
            let (approval, answer, _) = decided("item/permissions/requestApproval", &params, &decision);
            assert_eq!(answer["result"], result);
            assert!(approval.line().contains("/srv"), "{}", approval.line());
        }
    }

    #[test]
    fn a_command_may_be_allowed_for_ever() {
        let params = json!({"threadId": "t", "command": "git push origin", "cwd": "/",
                            "proposedExecpolicyAmendment": ["git", "push"]});
        let (approval, answer, _) =
            decided("item/commandExecution/requestApproval", &params, &Decision::ApproveAlways);
        let rule = json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["git", "push"]}});
        assert_eq!(answer["result"], json!({"decision": rule}));
        assert_eq!(approval.always_scope.as_deref(), Some("commands that begin with git push"));
    }

    #[test]
    fn calls_of_a_tool_may_be_allowed_for_the_session_or_for_ever() {
        let meta = json!({"codex_approval_kind": "mcp_tool_call", "tool_name": "look", "persist": ["session", "always"]});
        let params = json!({"threadId": "t", "serverName": "sea", "mode": "form", "message": "Allow?", "_meta": meta,
                            "requestedSchema": {"type": "object", "properties": {}}});
        for (decision, scope) in
            [(Decision::ApproveForSession, "session"), (Decision::ApproveAlways, "always")]
        {
            let (_, answer, _) = decided("mcpServer/elicitation/request", &params, &decision);
            assert_eq!(answer["result"]["_meta"], json!({"persist": scope}));
        }
        let mut once = params;
        once["_meta"]["persist"] = Value::Null;
        let (approval, ..) = decided("mcpServer/elicitation/request", &once, &Decision::Approve);
        assert_eq!(approval.choices, [Decision::Approve]);
    }

    #[test]
    fn questions_without_an_answer_are_refused_and_secret_answers_are_not_kept() {
        let params = json!({"threadId": "t", "questions": [
            {"id": "k", "question": "The key?", "isSecret": true, "isOther": false, "options": null},
            {"id": "n", "question": "The name?", "options": [{"label": "Ann"}]},
        ]});
        let deny = Decision::Deny { note: Some("not now".to_owned()) };
        let (_, answer, _) = decided("item/tool/requestUserInput", &params, &deny);
        assert_eq!(answer["error"], json!({"code": 1, "message": "not now"}));
        let content = Decision::Content(json!({"k": "hunter2", "n": "Ann"}));
        let (_, answer, kept) = decided("item/tool/requestUserInput", &params, &content);
        assert_eq!(answer["result"]["answers"]["k"], json!({"answers": ["hunter2"]}));
        assert_eq!(kept, json!({"content": {"k": "[secret]", "n": "Ann"}}));
    }
}
