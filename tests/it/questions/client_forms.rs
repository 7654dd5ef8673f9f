//! The client's own form as a channel, at every protocol version, only where the user wants it.

use serde_json::{Value, json};

use super::fixtures::{Hub, User, example};
use crate::support::{Peer, stateless_meta};

pub(super) const FORMS_ENABLED: &str = "undo_milliseconds = 0\nask_in_client = [\"test\"]";

pub(super) fn connect(hub: &Hub, revision: &str, capabilities: Value) -> Peer {
    let mut peer = hub.client("popup");
    let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": {"name": "Test", "version": "1"}});
    peer.call(0, "initialize", params);
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    peer
}

fn ask(peer: &mut Peer, id: i64, name: &str, arguments: Value) {
    let params = json!({"name": name, "arguments": arguments});
    peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
}

/// The next message, which must be a form.
pub(super) fn next_form(peer: &Peer) -> Value {
    let message = peer.receive();
    assert_eq!(message["method"], json!("elicitation/create"), "{message}");
    message
}

pub(super) fn reply_to_form(peer: &mut Peer, form: &Value, result: Value) {
    peer.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": result}));
}

#[test]
fn a_client_with_a_handshake_answers_in_its_form() {
    let hub = Hub::with(FORMS_ENABLED);
    for (revision, options) in [
        ("2025-06-18", json!({"type": "string", "enum": ["yes", "no"], "enumNames": ["Yes", "No"]})),
        (
            "2025-11-25",
            json!({"type": "string", "oneOf": [{"const": "yes", "title": "Yes"}, {"const": "no", "title": "No"}]}),
        ),
    ] {
        let mut peer = connect(&hub, revision, json!({"elicitation": {}}));
        ask(&mut peer, 1, "triggerPopup", example(&format!("In\u{202e} {revision}")));
        let form = next_form(&peer);
        let params = &form["params"];
        assert_eq!(params["requestedSchema"]["properties"], json!({"answer": options}), "{form}");
        assert_eq!(
            params["requestedSchema"]["required"],
            json!(["answer"]),
            "an empty accept is not an answer"
        );
        assert_eq!(params["message"], json!(format!("In⟨U+202E⟩ {revision}\n\nDeploy now?")), "{form}");
        assert_eq!(params.get("mode").is_some(), revision == "2025-11-25");
        reply_to_form(&mut peer, &form, json!({"action": "accept", "content": {"answer": "no"}}));
        let result = peer.receive()["result"]["structuredContent"].clone();
        assert_eq!(
            (&result["status"], &result["selectedValue"]),
            (&json!("answered"), &json!("no")),
            "{result}"
        );
        assert_eq!((&result["decided_by"], &result["through"]), (&json!("user"), &json!("client")));
        assert_eq!(result["seen_ms"], json!(0), "a form that was sent is not a question that was seen");
    }
    assert!(User::pending(&hub.home).is_empty());
}

#[test]
fn an_empty_accept_is_asked_again_and_a_closed_form_decides_nothing() {
    let hub = Hub::with(FORMS_ENABLED);
    let mut peer = connect(&hub, "2025-11-25", json!({"elicitation": {"form": {}}}));
    ask(&mut peer, 1, "triggerPopup", example("Empty"));
    for content in [json!({}), json!({"answer": "perhaps"}), json!({"answer": 5})] {
        let form = next_form(&peer);
        reply_to_form(&mut peer, &form, json!({"action": "accept", "content": content}));
    }
    // After three times the form is left to the other channels.
    let question = User::wait_for_question(&hub.home, "Empty");
    hub.user().choose(&question, "yes");
    assert_eq!(peer.receive()["result"]["structuredContent"]["through"], json!("terminal"));

    ask(&mut peer, 2, "triggerPopup", example("Closed"));
    let closed = next_form(&peer);
    reply_to_form(&mut peer, &closed, json!({"action": "cancel"}));
    let question = User::wait_for_question(&hub.home, "Closed");
    // An error, or an answer from a client that shows nothing, is not a decision either.
    hub.user().choose(&question, "no");
    assert_eq!(peer.receive()["result"]["structuredContent"]["selectedValue"], json!("no"));

    ask(&mut peer, 3, "triggerPopup", example("Unknown"));
    let unknown = next_form(&peer);
    peer.send(&json!({"jsonrpc": "2.0", "id": unknown["id"], "error": {"code": -32601, "message": "no forms here"}}));
    let question = User::wait_for_question(&hub.home, "Unknown");
    hub.user().choose(&question, "yes");
    assert_eq!(peer.receive()["result"]["structuredContent"]["selectedValue"], json!("yes"));

    ask(&mut peer, 4, "triggerPopup", example("Declined"));
    let declined = next_form(&peer);
    reply_to_form(&mut peer, &declined, json!({"action": "decline"}));
    assert_eq!(peer.receive()["result"]["structuredContent"]["status"], json!("declined"));

    // This form has no required field, so a choice is added: accepting an empty form decides nothing.
    let schema = json!({"type": "object", "properties": {"why": {"type": "string"}, "mail": {"type": "string", "format": "email"}}});
    ask(&mut peer, 5, "ask_form", json!({"title": "Optional", "requestedSchema": schema}));
    let optional = next_form(&peer);
    let required = &optional["params"]["requestedSchema"]["required"];
    assert_eq!(required, &json!(["adjutant_confirm"]), "{optional}");
    let mail = &optional["params"]["requestedSchema"]["properties"]["mail"];
    assert_eq!(mail["format"], json!("email"), "the client can check it too: {mail}");
    reply_to_form(&mut peer, &optional, json!({"action": "accept", "content": {}}));
    let repeated = next_form(&peer);
    assert!(
        repeated["params"]["message"].as_str().unwrap().starts_with("The form was returned without"),
        "{repeated}"
    );
    reply_to_form(
        &mut peer,
        &repeated,
        json!({"action": "accept", "content": {"adjutant_confirm": "send", "why": "so"}}),
    );
    assert_eq!(peer.receive()["result"]["structuredContent"]["content"], json!({"why": "so"}));
}

/// The fields of a form that also takes free text, and replies to it with their meaning.
fn form_with_free_text(revision: &str) -> (Value, Value) {
    let other = ("adjutant_other", "Something else, as written below");
    let answer = if revision == "2025-06-18" {
        json!({"type": "string", "enum": ["yes", "no", other.0], "enumNames": ["Yes", "No", other.1]})
    } else {
        json!({"type": "string", "oneOf": [
            {"const": "yes", "title": "Yes"}, {"const": "no", "title": "No"}, {"const": other.0, "title": other.1},
        ]})
    };
    let words = json!({"type": "string", "title": "Something else", "maxLength": 20000});
    let properties = json!({"answer": answer, "answer_other": words});
    let reply = json!([
        // Option and text, text only, option only, both: the option counts, and the text becomes the note.
        [{"answer": "adjutant_other", "answer_other": " on Monday "}, "on Monday", null],
        [{"answer_other": "on Monday"}, "on Monday", null],
        [{"answer": "no", "answer_other": ""}, "no", null],
        [{"answer": "no", "answer_other": "not before Monday"}, "no", "not before Monday"],
    ]);
    (properties, reply)
}

#[test]
fn a_clients_form_takes_free_text_at_every_protocol_version() {
    let hub = Hub::with(FORMS_ENABLED);
    let asks = |title: &str| {
        let mut asks = example(title);
        asks["allow_other"] = json!(true);
        asks
    };
    let text = |answer: &Value, of: &Value| {
        assert_eq!((&answer["selectedValue"], &answer["note"]), (&of[1], &of[2]), "{answer}");
        assert_eq!(answer["through"], json!("client"));
    };
    for revision in ["2025-06-18", "2025-11-25"] {
        let (properties, answer) = form_with_free_text(revision);
        let mut peer = connect(&hub, revision, json!({"elicitation": {}}));
        for (id, of) in answer.as_array().unwrap().iter().enumerate() {
            ask(&mut peer, i64::try_from(id).unwrap() + 1, "triggerPopup", asks(&format!("{revision} {id}")));
            let mut form = next_form(&peer);
            assert_eq!(form["params"]["requestedSchema"]["properties"], properties, "{form}");
            assert_eq!(form["params"]["requestedSchema"]["required"], json!(["answer"]));
            if id == 0 {
                // Choosing free text without a text is not an answer.
                let empty = json!({"answer": "adjutant_other", "answer_other": "  "});
                reply_to_form(&mut peer, &form, json!({"action": "accept", "content": empty}));
                form = self::next_form(&peer);
            }
            reply_to_form(&mut peer, &form, json!({"action": "accept", "content": of[0]}));
            text(&peer.receive()["result"]["structuredContent"], of);
        }
    }
    let (properties, answer) = form_with_free_text("2026-07-28");
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    let mut peer = hub.client("popup");
    for (id, of) in answer.as_array().unwrap().iter().enumerate() {
        let id = i64::try_from(id).unwrap() * 2 + 1;
        let mut call =
            json!({"name": "triggerPopup", "arguments": asks(&format!("Stateless {id}")), "_meta": meta});
        let needs = peer.call(id, "tools/call", call.clone())["result"].clone();
        let form = &needs["inputRequests"]["answer-1"]["params"]["requestedSchema"];
        assert_eq!(form["properties"], properties, "{needs}");
        call["requestState"] = needs["requestState"].clone();
        call["inputResponses"] = json!({"answer-1": {"action": "accept", "content": of[0]}});
        text(&peer.call(id + 1, "tools/call", call)["result"]["structuredContent"], of);
    }
}

#[test]
fn no_name_or_value_of_a_question_collides_with_the_forms_own() {
    let hub = Hub::with(FORMS_ENABLED);
    let mut peer = connect(&hub, "2025-11-25", json!({"elicitation": {}}));
    let schema = json!({"type": "object", "required": ["day"], "properties": {
        "day": {"type": "string", "title": "Day", "enum": ["adjutant_other", "friday"], "allow_other": true},
        "day_other": {"type": "string"},
    }});
    let content = |day: &str| json!({"day": day, "day_other": "their own", "day_other_": "never"});
    for (id, chosen, answered, note) in [
        (
            1,
            "adjutant_other",
            json!({"day": "adjutant_other", "day_other": "their own"}),
            json!("Day: never"),
        ),
        (2, "adjutant_other_", json!({"day": "never", "day_other": "their own"}), Value::Null),
    ] {
        ask(&mut peer, id, "ask_form", json!({"title": format!("Names {id}"), "requestedSchema": schema}));
        let form = next_form(&peer);
        let options = &form["params"]["requestedSchema"]["properties"]["day"]["oneOf"];
        assert_eq!(options[2]["const"], json!("adjutant_other_"), "{form}");
        reply_to_form(&mut peer, &form, json!({"action": "accept", "content": content(chosen)}));
        let result = peer.receive()["result"]["structuredContent"].clone();
        assert_eq!((&result["content"], &result["note"]), (&answered, &note), "{result}");
    }
}

#[test]
fn a_question_that_does_not_fit_a_clients_form_says_so_elsewhere() {
    let hub = Hub::with(FORMS_ENABLED);
    let several = json!({"type": "object", "required": ["parts"], "properties": {
        "parts": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1},
    }});
    for (revision, asked_there) in [("2025-06-18", false), ("2025-11-25", true)] {
        let mut peer = connect(&hub, revision, json!({"elicitation": {}}));
        ask(&mut peer, 1, "ask_form", json!({"title": revision, "requestedSchema": several}));
        let question = User::wait_for_question(&hub.home, revision);
        if asked_there {
            next_form(&peer);
        }
        let page = || hub.serving.page(&format!("/questions/{}", question["ticket"].as_str().unwrap()));
        let says_so = "The client&#x27;s own forms cannot ask this, so it is asked here";
        if asked_there {
            assert!(!page().contains(says_so), "{}", page());
        } else {
            let end = std::time::Instant::now() + crate::support::DEADLINE;
            while !page().contains(says_so) {
                assert!(std::time::Instant::now() < end, "{}", page());
            }
            assert_eq!(page().matches(says_so).count(), 1, "once is enough");
        }
    }
}

#[test]
fn the_first_answer_wins_and_the_clients_form_is_withdrawn() {
    let hub = Hub::with("undo_milliseconds = 60000\nask_in_client = [\"*\"]");
    let mut peer = connect(&hub, "2025-11-25", json!({"elicitation": {}}));
    ask(&mut peer, 1, "triggerPopup", example("Race"));
    let first = next_form(&peer);
    let question = User::wait_for_question(&hub.home, "Race");
    let ticket = json!({"ticket": question["ticket"]});
    hub.user().choose(&question, "yes");
    let withdrawn = peer.receive();
    assert_eq!(withdrawn["method"], json!("notifications/cancelled"), "{withdrawn}");
    assert_eq!(withdrawn["params"]["requestId"], first["id"]);
    // After an undo the form is shown again; a late reply to the earlier form changes nothing.
    hub.user().act(json!({"undo": ticket}));
    let second = next_form(&peer);
    reply_to_form(&mut peer, &first, json!({"action": "accept", "content": {"answer": "no"}}));
    hub.user().act(json!({"snooze": {"ticket": question["ticket"], "minutes": 5}}));
    let put_off = peer.receive();
    assert_eq!(
        put_off["params"]["requestId"], second["id"],
        "what is put off is put off there too: {put_off}"
    );
    assert_eq!(User::pending(&hub.home).len(), 1, "nothing is decided");
    // A cancelled call withdraws its form too.
    ask(&mut peer, 2, "triggerPopup", example("Taken back"));
    let third = next_form(&peer);
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    assert_eq!(peer.receive()["params"]["requestId"], third["id"]);
}

#[test]
fn a_client_shows_forms_only_when_configured_and_never_for_high_risk() {
    let declared = json!({"elicitation": {}});
    let answered = |hub: &Hub, peer: &mut Peer, arguments: Value| {
        let title = arguments["title"].as_str().unwrap().to_owned();
        ask(peer, 1, "triggerPopup", arguments);
        let question = User::wait_for_question(&hub.home, &title);
        hub.user().act(json!({"decline": {"ticket": question["ticket"], "note": null}}));
        // The first message is the answer: no form came before it.
        assert_eq!(peer.receive()["result"]["structuredContent"]["status"], json!("declined"));
    };
    let plain = Hub::new();
    answered(&plain, &mut connect(&plain, "2025-11-25", declared.clone()), example("Not configured"));
    let hub = Hub::with(FORMS_ENABLED);
    answered(&hub, &mut connect(&hub, "2025-11-25", json!({})), example("Not declared"));
    // This protocol version has no links.
    answered(
        &hub,
        &mut connect(&hub, "2025-06-18", json!({"elicitation": {"url": {}}})),
        example("Links alone"),
    );
    let mut high = example("High");
    high["level"] = json!("high");
    answered(&hub, &mut connect(&hub, "2025-11-25", declared.clone()), high.clone());
    // The contract's protocol version has no requests to a client.
    let mut old = connect(&hub, "2024-11-05", declared);
    old.send(&super::fixtures::request("raw", "Contract"));
    let question = User::wait_for_question(&hub.home, "Contract");
    hub.user().choose(&question, "yes");
    assert_eq!(old.receive()["result"], json!({"selectedValue": "yes"}));

    // Stateless: an unsolicited reply is never an answer.
    let mut modern = hub.client("popup");
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let call = |arguments: &Value| json!({"name": "triggerPopup", "arguments": arguments, "_meta": meta});
    high["title"] = json!("High and stateless");
    let task = modern.call(1, "tools/call", call(&high))["result"]["taskId"].clone();
    let about = json!({"taskId": task, "_meta": meta});
    assert_eq!(modern.call(2, "tasks/get", about)["result"]["status"], json!("working"));
    let yes = json!({"answer-1": {"action": "accept", "content": {"answer": "yes"}}});
    modern.call(3, "tasks/update", json!({"taskId": task, "inputResponses": yes, "_meta": meta}));
    let mut forged = call(&high);
    forged["requestState"] = task.clone();
    forged["inputResponses"] = yes;
    modern.send(&json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": forged}));
    modern.call(5, "tools/list", json!({"_meta": meta}));
    assert_eq!(User::pending(&hub.home).len(), 1, "it waits for the passphrase");
}

#[test]
fn a_stateless_client_gets_the_form_in_its_answer() {
    let hub = Hub::with(FORMS_ENABLED);
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    let call = |title: &str, state: &Value, responses: Value| {
        let mut params = json!({"name": "triggerPopup", "arguments": example(title), "_meta": meta});
        if !state.is_null() {
            params["requestState"] = state.clone();
            params["inputResponses"] = responses;
        }
        params
    };
    let mut peer = hub.client("popup");
    let needs = peer.call(1, "tools/call", call("Rounds", &json!(null), json!({})))["result"].clone();
    assert_eq!(needs["resultType"], json!("input_required"), "{needs}");
    let form = &needs["inputRequests"]["answer-1"];
    assert_eq!(form["method"], json!("elicitation/create"), "{needs}");
    assert_eq!(form["params"]["requestedSchema"]["required"], json!(["answer"]));
    let state = &needs["requestState"];
    // The state of another question, of another client, and a forged one.
    let yes = json!({"answer-1": {"action": "accept", "content": {"answer": "yes"}}});
    let foreign = peer.call(2, "tools/call", call("Another", state, yes.clone()));
    assert_eq!(foreign["error"]["code"], json!(-32602), "{foreign}");
    let question = User::wait_for_question(&hub.home, "Rounds");
    let sealed = state.as_str().unwrap();
    let mut changed = sealed.to_owned();
    changed.replace_range(sealed.len() - 2.., if sealed.ends_with("AA") { "BB" } else { "AA" });
    for forged in [json!("q00000000000000000000"), question["ticket"].clone(), json!(changed), json!("")] {
        let forged = peer.call(3, "tools/call", call("Rounds", &forged, yes.clone()));
        assert_eq!(forged["error"]["code"], json!(-32602), "{forged}");
        assert_eq!(forged["error"]["data"]["path"], json!(["requestState"]), "{forged}");
        let answer = forged["error"]["message"].as_str().unwrap();
        assert!(answer.contains("call again without it"), "{forged}");
    }
    // The seal includes the tool, and not the order of members.
    let mut other = call("Rounds", state, yes.clone());
    other["name"] = json!("ask_form");
    other["arguments"]["requestedSchema"] =
        json!({"type": "object", "properties": {"answer": {"type": "string"}}});
    let other = peer.call(3, "tools/call", other);
    assert_eq!(other["error"]["code"], json!(-32602), "{other}");
    let mut other_client = call("Rounds", state, yes.clone());
    other_client["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!("testament");
    let other_client = hub.client("popup").call(1, "tools/call", other_client);
    assert_eq!(other_client["error"]["code"], json!(-32602), "{other_client}");

    let empty = json!({"answer-1": {"action": "accept", "content": {}}});
    let mut turned = call("Rounds", state, empty.clone());
    let arguments = turned["arguments"].as_object().unwrap().clone();
    turned["arguments"] = Value::Object(arguments.into_iter().rev().collect());
    let repeated = peer.call(4, "tools/call", turned)["result"].clone();
    assert!(repeated["inputRequests"]["answer-2"].is_object(), "{repeated}");
    let replayed = peer.call(5, "tools/call", call("Rounds", state, empty))["result"].clone();
    assert!(replayed["inputRequests"]["answer-2"].is_object(), "what answers the form before is left out");
    let yes = json!({"answer-2": {"action": "accept", "content": {"answer": "yes"}}});
    let done = peer.call(6, "tools/call", call("Rounds", state, yes.clone()))["result"].clone();
    assert_eq!(done["structuredContent"]["selectedValue"], json!("yes"), "{done}");
    assert_eq!(done["structuredContent"]["through"], json!("client"));
    let replayed = peer.call(7, "tools/call", call("Rounds", state, yes))["result"].clone();
    assert_eq!(
        replayed["structuredContent"], done["structuredContent"],
        "one decision, however often it is sent"
    );

    // Another channel answers before the form.
    let needs = peer.call(8, "tools/call", call("Slow", &json!(null), json!({})))["result"].clone();
    let question = User::wait_for_question(&hub.home, "Slow");
    hub.user().choose(&question, "no");
    let late = json!({"answer-1": {"action": "accept", "content": {"answer": "yes"}}});
    let answer = peer.call(9, "tools/call", call("Slow", &needs["requestState"], late))["result"].clone();
    assert_eq!(answer["structuredContent"]["selectedValue"], json!("no"), "{answer}");
    assert_eq!(answer["structuredContent"]["through"], json!("terminal"));
}

/// A question outlives its hub, and so does the client's state for it.
#[test]
fn a_sealed_state_stays_valid_after_the_hub_was_killed() {
    let mut hub = Hub::with(FORMS_ENABLED);
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    let mut call = json!({"name": "triggerPopup", "arguments": example("Killed"), "_meta": meta});
    let needs = hub.client("popup").call(1, "tools/call", call.clone())["result"].clone();
    hub.kill_and_restart();
    call["requestState"] = needs["requestState"].clone();
    call["inputResponses"] = json!({"answer-1": {"action": "accept", "content": {"answer": "yes"}}});
    let done = hub.client("popup").call(1, "tools/call", call)["result"].clone();
    assert_eq!(done["structuredContent"]["selectedValue"], json!("yes"), "{done}");
}

#[test]
fn a_task_shows_a_form_to_its_client() {
    let hub = Hub::with(FORMS_ENABLED);
    let mut peer = hub.client("popup");
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let ask = |title: &str| json!({"name": "triggerPopup", "arguments": example(title), "_meta": meta});
    let task = peer.call(1, "tools/call", ask("Task"))["result"]["taskId"].clone();
    let about = json!({"taskId": task, "_meta": meta});
    let asked = peer.call(2, "tasks/get", about.clone())["result"].clone();
    assert_eq!(asked["status"], json!("input_required"), "{asked}");
    assert!(asked["inputRequests"]["answer-1"].is_object(), "{asked}");
    let mut text = about.clone();
    text["inputResponses"] = json!({"answer-1": {"action": "accept", "content": {"answer": "yes"}}});
    assert!(peer.call(3, "tasks/update", text)["error"].is_null());
    let done = peer.call(4, "tasks/get", about)["result"].clone();
    assert_eq!(done["result"]["structuredContent"]["through"], json!("client"), "{done}");

    // A form closed there waits for the other channels; a form answered there reaches the client by polling.
    let task = peer.call(5, "tools/call", ask("Second"))["result"]["taskId"].clone();
    let about = json!({"taskId": task, "_meta": meta});
    let mut text = about.clone();
    text["inputResponses"] = json!({"answer-1": {"action": "cancel"}});
    peer.call(6, "tasks/update", text);
    assert_eq!(peer.call(7, "tasks/get", about.clone())["result"]["status"], json!("working"));
    let question = User::wait_for_question(&hub.home, "Second");
    hub.user().choose(&question, "no");
    let done = peer.call(8, "tasks/get", about)["result"].clone();
    assert_eq!(done["result"]["structuredContent"]["selectedValue"], json!("no"), "{done}");
}

#[test]
fn a_form_over_http_comes_on_the_stream_of_its_call() {
    let hub = Hub::with(FORMS_ENABLED);
    let session = hub.session("2025-11-25", &json!({"elicitation": {}}));
    let headers = [("mcp-session-id", session.as_str()), ("accept", "application/json, text/event-stream")];
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(hub.post("/mcp", &headers, &ready.to_string()).0, 202);
    let mut session_events = hub.events("/mcp", &headers[..1]);
    for (title, here) in [("Here", true), ("Elsewhere", false)] {
        let call = json!({"jsonrpc": "2.0", "id": title, "method": "tools/call", "params": {"name": "triggerPopup", "arguments": example(title)}});
        let mut events = hub.stream(&session, &call.to_string());
        let form = events.next().1;
        assert_eq!(form["method"], json!("elicitation/create"), "{form}");
        if here {
            let result = json!({"action": "accept", "content": {"answer": "yes"}});
            let reply = json!({"jsonrpc": "2.0", "id": form["id"], "result": result});
            assert_eq!(hub.post("/mcp", &headers, &reply.to_string()).0, 202);
        } else {
            let question = User::wait_for_question(&hub.home, title);
            hub.user().choose(&question, "no");
            let withdrawn = session_events.next().1;
            assert_eq!(withdrawn["params"]["requestId"], form["id"], "{withdrawn}");
        }
        let report = events.next().1["result"]["structuredContent"].clone();
        assert_eq!(report["through"], json!(if here { "client" } else { "terminal" }), "{report}");
    }
}
