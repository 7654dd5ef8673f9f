//! Clients that go away, and what is told to those who come back.

use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::person::{Hub, Person, example, request};
use crate::support::{DEADLINE, Peer};

const IMPATIENT: &str =
    "undo_milliseconds = 0\npatience_seconds = 1\ngone_grace_seconds = 1\n[http]\nsession_idle_seconds = 1";

fn call(id: i64, name: &str, arguments: Value) -> String {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

#[test]
fn a_late_answer_goes_with_any_tools_answer_also_with_a_large_one() {
    let hub = Hub::with("undo_milliseconds = 0\npatience_seconds = 1");
    hub.home.write(".adjutant/prompts/greet.md", "Say \"hello\" to {{input}}.\n");
    let mut peer = hub.client("all");
    peer.initialize("2025-11-25");
    let tool = |peer: &mut Peer, id: i64, name: &str, arguments: Value| {
        peer.call(id, "tools/call", json!({"name": name, "arguments": arguments}))["result"].clone()
    };
    let late = |peer: &mut Peer, title: &str| {
        tool(peer, 1, "triggerPopup", example(title));
        hub.person().choose(&Person::waits_for(&hub.home, title), "yes");
    };
    // The file came while the hub ran, which looks at it when the system tells of it.
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
        let mut told = tool(&mut peer, 3, name, arguments.clone());
        let earlier = told["structuredContent"].as_object_mut().unwrap().remove("earlier_answers").unwrap();
        assert_eq!((&earlier[0]["title"], &earlier[0]["selectedValue"]), (&json!(title), &json!("yes")));
        let blocks = told["content"].as_array_mut().unwrap();
        assert!(blocks.pop().unwrap()["text"].as_str().unwrap().contains(title));
        assert_eq!(told, before, "beside it the answer is what it always is");
        assert_eq!(tool(&mut peer, 4, name, arguments), before, "and it is told once");
    }
}

#[test]
fn a_session_over_http_that_ends_is_a_client_that_is_gone() {
    let hub = Hub::with(IMPATIENT);
    for (title, deletes) in [("Deleted", true), ("Idle", false)] {
        let session = hub.session("2025-11-25", &json!({}));
        let headers =
            [("mcp-session-id", session.as_str()), ("accept", "application/json, text/event-stream")];
        let (_, told) = hub.post("/mcp", &headers, &call(1, "triggerPopup", example(title)));
        assert!(told.to_string().contains("pending"), "{told}");
        let question = Person::waits_for(&hub.home, title);
        let mut watch = Person::watch(&hub.home);
        if deletes {
            assert!(hub.ask("DELETE", "/mcp", &headers, "").0 < 300);
        }
        assert_eq!(watch.outcome_of(&question), json!("client_gone"));
    }
}

#[test]
fn a_caller_whose_stream_broke_off_is_gone_and_is_told_so_when_it_comes_back() {
    let hub = Hub::with(IMPATIENT);
    let queue = |client: &str, title: &str| {
        assert_eq!(
            hub.post(&format!("/mcp?client={client}"), &[], &request(title, title).to_string()).0,
            202
        );
        Person::waits_for(&hub.home, title)
    };
    let waits = queue("patient", "Never opened");
    let stays = hub.events("/mcp?client=stays", &[]);
    let here = queue("stays", "Open");
    let broken = hub.events("/mcp?client=leaves", &[]);
    let question = queue("leaves", "Broken off");
    let mut watch = Person::watch(&hub.home);
    drop(broken);
    assert_eq!(watch.outcome_of(&question), json!("client_gone"));
    let (_, told) = hub.events("/mcp?client=leaves", &[]).next();
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!("Broken off"), &json!(-32005)), "{told}");
    assert_eq!(told["error"]["data"]["status"], json!("client_gone"));
    let pending = Person::pending(&hub.home);
    let tickets: Vec<&Value> = pending.iter().map(|question| &question["ticket"]).collect();
    assert_eq!(tickets, [&waits["ticket"], &here["ticket"]], "the others are waited for");
    drop(stays);
}

#[test]
fn a_script_that_is_interrupted_takes_its_question_with_it() {
    let hub = Hub::with("gone_grace_seconds = 600");
    let ask = || Peer::start(&mut hub.home.adjutant(["ask", "--title", "Twice", "--option", "yes"]));
    let (first, second) = (ask(), ask());
    // Two scripts with the same words ask one question; each is one of those who wait for it.
    let mut watch = Person::watch(&hub.home);
    let question = watch.asked_by("Twice", 2);
    let interrupt = |peer: &Peer| {
        let pid = Pid::from_raw(i32::try_from(peer.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
    };
    interrupt(&first);
    let alone = Peer::start(&mut hub.home.adjutant(["ask", "--title", "Alone", "--option", "yes"]));
    let other = watch.asked_by("Alone", 1);
    interrupt(&alone);
    assert_eq!(watch.outcome_of(&other), json!("cancelled"), "at once, not after the grace");
    assert_eq!(Person::pending(&hub.home).len(), 1, "the other script still waits");
    hub.person().choose(&question, "yes");
    assert_eq!(second.line(), "yes");
}
