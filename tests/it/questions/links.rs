//! Links to a question's page (MCP's elicitation in URL mode): for what no form may answer, without a way in for
//! anybody, and without a word about the answer.

use serde_json::{Value, json};

use super::client_forms::{WANTED, connect, form, reply};
use super::user_acts::{Hub, Person, example};
use crate::support::{Peer, modern_meta};

const PASSPHRASE: &str = "correct horse";

fn hub() -> Hub {
    let hub = Hub::with(WANTED);
    let set = json!({"set_passphrase": {"current": null, "new": PASSPHRASE}});
    assert_eq!(hub.person().desk(set).get("rejected"), None);
    hub
}

fn high(title: &str) -> Value {
    let mut arguments = example(title);
    arguments["level"] = json!("high");
    arguments
}

/// Calls as a client that waits for as long as it takes.
fn ask(peer: &mut Peer, id: i64, arguments: &Value) {
    let params = json!({"name": "triggerPopup", "arguments": arguments, "_meta": {"progressToken": id}});
    peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
}

/// The next message that is not about progress.
fn next(peer: &Peer) -> Value {
    loop {
        let message = peer.receive();
        if message["method"] != json!("notifications/progress") {
            return message;
        }
    }
}

fn answer_with_passphrase(hub: &Hub, question: &Value) {
    let answer = json!([["answer", {"choices": ["yes"]}]]);
    hub.person().act(json!({"answer": {
        "ticket": question["ticket"], "answer": answer, "note": null, "passphrase": PASSPHRASE,
    }}));
}

/// Reads an answer and the word that a link is done with, whichever comes first.
fn answer_and_end(peer: &Peer) -> (Value, Value) {
    let (one, other) = (next(peer), next(peer));
    let (answer, end) = if one.get("id").is_some() { (one, other) } else { (other, one) };
    assert_eq!(end["method"], json!("notifications/elicitation/complete"), "{end}");
    (answer, end["params"]["elicitationId"].clone())
}

#[test]
fn a_high_risk_question_becomes_a_link_that_logs_nobody_in() {
    let hub = hub();
    let mut peer = connect(&hub, "2025-11-25", json!({"elicitation": {"form": {}, "url": {}}}));
    ask(&mut peer, 1, &high("Hi\u{202e}gh"));
    let link = form(&peer);
    let params = link["params"].clone();
    let question = Person::waits_for(&hub.home, "Hi\u{202e}gh");
    let ticket = question["ticket"].as_str().unwrap();
    assert_eq!(params["mode"], json!("url"), "{link}");
    assert_eq!(
        params["url"],
        json!(hub.serving.url(&format!("/questions/{ticket}"))),
        "no secret stands in it"
    );
    let message = params["message"].as_str().unwrap();
    assert!(message.starts_with("Hi⟨U+202E⟩gh\n\nDeploy now?"), "{message}");
    assert!(params.get("requestedSchema").is_none(), "{link}");

    // To follow it decides nothing, whatever else the client says with that.
    reply(&mut peer, &link, json!({"action": "accept", "content": {"answer": "yes"}}));
    ask(&mut peer, 2, &json!("nonsense"));
    assert_eq!(next(&peer)["id"], json!(2), "it was read, and nothing is asked again");
    assert_eq!(Person::pending(&hub.home).len(), 1, "it waits for the passphrase");
    answer_with_passphrase(&hub, &question);
    let (answer, end) = answer_and_end(&peer);
    assert_eq!(end, params["elicitationId"]);
    let told = &answer["result"]["structuredContent"];
    assert_eq!((&told["selectedValue"], &told["through"]), (&json!("yes"), &json!("terminal")), "{answer}");
}

#[test]
fn a_link_that_is_not_followed_decides_nothing() {
    let hub = hub();
    // A client without forms gets links for everything.
    let mut peer = connect(&hub, "2025-11-25", json!({"elicitation": {"url": {}}}));
    let results = [json!({"action": "decline"}), json!({"action": "cancel"}), json!({}), json!("accept")];
    for (id, result) in (1..).zip(results) {
        let title = format!("Not followed {id}");
        ask(&mut peer, id, &example(&title));
        let link = form(&peer);
        assert_eq!(link["params"]["mode"], json!("url"), "{link}");
        reply(&mut peer, &link, result);
        let question = Person::waits_for(&hub.home, &title);
        hub.person().choose(&question, "no");
        let (answer, end) = answer_and_end(&peer);
        assert_eq!(end, link["params"]["elicitationId"]);
        assert_eq!(answer["result"]["structuredContent"]["selectedValue"], json!("no"), "{answer}");
    }
    // Answered elsewhere while the link is shown: it is taken away there.
    ask(&mut peer, 9, &example("Elsewhere"));
    let link = form(&peer);
    let question = Person::waits_for(&hub.home, "Elsewhere");
    hub.person().choose(&question, "yes");
    let mut told = [next(&peer), next(&peer), next(&peer)];
    told.sort_by_key(|message| message["method"].to_string());
    assert_eq!(told[0]["params"]["requestId"], link["id"], "{told:?}");
    assert_eq!(told[1]["params"]["elicitationId"], link["params"]["elicitationId"], "{told:?}");
    assert_eq!(told[2]["id"], json!(9), "{told:?}");
}

#[test]
fn a_client_that_cannot_wait_gets_the_link_as_an_error() {
    let hub = hub();
    let mut peer = connect(&hub, "2025-11-25", json!({"elicitation": {"form": {}, "url": {}}}));
    let params = json!({"name": "triggerPopup", "arguments": high("First")});
    let refused = peer.call(1, "tools/call", params.clone());
    assert_eq!(refused["error"]["code"], json!(-32042), "{refused}");
    let links = refused["error"]["data"]["elicitations"].as_array().unwrap();
    assert_eq!(links.len(), 1, "{refused}");
    let question = Person::waits_for(&hub.home, "First");
    let ticket = question["ticket"].as_str().unwrap();
    assert_eq!(links[0]["mode"], json!("url"), "{refused}");
    assert_eq!(links[0]["url"], json!(hub.serving.url(&format!("/questions/{ticket}"))));
    assert!(refused["error"]["message"].as_str().unwrap().contains(ticket), "{refused}");
    answer_with_passphrase(&hub, &question);
    let end = next(&peer);
    assert_eq!(end["method"], json!("notifications/elicitation/complete"), "{end}");
    assert_eq!(end["params"]["elicitationId"], links[0]["elicitationId"]);
    let told = peer.call(2, "tools/call", params)["result"]["structuredContent"].clone();
    assert_eq!(told["selectedValue"], json!("yes"), "who asks the same again has the answer: {told}");

    // What a form can ask is no error.
    let params = json!({"name": "triggerPopup", "arguments": example("A form will do")});
    peer.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}));
    assert_eq!(form(&peer)["params"]["mode"], json!("form"));
}

#[test]
fn a_stateless_client_gets_the_link_in_its_answer() {
    let hub = hub();
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}, "url": {}}});
    meta["progressToken"] = json!("p");
    let call = json!({"name": "triggerPopup", "arguments": high("Stateless"), "_meta": meta});
    let mut peer = hub.client("popup");
    let needs = peer.call(1, "tools/call", call.clone())["result"].clone();
    assert_eq!(needs["resultType"], json!("input_required"), "{needs}");
    let question = Person::waits_for(&hub.home, "Stateless");
    let link = &needs["inputRequests"]["page"];
    assert_eq!(link["params"]["mode"], json!("url"), "{needs}");
    let page = format!("/questions/{}", question["ticket"].as_str().unwrap());
    assert_eq!(link["params"]["url"], json!(hub.serving.url(&page)), "{needs}");
    let mut again = call.clone();
    again["requestState"] = needs["requestState"].clone();
    again["inputResponses"] = json!({"page": {"action": "accept", "content": {"answer": "yes"}}});
    peer.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": again}));
    // It waits now, for the person's word on the page.
    assert_eq!(peer.receive()["method"], json!("notifications/progress"));
    assert_eq!(Person::pending(&hub.home).len(), 1);
    answer_with_passphrase(&hub, &question);
    let told = next(&peer)["result"]["structuredContent"].clone();
    assert_eq!((&told["selectedValue"], &told["through"]), (&json!("yes"), &json!("terminal")), "{told}");
}

#[test]
fn a_link_needs_the_setting_and_a_client_that_takes_links() {
    let declared = json!({"elicitation": {"url": {}}});
    // Not listed.
    let plain = Hub::new();
    let mut peer = connect(&plain, "2025-11-25", declared);
    ask(&mut peer, 1, &example("Not listed"));
    let question = Person::waits_for(&plain.home, "Not listed");
    plain.person().choose(&question, "yes");
    assert_eq!(next(&peer)["result"]["structuredContent"]["selectedValue"], json!("yes"));
    // A client that has forms alone is not given a link in a form's place.
    let hub = hub();
    let mut peer = connect(&hub, "2025-11-25", json!({"elicitation": {"form": {}}}));
    ask(&mut peer, 1, &high("Forms alone"));
    let question = Person::waits_for(&hub.home, "Forms alone");
    answer_with_passphrase(&hub, &question);
    assert_eq!(next(&peer)["result"]["structuredContent"]["selectedValue"], json!("yes"));
}
