//! Delegation over HTTP: in a session with progress, and as a task of the protocol without one.

use std::time::Instant;

use serde_json::{Value, json};

use super::client::{Answer, Hub, MCP, initialize};
use crate::support::task_fixture::TaskFixture;
use crate::support::{DEADLINE, stateless_meta};

/// A stateless request of a client with the tasks extension, by its name.
fn modern(hub: &Hub, client: &str, method: &str, name: &str, mut params: Value) -> Value {
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientInfo"]["name"] = json!(client);
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    params["_meta"] = meta;
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name)];
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    hub.post_to("/mcp/agents", &headers, &message).message()
}

#[test]
fn a_task_can_be_delegated_with_and_without_a_session() {
    let fixture = TaskFixture::new();
    let settings = std::fs::read_to_string(fixture.folder(".adjutant/config.toml")).unwrap();
    let (task, slow) = (fixture.task("ok"), fixture.task("hang"));
    let hub = Hub::start(fixture.home, &settings, &["--auth", "none"]);

    let hello = hub.post_to("/mcp/agents", &[], &initialize("2025-11-25"));
    let session =
        [("mcp-session-id", hello.header("mcp-session-id")), ("mcp-protocol-version", "2025-11-25")];
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    hub.post_to("/mcp/agents", &session, &ready);
    let params = json!({"name": "delegate_task", "arguments": task, "_meta": {"progressToken": "p"}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let answer: Answer = hub.post_to("/mcp/agents", &session, &call);
    let mut messages = answer.messages();
    let result = messages.pop().unwrap()["result"]["structuredContent"].clone();
    assert_eq!(
        (&result["status"], &result["message"]),
        (&json!("succeeded"), &json!("working\nresult")),
        "{result:#}"
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

#[test]
fn nested_delegations_over_http_are_limited() {
    let fixture = TaskFixture::new();
    let settings = std::fs::read_to_string(fixture.folder(".adjutant/config.toml")).unwrap();
    let (file, folder) = (fixture.folder("request.json"), fixture.folder("work"));
    let hub = Hub::start(fixture.home, &settings, &["--auth", "none"]);
    // Every child delegates the same task again, on a connection without any mark of it.
    let task = format!("post {} {}", hub.address.port(), file.display());
    let arguments = json!({"agent": "reviewer", "task": task, "working_directory": folder});
    let params = json!({"name": "delegate_task", "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    std::fs::write(file, call.to_string()).unwrap();
    let answer = hub.post_to("/mcp/agents", &[], &call).message();
    let message = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer:#}"));
    assert!(message.contains("this task is 3 delegations deep, and 2 is the limit"), "{message}");
}

#[test]
fn clients_with_one_name_are_distinguished_by_their_address() {
    let fixture = TaskFixture::new();
    let settings = std::fs::read_to_string(fixture.folder(".adjutant/config.toml")).unwrap();
    let task = fixture.task("ok");
    let hub = Hub::start(fixture.home, &settings, &["--auth", "none"]);
    let session = |path: &str| {
        let hello = hub.post_to(path, &[], &initialize("2025-11-25"));
        [("mcp-session-id", hello.header("mcp-session-id").to_owned())]
    };
    let tool = |path: &str, headers: &[(&str, String); 1], name: &str, arguments: &Value| {
        let headers = [(headers[0].0, headers[0].1.as_str()), ("mcp-protocol-version", "2025-11-25")];
        let params = json!({"name": name, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = hub.post_to(path, &headers, &call).messages().pop().unwrap();
        answer["result"]["structuredContent"].clone()
    };
    let (left, right) = ("/mcp/agents?client=left%20window", "/mcp/agents?client=right");
    let (in_left, in_right) = (session(left), session(right));
    let reply = tool(left, &in_left, "delegate_task", &task);
    assert_eq!(reply["status"], "succeeded", "{reply:#}");
    let id = json!({"task_id": reply["task_id"]});
    assert!(tool(right, &in_right, "task_get", &id).is_null());
    // The same address is the same client in a new session.
    assert_eq!(tool(left, &session(left), "task_get", &id)["status"], "succeeded");
}

#[test]
fn a_result_whose_response_broke_is_in_the_next_one() {
    let tasks = TaskFixture::new();
    let settings = std::fs::read_to_string(tasks.folder(".adjutant/config.toml")).unwrap();
    let go = tasks.folder("go");
    let wait = format!("until [ -e {} ]; do sleep 0.01; done", go.display());
    tasks.program("fake", &format!("#!/bin/sh\ncat >/dev/null\n{wait}\necho result\n"));
    let task = tasks.task("wait");
    let hub = Hub::start(tasks.home, &settings, &["--auth", "none"]);
    let hello = hub.post_to("/mcp", &[], &initialize("2025-11-25"));
    let session =
        [("mcp-session-id", hello.header("mcp-session-id")), ("mcp-protocol-version", "2025-11-25")];
    let call = |id: i64, name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": id}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let next = |id: i64| {
        let answer = hub.post_to("/mcp", &session, &call(id, "list_prompts", json!({})));
        answer.messages().pop().unwrap()["result"]["structuredContent"]["finished_tasks"].clone()
    };
    let mut task = task;
    task["background"] = json!(true);
    let answer = hub.post_to("/mcp", &session, &call(2, "delegate_task", task));
    let id = answer.messages().pop().unwrap()["result"]["structuredContent"]["task_id"].clone();
    let headers = [&MCP[..], &session].concat();
    let wait = call(3, "task_wait", json!({"task_id": id, "seconds": 60})).to_string();
    let mut waiting = hub.stream("POST", "/mcp", &headers, &wait);
    assert_eq!(waiting.next().unwrap()["method"], "notifications/progress", "the call waits");
    drop(waiting);
    std::fs::write(go, "").unwrap();
    let end = Instant::now() + DEADLINE;
    let mut call_id = 4;
    let told = loop {
        assert!(Instant::now() < end, "the result is lost");
        let told = next(call_id);
        call_id += 1;
        if !told.is_null() {
            break told;
        }
    };
    assert_eq!(told[0]["task_id"], id, "{told}");
    while !next(call_id).is_null() {
        assert!(Instant::now() < end, "it is given again and again");
        call_id += 1;
    }
}
