//! A client that was written for `codex mcp-server`, unchanged, with `adjutant mcp codex` in its place and the real
//! 0.169.0, which no longer has that command.

use serde_json::{Value, json};

use super::versions::{configure, install_package};
use crate::support::model::{FINAL_TEXT, Model, Script};
use crate::support::real_clients::is_excluded;
use crate::support::{Home, Peer};

/// Such a client: it starts the server, calls a tool, keeps the events and answers approvals by `decision`.
struct Client {
    peer: Peer,
    next: u64,
    events: Vec<Value>,
    asked: Vec<Value>,
}

impl Client {
    fn start(home: &Home) -> Self {
        let mut command = home.adjutant(["mcp", "codex"]);
        let mut peer = Peer::start(command.current_dir(home.path().join("work")));
        peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "gestalt-probe", "version": "0.1"},
        }}));
        let hello = peer.receive();
        assert_eq!(hello["result"]["capabilities"], json!({"tools": {"listChanged": true}}), "{hello}");
        peer.send(&json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
        Self { peer, next: 2, events: Vec::new(), asked: Vec::new() }
    }

    /// Calls a tool; `decision` answers every approval.
    fn call(&mut self, name: &str, arguments: Value, decision: &Value) -> Value {
        let id = self.next;
        self.next += 1;
        let params = json!({"name": name, "arguments": arguments});
        self.peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        loop {
            let message = self.peer.receive();
            match message["method"].as_str() {
                Some("codex/event") => {
                    assert_eq!(message["params"]["_meta"]["requestId"], id, "{message}");
                    self.events.push(message["params"].clone());
                }
                Some("elicitation/create") => {
                    let answer =
                        json!({"jsonrpc": "2.0", "id": message["id"], "result": {"decision": decision}});
                    self.asked.push(message["params"].clone());
                    self.peer.send(&answer);
                }
                _ => {
                    assert_eq!(message["id"], id, "{message}");
                    return message["result"].clone();
                }
            }
        }
    }

    /// The types of the events of a turn, in order.
    fn event_types(&mut self) -> Vec<String> {
        let events = std::mem::take(&mut self.events);
        events.iter().map(|event| event["msg"]["type"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_client_of_codex_mcp_server_works_unchanged() {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    install_package(&home, "@openai/codex", "auto");
    let model = Model::start(Script::Escalated("touch made.txt".to_owned()));
    configure(&home, &model);
    let mut client = Client::start(&home);

    let tools = client.call_raw("tools/list");
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["codex", "codex-reply"]);
    insta::assert_json_snapshot!("codex_tools_2024_11_05", tools);

    let start = json!({"prompt": "touch it", "approval-policy": "on-request", "sandbox": "read-only"});
    let denied = client.call("codex", start.clone(), &json!({"denied": {"rejection": "not today"}}));
    assert_eq!(denied["structuredContent"]["content"], FINAL_TEXT, "{denied}");
    assert!(!home.path().join("work/made.txt").exists());
    let asked = &client.asked[0];
    assert_eq!(asked["codex_elicitation"], "exec-approval", "{asked}");
    let words: Vec<&str> =
        asked["codex_command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(matches!(words[..], [_, "-lc", "touch made.txt"]), "{asked}");
    assert_eq!(asked["codex_cwd"], home.path().join("work").to_str().unwrap(), "{asked}");
    let types = client.event_types();
    let order = [
        "session_configured",
        "task_started",
        "user_message",
        "exec_approval_request",
        "agent_message",
        "task_complete",
    ];
    let mut found = types.iter();
    for wanted in order {
        assert!(found.any(|event| event == wanted), "no {wanted} in its place: {types:?}");
    }
    assert_eq!(types.last().unwrap(), "task_complete");

    let approved = client.call("codex", start, &json!("approved"));
    let thread = approved["structuredContent"]["threadId"].as_str().unwrap().to_owned();
    assert_eq!(approved["content"], json!([{"type": "text", "text": FINAL_TEXT}]), "{approved}");
    assert!(approved.get("isError").is_none(), "{approved}");
    assert!(home.path().join("work/made.txt").exists());
    client.event_types();

    for name in ["threadId", "conversationId"] {
        let reply =
            client.call("codex-reply", json!({name: thread, "prompt": "and again"}), &json!("denied"));
        assert_eq!(reply["structuredContent"], json!({"threadId": thread, "content": FINAL_TEXT}), "{reply}");
        assert!(client.event_types().contains(&"agent_message".to_owned()));
    }
    let unknown = client.call("codex-reply", json!({"threadId": "nope", "prompt": "x"}), &json!("denied"));
    assert_eq!(unknown["isError"], true);
    assert_eq!(unknown["content"][0]["text"], "Session not found for thread_id: nope");

    let model = Model::start(Script::Refuse("401 Unauthorized"));
    configure(&home, &model);
    let refused = client.call("codex", json!({"prompt": "hello"}), &json!("denied"));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("401 Unauthorized"), "{refused}");
    assert!(refused["structuredContent"]["threadId"].is_string(), "{refused}");
    assert_eq!(client.event_types().last().unwrap(), "error");
}

impl Client {
    fn call_raw(&mut self, method: &str) -> Value {
        let id = self.next;
        self.next += 1;
        self.peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": method}));
        self.peer.receive()["result"].clone()
    }
}
