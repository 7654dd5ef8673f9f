//! A clock that is set between two runs of the hub: as if every instant in the store were a day later, or earlier.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::fixtures::{Hub, User, request};

const DAY: i64 = 24 * 60 * 60 * 1000;

/// Restarts the hub on a clock that is behind by this much, or ahead when negative.
fn set_clock_back(hub: &mut Hub, millis: i64) {
    hub.serving.kill();
    let columns = ["asked_at", "deadline", "seen_at", "decided_at", "held_until", "snoozed_until"];
    let shift: Vec<String> = columns.iter().map(|name| format!("{name} = {name} + {millis}")).collect();
    let shift = format!("UPDATE questions SET {};", shift.join(", "));
    let mut sqlite = Command::new("sqlite3");
    sqlite.args(["-bail", "-cmd", ".timeout 10000"]).arg(hub.home.path().join(".adjutant/adjutant.db"));
    let done = sqlite.arg(shift).stdin(Stdio::null()).status().expect("no sqlite3: apt-get install sqlite3");
    assert!(done.success());
    hub.kill_and_restart();
}

/// Asks with a default after one second of viewing, and returns the question.
fn ask(hub: &Hub, title: &str, more: Value) -> Value {
    let mut asked = request(title, title);
    for (name, value) in more.as_object().unwrap() {
        asked["params"][name] = value.clone();
    }
    assert_eq!(hub.post("/mcp", &[], &asked.to_string()).0, 202);
    User::wait_for_question(&hub.home, title)
}

#[test]
fn a_clock_set_back_keeps_the_deadlines_of_questions() {
    let mut hub = Hub::with("undo_milliseconds = 60000");
    let waits = ask(&hub, "Waits", json!({"default": "yes", "default_after_seconds": 1}));
    hub.user().act(json!({"seen": {"ticket": waits["ticket"]}}));
    let held = ask(&hub, "Held", json!({}));
    hub.user().choose(&held, "no");
    set_clock_back(&mut hub, DAY);
    let pending = User::pending(&hub.home);
    assert_eq!(pending.len(), 1, "what waited waits, once: {pending:?}");
    // Unseen time does not count as seen, at any clock.
    hub.user().act(json!({"seen": {"ticket": waits["ticket"]}}));
    assert_eq!(User::pending(&hub.home).len(), 1);
    let page =
        hub.send_request("GET", &format!("/questions/{}", waits["ticket"].as_str().unwrap()), &[], "").1;
    assert!(page.contains("1 of 1"), "its page is there: {page}");
    // The answer in its undo window can still be undone, and does not stay a day in another window.
    hub.user().act(json!({"undo": {"ticket": held["ticket"]}}));
    hub.user().choose(&waits, "no");
    assert_eq!(User::pending(&hub.home).len(), 1);
}

#[test]
fn a_clock_set_ahead_expires_questions_and_applies_no_default() {
    let mut hub = Hub::with("undo_milliseconds = 60000");
    let due =
        ask(&hub, "Due", json!({"timeout_seconds": 3600, "default": "yes", "default_after_seconds": 60}));
    hub.user().act(json!({"seen": {"ticket": due["ticket"]}}));
    let long = ask(&hub, "Long", json!({"timeout_seconds": 7 * 24 * 3600}));
    hub.user().act(json!({"snooze": {"ticket": long["ticket"], "minutes": 60}}));
    let held = ask(&hub, "Held", json!({}));
    hub.user().choose(&held, "no");
    set_clock_back(&mut hub, -DAY);
    let mut events = hub.events("/mcp", &[]);
    let mut answer = [events.next().1, events.next().1];
    answer.sort_by_key(|response| response["id"].to_string());
    assert_eq!(
        (&answer[0]["id"], &answer[0]["error"]["data"]["status"]),
        (&json!("Due"), &json!("timed_out"))
    );
    assert_eq!((&answer[1]["id"], &answer[1]["result"]), (&json!("Held"), &json!({"selectedValue": "no"})));
    let back = User::wait_for_question(&hub.home, "Long");
    assert!(back["snoozed_until"].is_null(), "what was put off is back: {back}");
    hub.user().choose(&back, "yes");
}
