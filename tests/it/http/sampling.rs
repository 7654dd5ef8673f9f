//! A client over HTTP whose model is the planner: asked on the stream of its call, or in rounds.

use serde_json::{Value, json};

use super::client::{Hub, initialize};
use crate::assistant::{calendar, result_json};
use crate::support::{Home, stateless_meta};

const PATHS: [&str; 2] = ["/mcp/assistant", "/mcp"];

const PROPOSAL: &str = r#"{"notify": true, "reasoning": "a way to go", "plan": [{"before": 75, "unit": "minutes", "channel": "email", "urgency": "normal", "subject": "", "text": "", "speech": ""}]}"#;

/// A hub with the client as planner, with a user and an event of tomorrow.
fn hub() -> Hub {
    let home = Home::new();
    let run = |arguments: &[&str]| {
        let finished = home.run(arguments, "");
        assert!(finished.status.success(), "{arguments:?}: {}", finished.stderr);
    };
    let user = ["users", "add", "Ann", "--id", "ann", "--email", "ann@example.org", "--channels", "email"];
    run(&[&user[..], &["--quiet-hours", "none", "--weekend", "both"]].concat());
    home.write("work.ics", calendar(&[("review", 26 * 60)]));
    run(&["events", "import", "ann", "work.ics"]);
    Hub::start(home, "[assistant]\nplanner = ['sampling']\n", &["--auth", "none"])
}

fn call() -> Value {
    let params = json!({"name": "planNotifications", "arguments": {"user_id": "ann", "force_replan": true}});
    json!({"jsonrpc": "2.0", "id": "plan", "method": "tools/call", "params": params})
}

fn sampling_result(text: &str) -> Value {
    json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "m", "stopReason": "endTurn"})
}

/// Minutes before the start of each planned notification, and its planner.
fn planned(answer: &Value) -> Vec<(i64, String)> {
    let all = answer["notifications"].as_array().unwrap().iter();
    all.map(|item| {
        let by = item["reasons"][0]["by"].as_str().unwrap().to_owned();
        (item["offset_minutes"].as_i64().unwrap(), by)
    })
    .collect()
}

#[test]
fn a_client_with_a_session_is_sampled_on_the_stream_of_its_call() {
    let hub = hub();
    for (path, revision) in PATHS
        .into_iter()
        .flat_map(|path| ["2024-11-05", "2025-06-18", "2025-11-25"].map(|revision| (path, revision)))
    {
        let mut hello = initialize(revision);
        hello["params"]["capabilities"] = json!({"sampling": {}});
        let opened = hub.post_to(path, &[], &hello);
        let session = opened.header("mcp-session-id").to_owned();
        let headers = [
            ("mcp-session-id", session.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let started = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(hub.post_to(path, &headers[..1], &started).status, 202);
        let mut stream = hub.stream("POST", path, &headers, &call().to_string());
        for (turns, words) in [(1, "With pleasure!"), (3, PROPOSAL)] {
            let asked = stream.next().unwrap_or_else(|| panic!("{path} {revision}: the stream has ended"));
            assert_eq!(asked["method"], "sampling/createMessage", "{path} {revision}: {asked}");
            assert_eq!(asked["params"]["messages"].as_array().unwrap().len(), turns, "{asked}");
            let reply = json!({"jsonrpc": "2.0", "id": asked["id"], "result": sampling_result(words)});
            assert_eq!(hub.post_to(path, &headers[..1], &reply).status, 202, "{path} {revision}");
        }
        let answer = stream.next().unwrap_or_else(|| panic!("{path} {revision}: no answer"));
        assert_eq!(answer["id"], "plan", "{path} {revision}: {answer}");
        assert_eq!(planned(&result_json(&answer)), [(-75, "client".to_owned())], "{path} {revision}");
    }
}

#[test]
fn a_client_without_a_session_is_sampled_in_rounds() {
    let hub = hub();
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "planNotifications"),
    ];
    for path in PATHS {
        let mut message = call();
        let mut meta = stateless_meta();
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({"sampling": {}});
        message["params"]["_meta"] = meta;
        let asked = hub.post_to(path, &headers, &message).message();
        let needs = &asked["result"];
        assert_eq!(needs["resultType"], "input_required", "{path}: {asked}");
        let (key, request) = needs["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(request["method"], "sampling/createMessage", "{path}: {asked}");
        message["params"]["requestState"] = needs["requestState"].clone();
        message["params"]["inputResponses"] = json!({key: sampling_result(PROPOSAL)});
        let mut other_client = message.clone();
        other_client["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!("another");
        let refused = hub.post_to(path, &headers, &other_client).message();
        assert_eq!(refused["error"]["data"]["path"], json!(["requestState"]), "{path}: {refused}");
        let answer = hub.post_to(path, &headers, &message).message();
        assert_eq!(planned(&result_json(&answer)), [(-75, "client".to_owned())], "{path}: {answer}");
    }
}
