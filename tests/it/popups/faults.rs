//! Clients and hubs that end at the worst moment.

use serde_json::{Value, json};

use super::person::{Hub, Person, example, request};

#[test]
fn a_hub_killed_at_any_step_keeps_every_acknowledged_question_once() {
    let mut hub = Hub::new();
    let queued = |hub: &Hub, title: &str| {
        let (status, _) = hub.post("/mcp?client=c", &[], &request(title, title).to_string());
        assert_eq!(status, 202);
    };
    // Killed after the acknowledgement.
    queued(&hub, "Asked");
    hub.crash();
    let pending = Person::pending(&hub.home);
    assert_eq!(pending.iter().map(|question| &question["title"]).collect::<Vec<_>>(), ["Asked"]);
    // Killed after it was shown, and after it was answered.
    let mut person = hub.person();
    person.act(json!({"seen": {"ticket": pending[0]["ticket"]}}));
    hub.crash();
    let pending = Person::pending(&hub.home);
    assert_eq!(pending.len(), 1);
    hub.person().choose(&pending[0], "yes");
    hub.crash();
    assert!(Person::pending(&hub.home).is_empty(), "what was answered is not asked again");
    let again = hub.person().choose(&pending[0], "no");
    assert_eq!(again["before"]["kind"], json!("answered"), "one outcome stands");
    // Killed after the response was sent: it is not sent again, unless who got it says that it did not.
    let mut events = hub.events("/mcp?client=c", &[]);
    let (id, response) = events.next();
    assert_eq!(response["result"], json!({"selectedValue": "yes"}));
    queued(&hub, "Next");
    let question = Person::waits_for(&hub.home, "Next");
    hub.person().choose(&question, "no");
    assert_eq!(events.next().1["id"], json!("Next"));
    hub.crash();
    queued(&hub, "Last");
    let question = Person::waits_for(&hub.home, "Last");
    hub.person().choose(&question, "no");
    assert_eq!(hub.events("/mcp?client=c", &[("last-event-id", &id)]).next().1["id"], json!("Next"));
}

#[test]
fn an_answer_in_its_undo_window_survives_a_crash() {
    let mut hub = Hub::with("undo_milliseconds = 1500");
    hub.post("/mcp?client=c", &[], &request("a", "Undo").to_string());
    let question = Person::waits_for(&hub.home, "Undo");
    let done = hub.person().choose(&question, "yes");
    assert!(done["decided"]["until"].is_i64(), "{done}");
    hub.person().act(json!({"take_back": {"ticket": question["ticket"]}}));
    assert_eq!(Person::pending(&hub.home).len(), 1);
    hub.person().choose(&question, "no");
    hub.crash();
    assert_eq!(hub.events("/mcp?client=c", &[]).next().1["result"], json!({"selectedValue": "no"}));
}

#[test]
fn an_answer_that_came_after_its_client_died_is_handed_over() {
    let hub = Hub::new();
    let mut peer = hub.client("popup");
    peer.initialize("2025-11-25");
    let params = json!({"name": "triggerPopup", "arguments": example("Orphan")});
    peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let question = Person::waits_for(&hub.home, "Orphan");
    peer.finish();
    hub.person().choose(&question, "yes");
    let mut next = hub.client("popup");
    next.initialize("2025-11-25");
    let unknown = json!({"name": "await_answer", "arguments": {"ticket": "qzzzzzzzzzzzzzzzzzzzz"}});
    let answer = next.call(1, "tools/call", unknown)["result"].clone();
    let text: Vec<&Value> =
        answer["content"].as_array().unwrap().iter().map(|block| &block["text"]).collect();
    assert!(text.last().unwrap().as_str().unwrap().contains(r#""selectedValue":"yes""#), "{answer}");
}

#[test]
fn a_hub_that_goes_away_under_a_call_answers_it_with_an_error_and_keeps_the_question() {
    let mut hub = Hub::new();
    let mut peer = hub.client("popup");
    peer.initialize("2025-11-25");
    let params = json!({"name": "triggerPopup", "arguments": example("Kept")});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    peer.send(&call);
    Person::waits_for(&hub.home, "Kept");
    hub.crash();
    assert_eq!(peer.receive()["error"]["code"], json!(-32603));
    peer.send(&call);
    let question = Person::waits_for(&hub.home, "Kept");
    assert_eq!(Person::pending(&hub.home).len(), 1);
    hub.person().choose(&question, "yes");
    assert_eq!(peer.receive()["result"]["structuredContent"]["selectedValue"], json!("yes"));
}
