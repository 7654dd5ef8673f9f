//! Approvals in the form of `codex mcp-server`: `elicitation/create` with members of Codex, answered by a `decision`. A
//! plain `accept` of MCP approves nothing, as in that server.

use rmcp::model::{ClientResult, CustomRequest, CustomResult, RequestId, ServerRequest};
use rmcp::{Peer, RoleServer};
use serde_json::{Map, Value, json};

use adjutant_agents::shell_words;
use adjutant_codex::Codex;
use adjutant_codex::approval::{Approval, ApprovalKind, Decider, Decision, shell_line};

/// Returns the parameters of the request; `None` for an approval that `codex mcp-server` never requested.
pub(super) fn params(approval: &Approval, call: &RequestId) -> Option<Value> {
    let mut params = json!({
        "message": "",
        "requestedSchema": {"type": "object", "properties": {}},
        "threadId": approval.thread,
        "codex_elicitation": "",
        "codex_mcp_tool_call_id": call.to_string(),
        "codex_event_id": approval.turn,
        "codex_call_id": approval.item,
    });
    let others = approval.others.iter().map(|(name, value)| format!(" {name}: {value}"));
    let scope = approval.session_scope.iter().map(|scope| format!(" For this session: {scope}."));
    let others: String = others.chain(scope).collect();
    match &approval.kind {
        ApprovalKind::Command { argv } => {
            let folder = approval.folder.as_deref().unwrap_or_default();
            let command = shell_line(argv);
            params["message"] = format!("Allow Codex to run `{command}` in `{folder}`?{others}").into();
            params["codex_elicitation"] = "exec-approval".into();
            // Newer versions give a shell line in the place of the arguments.
            let words = match argv.as_slice() {
                [line] => shell_words::split(line).ok(),
                _ => None,
            };
            params["codex_command"] = json!(words.as_ref().unwrap_or(argv));
            params["codex_cwd"] = json!(approval.folder);
            params["codex_parsed_cmd"] = json!([{"type": "unknown", "cmd": command}]);
        }
        ApprovalKind::Patch { changes, grant_root } => {
            let root = grant_root.iter().map(|root| format!(" It may write below `{root}` from then on."));
            let root: String = root.collect();
            params["message"] = format!("Allow Codex to apply proposed code changes?{root}{others}").into();
            if let Some(root) = grant_root {
                params["codex_grant_root"] = root.as_str().into();
            }
            params["codex_elicitation"] = "patch-approval".into();
            let files = changes.iter().map(|change| (change.path.clone(), super::events::change(change)));
            params["codex_changes"] = Value::Object(files.collect::<Map<_, _>>());
        }
        ApprovalKind::Network { .. }
        | ApprovalKind::Elicitation { .. }
        | ApprovalKind::ToolCall { .. }
        | ApprovalKind::Permissions { .. }
        | ApprovalKind::Input { .. }
        | ApprovalKind::Unknown { .. } => return None,
    }
    if let Some(reason) = &approval.reason {
        params["codex_reason"] = reason.as_str().into();
    }
    Some(params)
}

/// Asks the client, and passes its decision to Codex. An approval without `params` is denied.
pub(super) async fn ask(codex: Codex, peer: Peer<RoleServer>, approval: Approval, params: Option<Value>) {
    let (decision, by) = match params {
        Some(params) => {
            let request = CustomRequest::new("elicitation/create", Some(params));
            match peer.send_request(ServerRequest::CustomRequest(request)).await {
                Ok(ClientResult::CustomResult(CustomResult(result))) => (decision(&result), Decider::User),
                Ok(_) => (Decision::Deny { note: None }, Decider::User),
                Err(error) => {
                    tracing::debug!(%error, "the client did not answer an approval");
                    (Decision::Deny { note: None }, Decider::NotAsked)
                }
            }
        }
        None => (Decision::Deny { note: Some("this client cannot be asked".to_owned()) }, Decider::NotAsked),
    };
    // Codex may have continued without the decision.
    let _ = codex.decide(&approval.thread, &approval.id, decision, by).await;
}

/// Parses a decision of either version of Codex; an unknown decision is a denial.
fn decision(result: &Value) -> Decision {
    let decision = &result["decision"];
    match decision.as_str() {
        Some("approved") => Decision::Approve,
        Some("approved_for_session") => Decision::ApproveForSession,
        Some("abort") => Decision::Abort,
        _ => Decision::Deny { note: decision["denied"]["rejection"].as_str().map(ToOwned::to_owned) },
    }
}
