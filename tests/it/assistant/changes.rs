//! The tools of newer clients that list users and change events, which the user allows one by one.

use serde_json::{Value, json};

use super::mail::{notifications, run};
use super::{result_json, tool};
use crate::questions::fixtures::User;
use crate::support::serving::Serving;
use crate::support::{Home, Peer, wait_for};

fn home(config: &str) -> Home {
    let home = Home::new();
    home.write(".adjutant/config.toml", format!("[questions]\nundo_milliseconds = 0\n{config}"));
    let user =
        ["users", "add", "Ann", "--id", "ann", "--time-zone", "Europe/Berlin", "--email", "ann@example.org"];
    run(&home, &[&user[..], &["--quiet-hours", "none", "--weekend", "both"]].concat());
    home
}

/// A client of the hub, below a separate shell: the process that starts a relay counts as an agent, and the test has to
/// stay a user.
fn connected(home: &Home) -> Peer {
    let command = format!("{} connect assistant; :", env!("CARGO_BIN_EXE_adjutant"));
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &command]).env_clear().env("HOME", home.path()).env("PATH", "/usr/bin:/bin");
    Peer::start(shell.current_dir(home.path()))
}

fn send_call(peer: &mut Peer, id: &str, name: &str, arguments: &Value) {
    peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}}));
}

fn result_of(peer: &mut Peer, id: &str) -> Value {
    loop {
        let message = peer.receive();
        if message["id"] == id {
            return message["result"].clone();
        }
    }
}

/// Sends a call, answers the question about it, and returns the result.
fn call_and_answer(
    home: &Home,
    peer: &mut Peer,
    name: &str,
    arguments: &Value,
    choice: &str,
) -> (Value, Value) {
    send_call(peer, name, name, arguments);
    let question = wait_for("the question", || User::pending(home).pop());
    User::connect(home).choose(&question, choice);
    (question, result_of(peer, name))
}

#[test]
fn a_client_changes_events_after_the_user_allows_it() {
    let home = home("");
    // Without authentication only the process that starts a relay is an agent, and not the ones above it.
    let _hub = Serving::open_hub(&home);
    let mut peer = connected(&home);
    peer.initialize("2025-11-25");
    let users = result_json(&tool(&mut peer, "listUsers", json!({})));
    assert_eq!(users["users"], json!([{"id": "ann", "name": "Ann", "time_zone": "Europe/Berlin"}]));

    let arguments = json!({"user_id": "ann", "title": "Dentist", "when": "1.7.2031 15:00 for 45 min", "location": "Room 4"});
    let (question, denied) = call_and_answer(&home, &mut peer, "createEvent", &arguments, "deny");
    assert_eq!(question["title"], "Add an event?");
    let message = question["message"].as_str().unwrap();
    for line in [
        "`test` wants",
        "Title: Dentist",
        "Tuesday, 2031-07-01 15:00 to 2031-07-01 15:45 (Europe/Berlin)",
        "Place: Room 4",
    ] {
        assert!(message.contains(line), "{message}");
    }
    assert_eq!(denied["isError"], true);
    assert_eq!(denied["content"][0]["text"], "nothing was changed: the user does not want it");
    let range = ["events", "list", "--from", "1.1.2031", "--to", "31.12.2031"];
    assert!(!run(&home, &range).contains("Dentist"));

    let (_, created) = call_and_answer(&home, &mut peer, "createEvent", &arguments, "approve");
    let created = &created["structuredContent"];
    assert_eq!(
        (&created["start_ts"], &created["weekday"]),
        (&json!("2031-07-01T15:00:00+02:00"), &json!("Tuesday"))
    );
    let id = created["id"].clone();
    let change = json!({"event_id": id, "when": "2.7.2031 16:00"});
    let (question, updated) = call_and_answer(&home, &mut peer, "updateEvent", &change, "approve");
    assert_eq!(question["title"], "Change an event?");
    assert_eq!(updated["structuredContent"]["end_ts"], "2031-07-02T16:45:00+02:00", "{updated}");
    let (question, cancelled) =
        call_and_answer(&home, &mut peer, "cancelEvent", &json!({"event_id": id}), "approve");
    assert!(question["message"].as_str().unwrap().contains("Title: Dentist"), "{question}");
    assert_eq!(cancelled["structuredContent"]["status"], "cancelled", "{cancelled}");
    assert!(!run(&home, &range).contains("Dentist"));

    for (when, why) in [
        ("5/6 15:00", "`5/6` may be the day 5 of the month 6 or the day 6 of the month 5"),
        ("soon", "`soon` contains no date or time"),
        ("1.7.2031 15:00 in Berlin", "`in Berlin` is not understood"),
    ] {
        let answer = tool(&mut peer, "createEvent", json!({"user_id": "ann", "title": "x", "when": when}));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, format!("argument `when` cannot be read: {why}"), "{answer}");
    }
    for (title, location, why) in [
        ("", "", "title: it is required"),
        ("Line\nTime: Tuesday, 2026-12-01 10:00", "", "title: it must be one line"),
        ("Tea", "Here\u{2028}Title: x", "location: it must be one line"),
    ] {
        let arguments =
            json!({"user_id": "ann", "title": title, "when": "1.7.2031 15:00", "location": location});
        let answer = tool(&mut peer, "createEvent", arguments);
        assert_eq!(answer["result"]["content"][0]["text"], why, "{answer}");
    }
    assert!(User::pending(&home).is_empty(), "nobody is asked about a call that cannot be carried out");
    // A line of the description is not taken for a property.
    let forged =
        json!({"user_id": "ann", "title": "Tea", "when": "1.7.2031 15:00", "description": "x\nTime: never"});
    let (question, _) = call_and_answer(&home, &mut peer, "createEvent", &forged, "deny");
    assert!(question["message"].as_str().unwrap().contains("> … Time: never"), "{question}");
}

#[test]
fn a_question_about_a_call_that_was_cancelled_or_lost_its_client_is_withdrawn() {
    let home = home("");
    let _hub = Serving::open_hub(&home);
    let mut peer = connected(&home);
    peer.initialize("2025-11-25");
    let arguments = json!({"user_id": "ann", "title": "Tea", "when": "1.7.2031 15:00"});
    let withdrawn = || wait_for("the withdrawal", || User::pending(&home).is_empty().then_some(()));
    send_call(&mut peer, "one", "createEvent", &arguments);
    wait_for("the question", || User::pending(&home).pop());
    peer.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "one"}}),
    );
    withdrawn();
    send_call(&mut peer, "two", "createEvent", &arguments);
    wait_for("the second question", || User::pending(&home).pop());
    drop(peer);
    withdrawn();
}

/// The questions that are decided, newest first.
fn decided(home: &Home) -> Value {
    let listed = run(home, &["questions", "list", "--decided", "--json"]);
    serde_json::from_str::<Value>(&listed).unwrap()["items"].take()
}

#[test]
fn a_question_about_a_change_ends_with_its_hub() {
    let reason = "the hub ended before it recorded the change; check the calendar";
    let home = home("");
    home.write(".adjutant/config.toml", "[questions]\nundo_milliseconds = 60000\n");
    let mut hub = Serving::open_hub(&home);
    let mut peer = connected(&home);
    peer.initialize("2025-11-25");
    for (title, kind) in [("Tea", "cancelled"), ("Walk", "answered")] {
        let arguments = json!({"user_id": "ann", "title": title, "when": "1.7.2031 15:00"});
        send_call(&mut peer, title, "createEvent", &arguments);
        let question = wait_for("the question", || User::pending(&home).pop());
        if kind == "answered" {
            User::connect(&home).choose(&question, "approve");
        }
        hub.kill();
        hub = Serving::open_hub(&home);
        let outcome = wait_for("the outcome", || {
            let mut all = decided(&home);
            let question = all.as_array_mut()?.iter_mut().find(|one| one["ticket"] == question["ticket"])?;
            Some(question["outcome"].take()).filter(|outcome| outcome["not_applied"] == reason)
        });
        assert_eq!(outcome["kind"], kind, "{outcome}");
        assert!(User::pending(&home).is_empty());
        assert!(hub.page("/history").contains(reason), "the console shows the reason");
    }
    let range = ["events", "list", "--from", "1.1.2031", "--to", "31.12.2031"];
    let listed = run(&home, &range);
    assert!(!listed.contains("Tea") && !listed.contains("Walk"), "{listed}");
}

#[test]
fn a_change_that_is_allowed_after_its_call_returned_is_made() {
    let home = home("wait_seconds = 1\n");
    let _hub = Serving::open_hub(&home);
    let mut peer = connected(&home);
    peer.initialize("2025-11-25");
    let id = run(&home, &["events", "add", "Dentist 1.7.2031 15:00"]).trim().to_owned();
    let returned = |peer: &mut Peer, name: &str, arguments: Value| {
        let refused = tool(peer, name, arguments)["result"].take();
        let text = refused["content"][0]["text"].as_str().unwrap();
        let why = "nothing was changed: the user has not answered yet; the change is made when they allow it";
        assert_eq!(text, why, "{refused}");
        wait_for("the question", || User::pending(&home).pop())
    };
    let tea = json!({"user_id": "ann", "title": "Tea", "when": "1.7.2031 15:00"});
    let question = returned(&mut peer, "createEvent", tea);
    User::connect(&home).choose(&question, "approve");
    let range = ["events", "list", "--from", "1.1.2031", "--to", "31.12.2031"];
    wait_for("the event", || run(&home, &range).contains("Tea").then_some(()));
    // A change that fails is shown with its question.
    let question = returned(&mut peer, "updateEvent", json!({"event_id": id, "title": "Doctor"}));
    run(&home, &["events", "edit", &id, "--title", "Dr Wells"]);
    User::connect(&home).choose(&question, "approve");
    let reason =
        "another program changed the event, which is now `Dr Wells`; review it, then change it again";
    wait_for("the reason", || {
        let all = decided(&home);
        let question = all.as_array()?.iter().find(|one| one["ticket"] == question["ticket"])?;
        (question["outcome"]["not_applied"] == reason).then_some(())
    });
}

#[test]
fn an_event_that_changed_while_its_user_was_asked_is_left_as_it_is() {
    let home = home("");
    let _hub = Serving::open_hub(&home);
    let mut peer = connected(&home);
    peer.initialize("2025-11-25");
    let id = run(&home, &["events", "add", "Dentist 1.7.2031 15:00"]).trim().to_owned();
    for (call, title) in [("updateEvent", "Doctor"), ("cancelEvent", "Dr Wells")] {
        let mut arguments = json!({"event_id": id});
        if call == "updateEvent" {
            arguments["location"] = "Room 4".into();
        }
        send_call(&mut peer, call, call, &arguments);
        let question = wait_for("the question", || User::pending(&home).pop());
        run(&home, &["events", "edit", &id, "--title", title]);
        User::connect(&home).choose(&question, "approve");
        let refused = result_of(&mut peer, call);
        let text = refused["content"][0]["text"].as_str().unwrap();
        let why = format!("nothing was changed: another program changed the event, which is now `{title}`;");
        assert!(text.starts_with(&why), "{refused}");
        let shown: Value = serde_json::from_str(&run(&home, &["events", "show", &id, "--json"])).unwrap();
        let expected = [title, "", "confirmed"];
        assert_eq!(
            ["title", "location", "status"].map(|name| shown[name].as_str().unwrap_or_default()),
            expected
        );
    }
}

#[test]
fn calls_in_the_same_words_share_one_permission_for_one_event() {
    let home = home("");
    let hub = Serving::open_hub(&home);
    let mut peer = connected(&home);
    peer.initialize("2025-11-25");
    let arguments = json!({"user_id": "ann", "title": "Tea", "when": "1.7.2031 15:00"});
    for id in ["one", "two"] {
        send_call(&mut peer, id, "createEvent", &arguments);
    }
    let question = wait_for("the question of both calls", || {
        let question = User::pending(&home).pop()?;
        let page = hub.page(&format!("/questions/{}", question["ticket"].as_str().unwrap()));
        page.contains("Asked again").then_some(question)
    });
    User::connect(&home).choose(&question, "approve");
    // Either call may be answered first.
    let mut results = Vec::new();
    while results.len() < 2 {
        let mut message = peer.receive();
        if ["one", "two"].iter().any(|id| message["id"] == *id) {
            results.push(message["result"].take());
        }
    }
    let refused: Vec<_> = results.iter().filter(|result| result["isError"] == true).collect();
    let [refused] = refused[..] else { panic!("one of them makes the change: {results:?}") };
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        text,
        "nothing was changed: the user allowed it once, and another call in the same words makes the change"
    );
    let listed = run(&home, &["events", "list", "--from", "1.1.2031", "--to", "31.12.2031"]);
    assert_eq!(listed.matches("Tea").count(), 1, "{listed}");
}

#[test]
fn a_trusted_client_changes_events_without_a_question() {
    let home = home("[assistant]\ntrusted_clients = [\"test\"]\n");
    let mut peer = Peer::start(&mut home.adjutant(["mcp", "assistant"]));
    peer.initialize("2025-06-18");
    let arguments = json!({"user_id": "ann", "title": "Tea", "when": "in 5 hours"});
    let created = tool(&mut peer, "createEvent", arguments);
    assert_eq!(created["result"]["structuredContent"]["title"], "Tea", "{created}");
    assert_eq!(notifications(&home, &[]).len(), 1, "it is planned");
    home.write(".adjutant/config.toml", "[assistant]\ntrusted_clients = [\"tes\"]\n");
    let mut peer = Peer::start(&mut home.adjutant(["mcp", "assistant"]));
    peer.initialize("2025-06-18");
    let refused =
        tool(&mut peer, "createEvent", json!({"user_id": "ann", "title": "Tea", "when": "in 6 hours"}));
    assert_eq!(refused["result"]["isError"], true, "the name begins like one that is trusted: {refused}");
}

#[test]
fn without_a_hub_nobody_can_be_asked_and_the_contract_has_none_of_these_tools() {
    let home = home("");
    let mut peer = Peer::start(&mut home.adjutant(["mcp", "assistant"]));
    let arguments = json!({"user_id": "ann", "title": "Tea", "when": "tomorrow 15:00"});
    let unknown = tool(&mut peer, "createEvent", arguments.clone());
    assert_eq!(unknown["error"]["code"], -32601, "2024-11-05 is the contract's: {unknown}");
    peer.initialize("2025-11-25");
    let refused = tool(&mut peer, "createEvent", arguments);
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        text,
        "nothing was changed: the user is asked by the hub; connect with `adjutant connect assistant`"
    );
}
