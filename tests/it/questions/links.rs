//! Links to a question's page (MCP's elicitation in URL mode), for questions that no form may answer. A link logs
//! nobody in and contains nothing of the answer.

use serde_json::{Value, json};

use super::client_forms::{FORMS_ENABLED, connect, next_form, reply_to_form};
use super::fixtures::{Hub, User, example};
use crate::support::{Peer, stateless_meta};

const PASSPHRASE: &str = "correct horse";

fn hub() -> Hub {
    let hub = Hub::with(FORMS_ENABLED);
    let set = json!({"set_passphrase": {"current": null, "new": PASSPHRASE}});
    assert_eq!(hub.user().act_on_inbox(set).get("rejected"), None);
    hub
}

fn high_risk_question(title: &str) -> Value {
    let mut arguments = example(title);
    arguments["level"] = json!("high");
    arguments
}

/// Calls as a client that waits without a limit.
fn ask(peer: &mut Peer, id: i64, arguments: &Value) {
    let params = json!({"name": "triggerPopup", "arguments": arguments, "_meta": {"progressToken": id}});
    peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
}

/// The next message that is not about progress.
fn next_message(peer: &Peer) -> Value {
    loop {
        let message = peer.receive();
        if message["method"] != json!("notifications/progress") {
            return message;
        }
    }
}

fn answer_with_passphrase(hub: &Hub, question: &Value) {
    let answer = json!([["answer", {"choices": ["yes"]}]]);
    hub.user().act(json!({"answer": {
        "ticket": question["ticket"], "answer": answer, "note": null, "passphrase": PASSPHRASE,
    }}));
}

/// Reads an answer and the completion of its link, in either order.
fn answer_and_end(peer: &Peer) -> (Value, Value) {
    let (item, other) = (next_message(peer), next_message(peer));
    let (answer, end) = if item.get("id").is_some() { (item, other) } else { (other, item) };
    assert_eq!(end["method"], json!("notifications/elicitation/complete"), "{end}");
    (answer, end["params"]["elicitationId"].clone())
}

#[test]
fn a_high_risk_question_becomes_a_link_that_logs_nobody_in() {
    let hub = hub();
    let mut peer = connect(&hub, "2025-11-25", json!({"elicitation": {"form": {}, "url": {}}}));
    ask(&mut peer, 1, &high_risk_question("Hi\u{202e}gh"));
    let link = next_form(&peer);
    let params = link["params"].clone();
    let question = User::wait_for_question(&hub.home, "Hi\u{202e}gh");
    let ticket = question["ticket"].as_str().unwrap();
    assert_eq!(params["mode"], json!("url"), "{link}");
    assert_eq!(
        params["url"],
        json!(hub.serving.url(&format!("/questions/{ticket}"))),
        "it contains no secret"
    );
    let message = params["message"].as_str().unwrap();
    assert!(message.starts_with("Hi⟨U+202E⟩gh\n\nDeploy now?"), "{message}");
    assert!(params.get("requestedSchema").is_none(), "{link}");

    // Following the link decides nothing, for any other values of the client.
    reply_to_form(&mut peer, &link, json!({"action": "accept", "content": {"answer": "yes"}}));
    ask(&mut peer, 2, &json!("nonsense"));
    assert_eq!(next_message(&peer)["id"], json!(2), "it was read, and nothing is asked again");
    assert_eq!(User::pending(&hub.home).len(), 1, "it waits for the passphrase");
    answer_with_passphrase(&hub, &question);
    let (answer, end) = answer_and_end(&peer);
    assert_eq!(end, params["elicitationId"]);
    let result = &answer["result"]["structuredContent"];
    assert_eq!(
        (&result["selectedValue"], &result["through"]),
        (&json!("yes"), &json!("terminal")),
        "{answer}"
    );
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
        let link = next_form(&peer);
        assert_eq!(link["params"]["mode"], json!("url"), "{link}");
        reply_to_form(&mut peer, &link, result);
        let question = User::wait_for_question(&hub.home, &title);
        hub.user().choose(&question, "no");
        let (answer, end) = answer_and_end(&peer);
        assert_eq!(end, link["params"]["elicitationId"]);
        assert_eq!(answer["result"]["structuredContent"]["selectedValue"], json!("no"), "{answer}");
    }
    // Answered in another channel while the link is shown: the link is withdrawn.
    ask(&mut peer, 9, &example("Elsewhere"));
    let link = next_form(&peer);
    let question = User::wait_for_question(&hub.home, "Elsewhere");
    hub.user().choose(&question, "yes");
    let mut notified = [next_message(&peer), next_message(&peer), next_message(&peer)];
    notified.sort_by_key(|message| message["method"].to_string());
    assert_eq!(notified[0]["params"]["requestId"], link["id"], "{notified:?}");
    assert_eq!(notified[1]["params"]["elicitationId"], link["params"]["elicitationId"], "{notified:?}");
    assert_eq!(notified[2]["id"], json!(9), "{notified:?}");
}

#[test]
fn a_client_that_cannot_wait_gets_the_link_as_an_error() {
    let hub = hub();
    let mut peer = connect(&hub, "2025-11-25", json!({"elicitation": {"form": {}, "url": {}}}));
    let params = json!({"name": "triggerPopup", "arguments": high_risk_question("First")});
    let refused = peer.call(1, "tools/call", params.clone());
    assert_eq!(refused["error"]["code"], json!(-32042), "{refused}");
    let links = refused["error"]["data"]["elicitations"].as_array().unwrap();
    assert_eq!(links.len(), 1, "{refused}");
    let question = User::wait_for_question(&hub.home, "First");
    let ticket = question["ticket"].as_str().unwrap();
    assert_eq!(links[0]["mode"], json!("url"), "{refused}");
    assert_eq!(links[0]["url"], json!(hub.serving.url(&format!("/questions/{ticket}"))));
    assert!(refused["error"]["message"].as_str().unwrap().contains(ticket), "{refused}");
    answer_with_passphrase(&hub, &question);
    let end = next_message(&peer);
    assert_eq!(end["method"], json!("notifications/elicitation/complete"), "{end}");
    assert_eq!(end["params"]["elicitationId"], links[0]["elicitationId"]);
    let result = peer.call(2, "tools/call", params)["result"]["structuredContent"].clone();
    assert_eq!(result["selectedValue"], json!("yes"), "the repeated question gets the answer: {result}");

    // A question that fits a form gets a form.
    let params = json!({"name": "triggerPopup", "arguments": example("A form will do")});
    peer.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}));
    assert_eq!(next_form(&peer)["params"]["mode"], json!("form"));
}

#[test]
fn a_stateless_client_gets_the_link_in_its_answer() {
    let hub = hub();
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}, "url": {}}});
    meta["progressToken"] = json!("p");
    let call = json!({"name": "triggerPopup", "arguments": high_risk_question("Stateless"), "_meta": meta});
    let mut peer = hub.client("popup");
    let needs = peer.call(1, "tools/call", call.clone())["result"].clone();
    assert_eq!(needs["resultType"], json!("input_required"), "{needs}");
    let question = User::wait_for_question(&hub.home, "Stateless");
    let link = &needs["inputRequests"]["page"];
    assert_eq!(link["params"]["mode"], json!("url"), "{needs}");
    let page = format!("/questions/{}", question["ticket"].as_str().unwrap());
    assert_eq!(link["params"]["url"], json!(hub.serving.url(&page)), "{needs}");
    let mut repeated = call.clone();
    repeated["requestState"] = needs["requestState"].clone();
    repeated["inputResponses"] = json!({"page": {"action": "accept", "content": {"answer": "yes"}}});
    peer.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": repeated}));
    // The call now waits for the user's answer on the page.
    assert_eq!(peer.receive()["method"], json!("notifications/progress"));
    assert_eq!(User::pending(&hub.home).len(), 1);
    answer_with_passphrase(&hub, &question);
    let result = next_message(&peer)["result"]["structuredContent"].clone();
    assert_eq!(
        (&result["selectedValue"], &result["through"]),
        (&json!("yes"), &json!("terminal")),
        "{result}"
    );
}

#[test]
fn a_link_needs_the_setting_and_a_client_that_takes_links() {
    let declared = json!({"elicitation": {"url": {}}});
    // The client is not listed in the configuration.
    let plain = Hub::new();
    let mut peer = connect(&plain, "2025-11-25", declared);
    ask(&mut peer, 1, &example("Not listed"));
    let question = User::wait_for_question(&plain.home, "Not listed");
    plain.user().choose(&question, "yes");
    assert_eq!(next_message(&peer)["result"]["structuredContent"]["selectedValue"], json!("yes"));
    // A client with forms only gets no link instead of a form.
    let hub = hub();
    let mut peer = connect(&hub, "2025-11-25", json!({"elicitation": {"form": {}}}));
    ask(&mut peer, 1, &high_risk_question("Forms alone"));
    let question = User::wait_for_question(&hub.home, "Forms alone");
    answer_with_passphrase(&hub, &question);
    assert_eq!(next_message(&peer)["result"]["structuredContent"]["selectedValue"], json!("yes"));
}
