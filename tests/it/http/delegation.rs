//! Delegation over HTTP: in a session with progress, and as a task of the protocol without one.

use std::time::Instant;

use serde_json::{Value, json};

use super::client::{Answer, Hub, initialize};
use crate::support::delegation::Desk;
use crate::support::{DEADLINE, modern_meta};

/// A stateless request of a client that takes tasks, by its name.
fn modern(hub: &Hub, client: &str, method: &str, name: &str, mut params: Value) -> Value {
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientInfo"]["name"] = json!(client);
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    params["_meta"] = meta;
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name)];
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    hub.post_to("/mcp/agents", &headers, &message).message()
}

#[test]
fn a_task_is_delegated_in_a_session_and_without_one() {
    let desk = Desk::new();
    let settings = std::fs::read_to_string(desk.folder(".adjutant/config.toml")).unwrap();
    let (task, slow) = (desk.task("ok"), desk.task("hang"));
    let hub = Hub::start(desk.home, &settings, &["--auth", "none"]);

    let hello = hub.post_to("/mcp/agents", &[], &initialize("2025-11-25"));
    let session =
        [("mcp-session-id", hello.header("mcp-session-id")), ("mcp-protocol-version", "2025-11-25")];
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    hub.post_to("/mcp/agents", &session, &ready);
    let params = json!({"name": "delegate_task", "arguments": task, "_meta": {"progressToken": "p"}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let answer: Answer = hub.post_to("/mcp/agents", &session, &call);
    let mut messages = answer.messages();
    let told = messages.pop().unwrap()["result"]["structuredContent"].clone();
    assert_eq!(
        (&told["status"], &told["message"]),
        (&json!("succeeded"), &json!("working\nresult")),
        "{told:#}"
    );
    assert!(!messages.is_empty(), "no progress");
    for message in messages {
        assert_eq!(
            (&message["method"], &message["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p"))
        );
    }

    let params = json!({"name": "delegate_task", "arguments": slow});
    let created = modern(&hub, "one", "tools/call", "delegate_task", params)["result"].clone();
    assert_eq!(
        (&created["resultType"], &created["status"]),
        (&json!("task"), &json!("working")),
        "{created}"
    );
    let id = created["taskId"].as_str().unwrap();
    let about = |client: &str, method: &str| modern(&hub, client, method, id, json!({"taskId": id}));
    // Another caller's task does not exist for this one.
    assert_eq!(about("two", "tasks/get")["error"]["code"], -32602);
    assert_eq!(about("two", "tasks/cancel")["error"]["code"], -32602);
    assert_eq!(about("one", "tasks/get")["result"]["status"], "working");
    assert_eq!(about("one", "tasks/cancel")["result"]["resultType"], "complete");
    let end = Instant::now() + DEADLINE;
    while about("one", "tasks/get")["result"]["status"] != "cancelled" {
        assert!(Instant::now() < end, "{}", about("one", "tasks/get"));
    }
}
