//! Clients that disconnect, and the outcomes that they get when they return.

use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::fixtures::{Hub, User, example, request};
use crate::support::{DEADLINE, Peer, stateless_meta};

const WITHOUT_WAITING: &str =
    "undo_milliseconds = 0\nwait_seconds = 1\ndisconnect_grace_seconds = 1\n[http]\nsession_idle_seconds = 1";

fn call(id: i64, name: &str, arguments: Value) -> String {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

#[test]
fn a_late_answer_comes_with_the_next_answer_of_any_tool() {
    let hub = Hub::with("undo_milliseconds = 0\nwait_seconds = 1");
    hub.home.write(".adjutant/prompts/greet.md", "Say \"hello\" to {{input}}.\n");
    let mut peer = hub.client("all");
    peer.initialize("2025-11-25");
    let tool = |peer: &mut Peer, id: i64, name: &str, arguments: Value| {
        peer.call(id, "tools/call", json!({"name": name, "arguments": arguments}))["result"].clone()
    };
    let late = |peer: &mut Peer, title: &str| {
        tool(peer, 1, "triggerPopup", example(title));
        hub.user().choose(&User::wait_for_question(&hub.home, title), "yes");
    };
    // The file was added while the hub ran, which reads it after an event of the watcher.
    let end = Instant::now() + DEADLINE;
    while !tool(&mut peer, 0, "list_prompts", json!({})).to_string().contains("greet") {
        assert!(Instant::now() < end, "the new prompt is never listed");
    }
    for (title, name, arguments) in [
        ("First", "list_prompts", json!({})),
        ("Second", "expand_prompt", json!({"command": "greet", "input": "you"})),
    ] {
        let before = tool(&mut peer, 2, name, arguments.clone());
        late(&mut peer, title);
        let mut answer = tool(&mut peer, 3, name, arguments.clone());
        let earlier = answer["structuredContent"].as_object_mut().unwrap().remove("earlier_answers").unwrap();
        assert_eq!((&earlier[0]["title"], &earlier[0]["selectedValue"]), (&json!(title), &json!("yes")));
        let blocks = answer["content"].as_array_mut().unwrap();
        assert!(blocks.pop().unwrap()["text"].as_str().unwrap().contains(title));
        assert_eq!(answer, before, "the rest of the answer is unchanged");
        assert_eq!(tool(&mut peer, 4, name, arguments), before, "the late answer comes once");
    }
}

#[test]
fn an_http_session_that_ends_counts_as_a_disconnected_client() {
    let hub = Hub::with(WITHOUT_WAITING);
    for (title, deletes) in [("Deleted", true), ("Idle", false)] {
        let session = hub.session("2025-11-25", &json!({}));
        let headers =
            [("mcp-session-id", session.as_str()), ("accept", "application/json, text/event-stream")];
        let (_, answer) = hub.post("/mcp", &headers, &call(1, "triggerPopup", example(title)));
        assert!(answer.to_string().contains("pending"), "{answer}");
        let question = User::wait_for_question(&hub.home, title);
        let mut watch = User::follow(&hub.home);
        if deletes {
            assert!(hub.send_request("DELETE", "/mcp", &headers, "").0 < 300);
        }
        assert_eq!(watch.wait_for_outcome(&question), json!("client_gone"));
    }
}

#[test]
fn a_caller_with_a_broken_stream_counts_as_disconnected_until_it_returns() {
    let hub = Hub::with(WITHOUT_WAITING);
    let queue = |client: &str, title: &str| {
        assert_eq!(
            hub.post(&format!("/mcp?client={client}"), &[], &request(title, title).to_string()).0,
            202
        );
        User::wait_for_question(&hub.home, title)
    };
    let waits = queue("patient", "Never opened");
    let stays = hub.events("/mcp?client=stays", &[]);
    let here = queue("stays", "Open");
    let broken = hub.events("/mcp?client=leaves", &[]);
    let question = queue("leaves", "Broken off");
    let mut watch = User::follow(&hub.home);
    drop(broken);
    assert_eq!(watch.wait_for_outcome(&question), json!("client_gone"));
    let (_, answer) = hub.events("/mcp?client=leaves", &[]).next();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("Broken off"), &json!(-32005)), "{answer}");
    assert_eq!(answer["error"]["data"]["status"], json!("client_gone"));
    let pending = User::pending(&hub.home);
    let tickets: Vec<&Value> = pending.iter().map(|question| &question["ticket"]).collect();
    assert_eq!(tickets, [&waits["ticket"], &here["ticket"]], "the others are waited for");
    drop(stays);
}

/// A call without a session, as the stateless revision makes it.
fn stateless(hub: &Hub, id: i64, params: &Value, task: bool) -> Value {
    let mut meta = stateless_meta();
    if task {
        meta["io.modelcontextprotocol/clientCapabilities"] =
            json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    }
    let mut params = params.clone();
    params["_meta"] = meta;
    let method = if params.get("taskId").is_some() { "tasks/get" } else { "tools/call" };
    let name = params.get("name").or(params.get("taskId")).unwrap().as_str().unwrap().to_owned();
    let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
        ("mcp-name", name.as_str()),
    ];
    let (status, text) = hub.send_request("POST", "/mcp", &headers, &body);
    assert_eq!(status, 200, "{text}");
    let json = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&text);
    serde_json::from_str::<Value>(json).unwrap_or_else(|_| panic!("{text}"))["result"].clone()
}

#[test]
fn a_silent_caller_without_a_session_is_shown_and_its_answer_is_kept() {
    let hub = Hub::with(
        "undo_milliseconds = 0\nwait_seconds = 1\nsilent_seconds = 1\ndisconnect_grace_seconds = 1",
    );
    let mut watch = User::follow(&hub.home);
    let ask = json!({"name": "triggerPopup", "arguments": example("Ticket")});
    let result = stateless(&hub, 1, &ask, false)["structuredContent"].clone();
    assert_eq!((&result["status"], &result["poll_seconds"]), (&json!("pending"), &json!(1)), "{result}");
    let silent = watch.wait_for_presence("Ticket", "silent");
    // The client of a task counts as silent sooner than its `ttl` says, and each poll renews it.
    let task = stateless(&hub, 2, &json!({"name": "triggerPopup", "arguments": example("Task")}), true);
    watch.wait_for_presence("Task", "silent");
    let looked = stateless(&hub, 3, &json!({"taskId": task["taskId"]}), true);
    assert_eq!(looked["status"], json!("working"), "{looked}");
    watch.wait_for_presence("Task", "here");
    watch.wait_for_presence("Task", "silent");
    // The same holds for a POST of the contract whose caller never reads its stream; reading the stream renews it.
    assert_eq!(hub.post("/mcp?client=late", &[], &request("r", "Contract").to_string()).0, 202);
    watch.wait_for_presence("Contract", "silent");
    let mut stream = hub.events("/mcp?client=late", &[]);
    let contract = watch.wait_for_presence("Contract", "here");
    hub.user().choose(&contract, "yes");
    assert_eq!(stream.next().1["result"], json!({"selectedValue": "yes"}));
    // Silence ends nothing: the ticket, and the repeated question, still find the answer.
    hub.user().choose(&silent, "no");
    let wait = json!({"name": "await_answer", "arguments": {"ticket": result["ticket"]}});
    let found = stateless(&hub, 4, &wait, false)["structuredContent"].clone();
    assert_eq!((&found["status"], &found["selectedValue"]), (&json!("answered"), &json!("no")), "{found}");
}

#[test]
fn an_interrupted_script_withdraws_its_question() {
    let hub = Hub::with("disconnect_grace_seconds = 600");
    let ask = || Peer::start(&mut hub.home.adjutant(["ask", "--title", "Twice", "--option", "yes"]));
    let first = ask();
    let mut watch = User::follow(&hub.home);
    let interrupted = watch.wait_for_deliveries("Twice", 1);
    // Two scripts with the same words ask two questions.
    let second = ask();
    let end = Instant::now() + DEADLINE;
    let question = loop {
        assert!(Instant::now() < end, "the second script's question is not asked");
        let pending = User::pending(&hub.home);
        let other = pending.into_iter().find(|question| question["ticket"] != interrupted["ticket"]);
        if let Some(question) = other {
            break question;
        }
    };
    let interrupt = |peer: &Peer| {
        let pid = Pid::from_raw(i32::try_from(peer.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
    };
    interrupt(&first);
    assert_eq!(watch.wait_for_outcome(&interrupted), json!("cancelled"));
    let alone = Peer::start(&mut hub.home.adjutant(["ask", "--title", "Alone", "--option", "yes"]));
    let other = watch.wait_for_deliveries("Alone", 1);
    interrupt(&alone);
    assert_eq!(watch.wait_for_outcome(&other), json!("cancelled"), "at once, not after the grace");
    assert_eq!(User::pending(&hub.home).len(), 1, "the other script still waits");
    hub.user().choose(&question, "yes");
    assert_eq!(second.line(), "yes");
}
