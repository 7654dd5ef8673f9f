//! An outcome counts as delivered when the relay or stream has sent its bytes to the asker.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::fixtures::{Hub, User, example, relay_of};
use crate::support::Peer;

fn client(hub: &Hub) -> Peer {
    let mut peer = hub.client("all");
    peer.initialize("2025-11-25");
    peer
}

fn send(peer: &mut Peer, id: i64, name: &str, arguments: Value) {
    let params = json!({"name": name, "arguments": arguments});
    peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
}

fn list(peer: &mut Peer, id: i64) -> Value {
    send(peer, id, "list_prompts", json!({}));
    peer.receive()["result"]["structuredContent"].clone()
}

/// Asks, and has the user answer while the relay is stopped; returns the question.
fn answer_while_stopped(hub: &Hub, peer: &mut Peer) -> Value {
    send(peer, 1, "triggerPopup", example("Deploy"));
    let question = User::wait_for_question(&hub.home, "Deploy");
    kill_process(relay_of(peer), Signal::STOP).unwrap();
    let mut watch = User::follow(&hub.home);
    watch.wait_for_presence("Deploy", "here");
    hub.user().choose(&question, "yes");
    assert_eq!(watch.wait_for_outcome(&question), json!("answered"));
    question
}

#[test]
fn an_answer_that_a_killed_relay_kept_back_is_delivered_once_later() {
    let hub = Hub::new();
    let mut peer = client(&hub);
    let question = answer_while_stopped(&hub, &mut peer);
    kill_process(relay_of(&peer), Signal::KILL).unwrap();
    drop(peer);
    let mut next = client(&hub);
    let answer = (1..).find_map(|id| {
        assert!(id < 100, "the answer is lost");
        send(&mut next, id, "await_answer", json!({"ticket": question["ticket"], "seconds": 1}));
        let answer = next.receive()["result"].clone();
        // Until the hub notices the end of the relay, the question belongs to it.
        (answer["isError"] != json!(true)).then_some(answer)
    });
    let answer = answer.unwrap();
    assert_eq!(answer["structuredContent"]["selectedValue"], json!("yes"), "{answer}");
    assert!(list(&mut next, 200).get("earlier_answers").is_none(), "it was delivered");
    send(&mut next, 201, "triggerPopup", example("Deploy"));
    let anew = User::wait_for_question(&hub.home, "Deploy");
    hub.user().choose(&anew, "no");
    assert_eq!(next.receive()["result"]["structuredContent"]["selectedValue"], json!("no"));
}

#[test]
fn the_next_hub_does_not_repeat_a_delivered_answer() {
    let mut hub = Hub::new();
    let mut peer = client(&hub);
    answer_while_stopped(&hub, &mut peer);
    hub.kill_and_restart();
    kill_process(relay_of(&peer), Signal::CONT).unwrap();
    let answer = peer.receive();
    // The hub may have died before it wrote the answer; then the next call brings it, once.
    if answer.get("error").is_some() {
        assert_eq!(list(&mut peer, 2)["earlier_answers"][0]["selectedValue"], json!("yes"), "{answer}");
    } else {
        assert_eq!(answer["result"]["structuredContent"]["selectedValue"], json!("yes"), "{answer}");
    }
    for id in 3..5 {
        let listed = list(&mut peer, id);
        assert!(listed.get("earlier_answers").is_none(), "{listed}");
    }
}

#[test]
fn an_answer_to_an_abandoned_call_comes_with_the_clients_next_call() {
    let hub = Hub::with("undo_milliseconds = 0\nwait_seconds = 1");
    let mut peer = client(&hub);
    send(&mut peer, 1, "triggerPopup", example("Deploy"));
    let question = User::wait_for_question(&hub.home, "Deploy");
    assert_eq!(peer.receive()["result"]["structuredContent"]["status"], json!("pending"));
    hub.user().choose(&question, "yes");
    assert_eq!(list(&mut peer, 2)["earlier_answers"][0]["selectedValue"], json!("yes"));
    assert!(list(&mut peer, 3).get("earlier_answers").is_none(), "it is given once");
}
