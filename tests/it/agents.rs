//! `adjutant mcp agents`: the contract at 2024-11-05 with a fake `codex`, and what newer revisions add.

mod durability;
mod faults;
mod git_programs;
mod lies;
mod run_reports;
mod sandbox;
mod several_hubs;
mod worktrees;

use serde_json::{Value, json};

use crate::support::{Home, Peer, stateless_meta};

/// Prints its arguments. A task that ends in `hang` prints `working` and never ends.
const CODEX: &str = r#"#!/bin/sh
case "$*" in
*hang) echo working; exec sleep 300 ;;
*fail) echo "ERROR: it broke" >&2; exit 7 ;;
esac
for argument; do printf '[%s]\n' "$argument"; done
"#;

struct Fixture {
    home: Home,
}

impl Fixture {
    fn new() -> Self {
        let home = Home::new();
        home.write_program("bin/codex", CODEX);
        home.write("agents/reviewer.yaml", "persona: You review.\ndescription: Reviews code\n");
        home.write("agents/broken.yaml", "persona: [");
        home.write("work/README.md", "An empty project.\n");
        Self { home }
    }

    fn work(&self) -> String {
        self.home.path().canonicalize().unwrap().join("work").display().to_string()
    }

    fn peer(&self) -> Peer {
        let folder = self.home.path().join("agents");
        let path = format!(
            "{}:{}",
            self.home.path().join("bin").display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let arguments = ["mcp", "agents", "--agents-dir", folder.to_str().unwrap()];
        Peer::start(self.home.adjutant(arguments).env("PATH", path))
    }

    fn task(&self, task: &str) -> Value {
        json!({"agent": "reviewer", "task": task, "working_directory": self.work()})
    }
}

fn tool(peer: &mut Peer, id: i64, name: &str, arguments: Value) -> Value {
    peer.call(id, "tools/call", json!({"name": name, "arguments": arguments}))
}

#[test]
fn mcp_agents_answers_the_contract_byte_for_byte() {
    let fixture = Fixture::new();
    let mut peer = fixture.peer();
    let hello = peer.initialize("2024-11-05");
    assert_eq!(
        hello["result"],
        json!({
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "codex-subagents", "version": "0.1.0"},
            "clientInfo": {"name": "test", "version": "1"},
        })
    );
    let tools = peer.call(1, "tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["list_agents", "delegate_task"]);
    assert_eq!(tools[1]["inputSchema"]["required"], json!(["agent", "task", "working_directory"]));
    let listed = tool(&mut peer, 2, "list_agents", json!({}));
    let text = listed["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, r#"{"agents":[{"name":"reviewer","description":"Reviews code"}]}"#);
    let done = tool(&mut peer, 3, "delegate_task", fixture.task("look"));
    let line = format!(
        "[--cd]\n[{}]\n[--sandbox]\n[read-only]\n[--ask-for-approval]\n[never]\n[exec]\n[You review.\n\nTask: look]",
        fixture.work()
    );
    assert_eq!(done["result"], json!({"content": [{"type": "text", "text": line}]}));
    let (status, log) = peer.finish();
    assert!(status.success());
    for line in log.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("the log is not JSON: {line}"));
    }
}

#[test]
fn rejected_calls_have_the_error_codes_of_the_contract() {
    let fixture = Fixture::new();
    let mut peer = fixture.peer();
    peer.initialize("2024-11-05");
    assert_eq!(tool(&mut peer, 1, "task_get", json!({}))["error"]["code"], json!(-32601));
    let missing = tool(&mut peer, 2, "delegate_task", json!({"agent": "reviewer", "task": "x"}));
    let data = json!({"path": ["working_directory"], "validator": "required", "validator_value": null});
    assert_eq!((&missing["error"]["code"], &missing["error"]["data"]), (&json!(-32602), &data));
    let wrong = json!({"agent": 1, "task": "x", "working_directory": "/tmp"});
    let wrong = tool(&mut peer, 3, "delegate_task", wrong);
    assert_eq!(wrong["error"]["data"]["validator"], json!("type"));
    for (number, (agent, task, folder, words)) in [
        ("reviewr", "x", fixture.work(), "did you mean `reviewer`"),
        ("reviewer", "", fixture.work(), "empty"),
        ("reviewer", "x", "/".to_owned(), "must not be `/`"),
        ("reviewer", "x", "work".to_owned(), "absolute"),
        ("reviewer", "x", "/nowhere/at/all".to_owned(), "does not exist"),
        ("reviewer", "fail", fixture.work(), "did not finish"),
    ]
    .into_iter()
    .enumerate()
    {
        let arguments = json!({"agent": agent, "task": task, "working_directory": folder});
        let refused = tool(&mut peer, 10 + i64::try_from(number).unwrap(), "delegate_task", arguments);
        assert_eq!(refused["result"]["isError"], json!(true), "{words}: {refused}");
        let text = refused["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_client_of_2025_11_25_gets_task_ids_and_run_reports() {
    let fixture = Fixture::new();
    let mut peer = fixture.peer();
    peer.initialize("2025-11-25");
    let tools = peer.call(1, "tools/list", json!({}));
    for tool in tools["result"]["tools"].as_array().unwrap() {
        let hints = &tool["annotations"];
        assert!(hints["destructiveHint"] != json!(true) && hints["openWorldHint"] == json!(false), "{tool}");
        assert!(tool["outputSchema"].is_object() && tool["title"].is_string(), "{tool}");
    }
    let done = tool(&mut peer, 2, "delegate_task", fixture.task("look"));
    let result = &done["result"]["structuredContent"];
    assert_eq!((&result["status"], &result["verdict"]), (&json!("succeeded"), &json!("unverified")));
    assert_eq!(result["run_report"]["processes_left"], json!(0));
    let mut background = fixture.task("look");
    background["background"] = json!(true);
    let handle = tool(&mut peer, 3, "delegate_task", background);
    let id = handle["result"]["structuredContent"]["task_id"].clone();
    let waited = tool(&mut peer, 4, "task_wait", json!({"task_id": id}));
    assert_eq!(waited["result"]["structuredContent"]["status"], json!("succeeded"));
    let unknown = tool(&mut peer, 5, "task_get", json!({"task_id": "nothing"}));
    assert_eq!(unknown["result"]["isError"], json!(true));
    let many = json!({"tasks": [fixture.task("one"), fixture.task("fail"), {"agent": "nobody", "task": "x", "working_directory": fixture.work()}]});
    let many = tool(&mut peer, 6, "delegate_many", many);
    let states: Vec<&Value> = many["result"]["structuredContent"]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["status"])
        .collect();
    assert_eq!(states, ["succeeded", "failed", "failed"]);
}

#[test]
fn a_cancelled_call_cancels_its_task() {
    let fixture = Fixture::new();
    let mut peer = fixture.peer();
    peer.initialize("2025-11-25");
    let params =
        json!({"name": "delegate_task", "arguments": fixture.task("hang"), "_meta": {"progressToken": "p"}});
    peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    loop {
        let message = peer.receive();
        assert_eq!(message["method"], json!("notifications/progress"), "{message}");
        if message["params"]["message"] == json!("working") {
            break;
        }
    }
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    let listed = tool(&mut peer, 2, "task_list", json!({}));
    let id = listed["result"]["structuredContent"]["tasks"][0]["task_id"].clone();
    let ended = tool(&mut peer, 3, "task_wait", json!({"task_id": id}));
    let result = &ended["result"]["structuredContent"];
    assert_eq!(
        (&result["status"], &result["run_report"]["processes_left"]),
        (&json!("cancelled"), &json!(0))
    );
}

#[test]
fn a_client_with_the_tasks_extension_gets_a_protocol_task() {
    let fixture = Fixture::new();
    let mut peer = fixture.peer();
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let params = json!({"name": "delegate_task", "arguments": fixture.task("hang"), "_meta": meta});
    let created = peer.call(1, "tools/call", params)["result"].clone();
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
    let about = json!({"taskId": created["taskId"], "_meta": meta});
    assert_eq!(peer.call(2, "tasks/get", about.clone())["result"]["status"], json!("working"));
    assert_eq!(peer.call(3, "tasks/cancel", about.clone())["result"]["resultType"], json!("complete"));
    let wait = json!({"name": "task_wait", "arguments": {"task_id": created["taskId"]}, "_meta": meta});
    peer.call(4, "tools/call", wait);
    assert_eq!(peer.call(5, "tasks/get", about)["result"]["status"], json!("cancelled"));
    let without = json!({"taskId": created["taskId"], "_meta": stateless_meta()});
    assert!(peer.call(6, "tasks/get", without)["error"].is_object());
}
