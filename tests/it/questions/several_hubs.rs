//! Hubs of several machines on one PostgreSQL: a question is asked on one, and shown and answered on the others.

use std::process::Stdio;

use serde_json::{Value, json};

use super::fixtures::{Hub, User, example, request};
use crate::support::nats::Nats;
use crate::support::ntfy::Ntfy;
use crate::support::postgres::Postgres;
use crate::support::{Peer, wait_for};

fn client(hub: &Hub) -> Peer {
    let mut peer = hub.client("all");
    peer.initialize("2025-11-25");
    peer
}

fn ask(peer: &mut Peer, id: i64, arguments: Value) {
    let params = json!({"name": "triggerPopup", "arguments": arguments});
    peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
}

fn answer_of(peer: &Peer) -> Value {
    peer.receive()["result"]["structuredContent"]["selectedValue"].clone()
}

#[test]
fn a_question_of_one_hub_is_shown_and_answered_once_on_another() {
    let Some(server) = Postgres::start() else { return };
    let [ann, bob] = [0, 0].map(|undo| Hub::on(&server.url("postgres"), undo));
    // The page of the other hub is open before.
    let mut page = User::follow(&bob.home);
    let mut asker = client(&ann);
    ask(&mut asker, 1, example("Deploy"));
    let question = page.wait_for_presence("Deploy", "here");
    bob.user().choose(&question, "yes");
    assert_eq!(answer_of(&asker), json!("yes"));
    let late = ann.user().choose(&question, "no");
    assert_eq!(late["before"]["kind"], "answered", "{late}");
    // A further question is a new one, answered where it was asked, and the other hub sees that too.
    ask(&mut asker, 2, example("Deploy"));
    let next = page.wait_for_presence("Deploy", "here");
    assert_ne!(next["ticket"], question["ticket"]);
    ann.user().choose(&next, "no");
    assert_eq!(answer_of(&asker), json!("no"));
    assert_eq!(page.wait_for_outcome(&next), json!("answered"));
}

#[test]
fn hubs_wake_each_other_over_nats_and_look_by_themselves_without_it() {
    let (Some(server), Some(mut nats)) = (Postgres::start(), Nats::start()) else { return };
    let hubs = |seconds: u32| {
        [0, 0].map(|undo| {
            let settings = format!(
                "undo_milliseconds = {undo}\npoll_seconds = {seconds}\n[workers]\nnats = {:?}\n",
                nats.url()
            );
            Hub::configured(&server.url("postgres"), &settings)
        })
    };
    let answers = |[ann, bob]: &[Hub; 2], title: &str| {
        let mut page = User::follow(&bob.home);
        let mut asker = client(ann);
        ask(&mut asker, 1, example(title));
        let question = page.wait_for_presence(title, "here");
        bob.user().choose(&question, "yes");
        assert_eq!(answer_of(&asker), json!("yes"), "{title}");
    };
    // Without the wake-ups nobody would look before the test has failed.
    let woken = hubs(3_600);
    answers(&woken, "Woken?");
    drop(woken);
    let looking = hubs(1);
    answers(&looking, "With a server?");
    nats.lose_everything();
    answers(&looking, "After a loss?");
    drop(nats);
    answers(&looking, "Without a server?");
}

#[test]
fn an_event_stream_gets_the_answer_of_another_hub_once() {
    let Some(server) = Postgres::start() else { return };
    let [ann, bob] = [0, 0].map(|undo| Hub::on(&server.url("postgres"), undo));
    // A caller of the other hub has the same name.
    let _other = bob.events("/mcp/popup", &[]);
    let mut stream = ann.events("/mcp/popup", &[]);
    let (status, _) = ann.post("/mcp/popup", &[], &request("r-1", "Deploy").to_string());
    assert_eq!(status, 202);
    let question = User::wait_for_question(&bob.home, "Deploy");
    bob.user().choose(&question, "yes");
    let (_, first) = stream.next();
    assert_eq!((&first["id"], &first["result"]["selectedValue"]), (&json!("r-1"), &json!("yes")), "{first}");
    ann.post("/mcp/popup", &[], &request("r-2", "Deploy again").to_string());
    bob.user().choose(&User::wait_for_question(&bob.home, "Deploy again"), "no");
    assert_eq!(stream.next().1["id"], "r-2", "the first answer came once");
}

#[test]
fn an_answer_survives_the_hub_that_took_it_and_the_hub_that_asked() {
    let Some(server) = Postgres::start() else { return };
    let database = server.url("postgres");
    let (mut ann, mut bob) = (Hub::on(&database, 0), Hub::on(&database, 300));
    let mut asker = client(&ann);
    ask(&mut asker, 1, example("Deploy"));
    // The hub that took the answer dies before the answer is final.
    let question = User::wait_for_question(&bob.home, "Deploy");
    bob.user().choose(&question, "yes");
    bob.serving.kill();
    assert_eq!(answer_of(&asker), json!("yes"));

    // The hub that asked dies before the answer.
    bob.kill_and_restart();
    ask(&mut asker, 2, example("Restart"));
    let question = User::wait_for_question(&bob.home, "Restart");
    ann.serving.kill();
    bob.user().choose(&question, "no");
    assert!(asker.receive()["error"].is_object(), "the call ended with its hub");
    ann.kill_and_restart();
    ask(&mut asker, 3, example("Restart"));
    assert_eq!(answer_of(&asker), json!("no"), "it asks again, and gets the answer that it missed");
}

#[test]
fn questions_outlive_a_database_server_that_goes_away_and_comes_back() {
    let Some(mut server) = Postgres::start() else { return };
    let [ann, bob] = [0, 0].map(|undo| Hub::on(&server.url("postgres"), undo));
    let mut asker = client(&ann);
    ask(&mut asker, 1, example("Before"));
    let before = User::wait_for_question(&bob.home, "Before");
    server.stop();
    // Asked and answered while the server is away.
    let mut other = client(&ann);
    ask(&mut other, 1, example("Meanwhile"));
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| bob.user().choose(&before, "yes"));
        server.start_again();
        answer.join().unwrap();
    });
    assert_eq!(answer_of(&asker), json!("yes"));
    ann.user().choose(&User::wait_for_question(&bob.home, "Meanwhile"), "no");
    assert_eq!(answer_of(&other), json!("no"));
}

/// Receives until a message has this value at this pointer.
fn receive_until(peer: &Peer, pointer: &str, value: &Value) -> Value {
    loop {
        let message = peer.receive();
        if message.pointer(pointer) == Some(value) {
            return message;
        }
    }
}

#[test]
fn callers_go_on_waiting_while_the_database_is_away_for_longer_than_a_call_to_it_waits() {
    let Some(mut server) = Postgres::start() else { return };
    let hub = Hub::on(&server.url("postgres"), 0);
    let mut script = hub.home.adjutant(["ask", "--title", "Script", "--option", "Yes=yes"]);
    let script = script.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let of_script = User::wait_for_question(&hub.home, "Script");
    let mut peer = client(&hub);
    let params = json!({"name": "triggerPopup", "arguments": example("Tool"), "_meta": {"progressToken": 7}});
    peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let of_peer = User::wait_for_question(&hub.home, "Tool");
    server.stop();
    let listed = hub.home.run(["questions", "list"], "");
    assert!(!listed.status.success(), "the database is away for longer than a call waits");
    let away = json!("the database does not answer; the question is stored");
    receive_until(&peer, "/params/message", &away);
    server.start_again();
    for question in [of_script, of_peer] {
        let decided = hub.user().choose(&question, "yes");
        assert_eq!(decided["decided"]["kind"], "answered", "{decided}");
    }
    let answer = receive_until(&peer, "/id", &json!(1));
    assert_eq!(answer["result"]["structuredContent"]["selectedValue"], "yes", "{answer}");
    let output = script.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "yes\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_same_words_on_two_machines_are_two_questions() {
    let Some(server) = Postgres::start() else { return };
    let [ann, bob] = [0, 0].map(|undo| Hub::on(&server.url("postgres"), undo));
    let mut first = client(&ann);
    ask(&mut first, 1, example("Deploy"));
    let of_ann = User::wait_for_question(&ann.home, "Deploy");
    // Its client ends, so that on the same machine the question would pass to the next one that asks it.
    drop(first);
    User::follow(&ann.home).wait_for_presence("Deploy", "away");
    let mut second = client(&bob);
    ask(&mut second, 1, example("Deploy"));
    let of_bob = User::follow(&bob.home).wait_for_presence("Deploy", "here");
    assert_ne!(of_bob["ticket"], of_ann["ticket"]);
    bob.user().choose(&of_ann, "yes");
    bob.user().choose(&of_bob, "no");
    assert_eq!(answer_of(&second), json!("no"));
}

#[test]
fn a_phone_rings_once_for_two_hubs_and_its_buttons_outlive_the_hub_that_rang() {
    let Some(server) = Postgres::start() else { return };
    let ntfy = Ntfy::start();
    let phone = format!("[ntfy]\nserver = \"{}\"\ntopic = \"bell\"\nreply_topic = \"back\"\n", ntfy.url());
    let settings = format!("undo_milliseconds = 0\n{phone}");
    let [mut ann, bob] = [(); 2].map(|()| Hub::configured(&server.url("postgres"), &settings));
    ntfy.next_subscriber();
    ntfy.next_subscriber();
    // The hub that has the question first rings first.
    let (status, _) = ann.post("/mcp/popup", &[], &request("r-1", "Deploy").to_string());
    assert_eq!(status, 202);
    let notice = ntfy.next_notification();
    let mut page = User::follow(&bob.home);
    let question = User::wait_for_question(&bob.home, "Deploy");
    ann.serving.kill();
    // The other hub knows the button once it would have rung itself.
    wait_for("the answer of the phone", || {
        ntfy.press(&notice["actions"][0]);
        User::pending(&bob.home).is_empty().then_some(())
    });
    assert_eq!(page.wait_for_outcome(&question), json!("answered"));
    bob.post("/mcp/popup", &[], &request("r-2", "Restart").to_string());
    let next = ntfy.next_notification();
    assert!(next["title"].as_str().unwrap().ends_with("Restart"), "rang twice: {next}");
}
