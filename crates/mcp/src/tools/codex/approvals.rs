//! Approvals in the form of `codex mcp-server`: `elicitation/create` with members of Codex, answered by a `decision`. A
//! plain `accept` of MCP approves nothing, as in that server.

use rmcp::model::{ClientResult, CustomRequest, CustomResult, RequestId, ServerRequest};
use rmcp::{Peer, RoleServer};
use serde_json::{Map, Value, json};

use adjutant_codex::Codex;
use adjutant_codex::approval::{Approval, ApprovalKind, Decider, Decision};

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
    match &approval.kind {
        ApprovalKind::Command { argv, cwd } => {
            let folder = cwd.as_deref().unwrap_or_default();
            params["message"] =
                format!("Allow Codex to run `{}` in `{folder}`?", approval.command_line()).into();
            params["codex_elicitation"] = "exec-approval".into();
            params["codex_command"] = json!(argv);
            params["codex_cwd"] = json!(cwd);
            params["codex_parsed_cmd"] = json!([{"type": "unknown", "cmd": approval.command_line()}]);
        }
        ApprovalKind::Patch { changes } => {
            params["message"] = "Allow Codex to apply proposed code changes?".into();
            params["codex_elicitation"] = "patch-approval".into();
            let files = changes.iter().map(|change| (change.path.clone(), super::events::change(change)));
            params["codex_changes"] = Value::Object(files.collect::<Map<_, _>>());
        }
        ApprovalKind::Elicitation { .. } | ApprovalKind::Input { .. } | ApprovalKind::Unknown { .. } => {
            return None;
        }
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
                Ok(ClientResult::CustomResult(CustomResult(result))) => (decision(&result), Decider::Person),
                Ok(_) => (Decision::Deny { note: None }, Decider::Person),
                Err(error) => {
                    tracing::debug!(%error, "the client did not answer an approval");
                    (Decision::Deny { note: None }, Decider::Nobody)
                }
            }
        }
        None => (Decision::Deny { note: Some("this client cannot be asked".to_owned()) }, Decider::Nobody),
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
