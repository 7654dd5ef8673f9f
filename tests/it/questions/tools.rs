//! The three tools, at every protocol version.

use serde_json::{Value, json};

use super::fixtures::{Hub, User, example};
use crate::support::{Peer, stateless_meta};

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn tool(peer: &mut Peer, id: i64, name: &str, arguments: Value) -> Value {
    peer.call(id, "tools/call", json!({"name": name, "arguments": arguments}))["result"].clone()
}

fn start(peer: &mut Peer, id: i64, name: &str, arguments: Value) {
    let params = json!({"name": name, "arguments": arguments});
    peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
}

#[test]
fn a_question_is_answered_at_every_protocol_version() {
    let hub = Hub::new();
    for revision in REVISIONS {
        let mut peer = hub.client("popup");
        let hello = peer.initialize(revision);
        assert_eq!(hello["result"]["serverInfo"]["name"], json!("adjutant"));
        let listed = peer.call(1, "tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["triggerPopup", "ask_form", "await_answer"]);
        if revision > "2024-11-05" {
            assert!(
                tools.iter().all(|tool| tool["annotations"]["openWorldHint"] == json!(false)),
                "{tools:?}"
            );
        }
        start(&mut peer, 2, "triggerPopup", example(revision));
        let question = User::wait_for_question(&hub.home, revision);
        assert_eq!((&question["client"], &question["message"]), (&json!("test"), &json!("Deploy now?")));
        assert_eq!(hub.user().choose(&question, "yes")["decided"]["kind"], json!("answered"));
        let result = peer.receive()["result"].clone();
        let answer: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!((&answer["status"], &answer["selectedValue"]), (&json!("answered"), &json!("yes")));
        assert_eq!((&answer["decided_by"], &answer["through"]), (&json!("user"), &json!("terminal")));
        let structured = if revision == "2024-11-05" { &Value::Null } else { &answer };
        assert_eq!(&result["structuredContent"], structured, "{revision}");
        assert!(result.get("isError").is_none(), "{result}");
    }
}

#[test]
fn a_stateless_client_gets_the_same_answer() {
    let hub = Hub::with("undo_milliseconds = 0\nwait_seconds = 1");
    let mut peer = hub.client("popup");
    let params = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments, "_meta": stateless_meta()});
    let listed = peer.call(1, "tools/list", json!({"_meta": stateless_meta()}))["result"].clone();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 3, "{listed}");
    // With a progress token it blocks and reports progress; the answer is the result.
    let mut asked = params("triggerPopup", example("Modern"));
    asked["_meta"]["progressToken"] = json!("p");
    peer.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked}));
    assert_eq!(peer.receive()["params"]["progressToken"], json!("p"));
    hub.user().choose(&User::wait_for_question(&hub.home, "Modern"), "yes");
    let result = loop {
        let message = peer.receive();
        if message["id"] == json!(2) {
            break message["result"].clone();
        }
    };
    assert_eq!(result["structuredContent"]["selectedValue"], json!("yes"), "{result}");
    assert_eq!(result["resultType"], json!("complete"), "{result}");
    // Without a token it gets a ticket, which it waits with, on this pipe and over HTTP.
    let schema = json!({"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]});
    let form = params("ask_form", json!({"title": "Form", "requestedSchema": schema}));
    let pending = peer.call(3, "tools/call", form)["result"]["structuredContent"].clone();
    assert_eq!(pending["status"], json!("pending"), "{pending}");
    let question = User::wait_for_question(&hub.home, "Form");
    let answer = json!([["why", {"text": "so"}]]);
    hub.user().act(
        json!({"answer": {"ticket": question["ticket"], "answer": answer, "note": null, "passphrase": null}}),
    );
    let reply = peer.call(4, "tools/call", params("await_answer", json!({"ticket": pending["ticket"]})));
    assert_eq!(reply["result"]["structuredContent"]["content"], json!({"why": "so"}), "{reply}");
    // A rejected argument is reported to the model; the raw method works with and without `_meta`.
    let fault = peer.call(5, "tools/call", params("triggerPopup", json!({"title": ""})))["result"].clone();
    assert_eq!((&fault["isError"], &fault["structuredContent"]["path"]), (&json!(true), &json!(["title"])));
    let mut raw = super::fixtures::request("raw", "Raw");
    raw["params"]["_meta"] = stateless_meta();
    peer.send(&raw);
    hub.user().choose(&User::wait_for_question(&hub.home, "Raw"), "no");
    assert_eq!(peer.receive()["result"]["selectedValue"], json!("no"));

    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "triggerPopup"),
    ];
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params("triggerPopup", example("Over HTTP"))});
    let (status, reply) = hub.post("/mcp", &headers, &call.to_string());
    assert_eq!(
        (status, &reply["result"]["structuredContent"]["status"]),
        (200, &json!("pending")),
        "{reply}"
    );
    hub.user().choose(&User::wait_for_question(&hub.home, "Over HTTP"), "yes");
    let (_, reply) = hub.post("/mcp", &headers, &call.to_string());
    assert_eq!(
        reply["result"]["structuredContent"]["selectedValue"],
        json!("yes"),
        "asking again gets the answer"
    );
}

#[test]
fn the_answer_to_a_form_follows_its_schema() {
    let hub = Hub::new();
    let mut peer = hub.client("all");
    peer.initialize("2025-11-25");
    let schema = json!({"type": "object", "required": ["colour", "count"], "properties": {
        "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "minItems": 1, "maxItems": 2},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "when": {"type": "string", "format": "date"},
        "sure": {"type": "boolean", "title": "Are you sure?"},
        "why": {"type": "string", "maxLength": 80},
        "one": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "maxItems": 1},
        "mail": {"type": "string", "format": "email"},
        "page": {"type": "string", "format": "uri"},
    }});
    start(&mut peer, 1, "ask_form", json!({"title": "Form", "requestedSchema": schema}));
    let question = User::wait_for_question(&hub.home, "Form");
    let fields = question["fields"].as_array().unwrap();
    assert_eq!(fields.len(), 9);
    assert_eq!((&fields[4]["label"], &fields[4]["required"]), (&json!("Are you sure?"), &json!(false)));
    let mut user = hub.user();
    let mut give = |answer: Value| {
        user.act(json!({"answer": {"ticket": question["ticket"], "answer": answer, "note": "be quick", "passphrase": null}}))
    };
    for (answer, field) in [
        (json!([["colour", {"choices": ["r"]}]]), "count"),
        (json!([["colour", {"choices": ["x"]}], ["count", {"number": 3.0}]]), "colour"),
        (json!([["colour", {"choices": ["r"]}], ["count", {"number": 10.0}]]), "count"),
        (json!([["colour", {"choices": ["r"]}], ["count", {"number": 1.5}]]), "count"),
        (
            json!([["colour", {"choices": ["r"]}], ["count", {"number": 3.0}], ["tags", {"choices": ["a", "b", "c"]}]]),
            "tags",
        ),
        (
            json!([["colour", {"choices": ["r"]}], ["count", {"number": 3.0}], ["when", {"date": "2026-02-30"}]]),
            "when",
        ),
        (
            json!([["colour", {"choices": ["r"]}], ["count", {"number": 3.0}], ["mail", {"text": "ann at home"}]]),
            "mail",
        ),
        (
            json!([["colour", {"choices": ["r"]}], ["count", {"number": 3.0}], ["page", {"text": "example.org"}]]),
            "page",
        ),
        (
            json!([["colour", {"choices": ["r"]}], ["count", {"number": 3.0}], ["more", {"text": "x"}]]),
            "more",
        ),
    ] {
        assert_eq!(give(answer.clone())["unfit"]["field"], json!(field), "{answer}");
    }
    let whole = json!([
        ["why", {"text": "because"}], ["sure", {"yes_no": true}], ["when", {"date": "2026-11-21"}],
        ["count", {"number": 3.0}], ["tags", {"choices": ["a", "c"]}], ["colour", {"choices": ["g"]}],
        ["one", {"choices": ["y"]}], ["mail", {"text": "ann@example.org"}], ["page", {"text": "https://example.org/a?b"}],
    ]);
    give(whole);
    let result = peer.receive()["result"]["structuredContent"].clone();
    let content = json!({
        "colour": "g", "tags": ["a", "c"], "count": 3, "when": "2026-11-21", "sure": true, "why": "because",
        "one": ["y"], "mail": "ann@example.org", "page": "https://example.org/a?b",
    });
    assert_eq!((&result["content"], &result["note"]), (&content, &json!("be quick")));
}

#[test]
fn a_client_that_cannot_wait_gets_a_ticket_and_later_the_answer() {
    let hub = Hub::with("undo_milliseconds = 0\nwait_seconds = 1");
    let mut peer = hub.client("all");
    peer.initialize("2025-11-25");
    let pending = tool(&mut peer, 1, "triggerPopup", example("First"))["structuredContent"].clone();
    assert_eq!(pending["status"], json!("pending"), "{pending}");
    let repeated = tool(&mut peer, 2, "triggerPopup", example("First"))["structuredContent"].clone();
    assert_eq!(repeated["ticket"], pending["ticket"], "the same question is joined");
    let waiting = json!({"ticket": pending["ticket"], "seconds": 60});
    start(&mut peer, 3, "await_answer", waiting.clone());
    let question = User::wait_for_question(&hub.home, "First");
    assert_eq!(User::pending(&hub.home).len(), 1);
    hub.user().choose(&question, "no");
    assert_eq!(peer.receive()["result"]["structuredContent"]["selectedValue"], json!("no"));
    assert_eq!(
        tool(&mut peer, 4, "await_answer", waiting)["structuredContent"]["selectedValue"],
        json!("no")
    );

    // This question is answered while no call waits, and its outcome comes with the next answer of any tool, once.
    let second = tool(&mut peer, 5, "triggerPopup", example("Second"))["structuredContent"].clone();
    let question = User::wait_for_question(&hub.home, "Second");
    hub.user().choose(&question, "yes");
    let other = tool(&mut peer, 6, "list_agents", json!({}));
    let result = &other["structuredContent"]["earlier_answers"][0];
    assert_eq!((&result["ticket"], &result["selectedValue"]), (&second["ticket"], &json!("yes")), "{other}");
    assert!(other["content"][1]["text"].as_str().unwrap().contains("Second"), "{other}");
    let quiet = tool(&mut peer, 7, "list_agents", json!({}));
    assert!(quiet["structuredContent"].get("earlier_answers").is_none(), "{quiet}");

    let strange = tool(&mut peer, 8, "await_answer", json!({"ticket": "q00000000000000000000"}));
    assert_eq!(strange["isError"], json!(true));
    let mut other_client = hub.client("all");
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "other", "version": "1"}});
    other_client.call(0, "initialize", params);
    let not_yours = tool(&mut other_client, 1, "await_answer", json!({"ticket": second["ticket"]}));
    assert_eq!(not_yours["isError"], json!(true), "another client's answer is not there for it");
}

#[test]
fn a_waiting_call_gets_progress_and_a_cancelled_one_keeps_its_question() {
    let hub = Hub::new();
    let mut peer = hub.client("popup");
    peer.initialize("2025-06-18");
    let params =
        json!({"name": "triggerPopup", "arguments": example("Long"), "_meta": {"progressToken": "p"}});
    peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let notified = peer.receive();
    assert_eq!(
        (&notified["method"], &notified["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("p"))
    );
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    let question = User::wait_for_question(&hub.home, "Long");
    hub.user().choose(&question, "yes");
    let repeated = tool(&mut peer, 2, "triggerPopup", example("Long"))["structuredContent"].clone();
    assert_eq!((&repeated["ticket"], &repeated["selectedValue"]), (&question["ticket"], &json!("yes")));
}

#[test]
fn a_client_with_the_tasks_extension_gets_a_protocol_task_for_a_question() {
    let hub = Hub::new();
    let mut peer = hub.client("all");
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let ask = |title: &str| json!({"name": "triggerPopup", "arguments": example(title), "_meta": meta});
    let created = peer.call(1, "tools/call", ask("Task"))["result"].clone();
    assert_eq!(
        (&created["resultType"], &created["status"]),
        (&json!("task"), &json!("working")),
        "{created}"
    );
    let about = json!({"taskId": created["taskId"], "_meta": meta});
    assert_eq!(peer.call(2, "tasks/get", about.clone())["result"]["status"], json!("working"));
    let question = User::wait_for_question(&hub.home, "Task");
    hub.user().choose(&question, "yes");
    let done = peer.call(3, "tasks/get", about)["result"].clone();
    assert_eq!(done["status"], json!("completed"));
    assert_eq!(done["result"]["structuredContent"]["selectedValue"], json!("yes"), "{done}");
    let second = peer.call(4, "tools/call", ask("Withdrawn"))["result"].clone();
    let about = json!({"taskId": second["taskId"], "_meta": meta});
    peer.call(5, "tasks/cancel", about.clone());
    assert_eq!(peer.call(6, "tasks/get", about)["result"]["status"], json!("cancelled"));
    assert!(User::pending(&hub.home).is_empty());
}

#[test]
fn an_away_user_is_not_asked_and_a_high_risk_answer_needs_the_passphrase() {
    let hub = Hub::new();
    let mut peer = hub.client("popup");
    peer.initialize("2025-11-25");
    let mut user = hub.user();
    assert_eq!(user.act_on_inbox(json!({"availability": {"away": {"until": null}}})), json!(null));
    let result = tool(&mut peer, 1, "triggerPopup", example("Away"))["structuredContent"].clone();
    assert_eq!(
        (&result["status"], &result["availability"]),
        (&json!("unavailable"), &json!("away")),
        "{result}"
    );
    assert_eq!(result["ask_again"], json!(false));
    let raw = peer.call(2, "triggerPopup", example("Away"));
    assert_eq!((&raw["error"]["code"], &raw["error"]["data"]["ask_again"]), (&json!(-32004), &json!(false)));
    user.act_on_inbox(json!({"availability": "here"}));

    let mut high = example("High");
    high["level"] = json!("high");
    start(&mut peer, 3, "triggerPopup", high);
    let question = User::wait_for_question(&hub.home, "High");
    let mut give = |passphrase: Value| {
        let answer = json!([["answer", {"choices": ["yes"]}]]);
        user.act(json!({"answer": {"ticket": question["ticket"], "answer": answer, "note": null, "passphrase": passphrase}}))
    };
    assert!(give(json!(null))["passphrase"]["reason"].as_str().unwrap().contains("adjutant passphrase"));
    let set = |current: Value, new: &str| {
        hub.user().act_on_inbox(json!({"set_passphrase": {"current": current, "new": new}}))
    };
    assert_eq!(set(json!(null), "correct horse"), json!(null));
    assert!(set(json!(null), "of an agent")["rejected"].is_object(), "the old one is asked for");
    assert!(give(json!(null)).get("passphrase").is_some());
    assert!(give(json!("battery staple")).get("passphrase").is_some());
    assert_eq!(User::pending(&hub.home).len(), 1);
    assert_eq!(give(json!("correct horse"))["decided"]["kind"], json!("answered"));
    assert_eq!(peer.receive()["result"]["structuredContent"]["selectedValue"], json!("yes"));
}

#[test]
fn each_outcome_without_an_answer_is_explained_in_words() {
    let hub = Hub::new();
    let mut peer = hub.client("popup");
    peer.initialize("2025-11-25");
    for (title, act, status, differently) in [
        ("Declined", "decline", "declined", false),
        ("Dismissed", "dismiss", "dismissed", false),
        ("Redirected", "redirect", "declined", true),
    ] {
        start(&mut peer, 1, "triggerPopup", example(title));
        let question = User::wait_for_question(&hub.home, title);
        hub.user().act(json!({act: {"ticket": question["ticket"], "note": "as a list"}}));
        let result = peer.receive()["result"]["structuredContent"].clone();
        assert_eq!(result["status"], json!(status), "{result}");
        assert_eq!(result["note"], json!("as a list"), "{result}");
        assert_eq!(result.get("ask_differently").is_some(), differently, "{result}");
        assert!(result.get("selectedValue").is_none());
    }
    let fault = tool(&mut peer, 2, "triggerPopup", json!({"title": "", "message": "x"}));
    assert_eq!(fault["structuredContent"]["path"], json!(["title"]), "{fault}");
    let fault = tool(&mut peer, 3, "triggerPopup", json!({"message": "x"}));
    assert_eq!(fault["structuredContent"]["validator"], json!("required"), "{fault}");
}
