//! Notifications of questions: a notification service on a private bus, and a phone that a restarted hub does not
//! notify twice.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::fixtures::{Hub, User, example, request};
use crate::support::desktop::{Behaviour, Call, Desktop};
use crate::support::ntfy::Ntfy;
use crate::support::serving::Serving;
use crate::support::{Home, TRACEPARENT, traced_meta};

/// A hub that finds this desktop.
fn hub(home: Home, desktop: &Desktop) -> Hub {
    let mut command = home.adjutant([] as [&str; 0]);
    command.env("DBUS_SESSION_BUS_ADDRESS", desktop.address());
    let serving = Serving::open_hub_of(command, &home);
    Hub { home, serving }
}

fn home() -> Home {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[questions]\nundo_milliseconds = 0\n");
    home
}

#[test]
fn a_desktop_notification_is_shown_once_and_closed_by_the_answer() {
    let home = home();
    let Some(desktop) = Desktop::start(home.path(), Behaviour::Answers) else { return };
    let hub = hub(home, &desktop);
    let mut peer = hub.client("popup");
    peer.send(&request("1", "<b>Deploy</b> to\u{202e} production?"));
    let Call::Shown { id: first, replaces: 0, title, body, actions } = desktop.next_call() else {
        panic!("a new notice")
    };
    let agent = format!("an agent in to/workspace (runs in {})", hub.home.short_path());
    assert_eq!(title, format!("{agent} asks"));
    let words =
        "&lt;b&gt;Deploy&lt;/b&gt; to⟨U+202E⟩ production?\nAnswer in the console, or with: adjutant inbox";
    assert_eq!(body, words, "an agent's text contains no markup and no control characters");
    assert_eq!(actions, Vec::<String>::new(), "a notification cannot answer");
    peer.send(&request("2", "Second"));
    let Call::Shown { id, replaces, title, .. } = desktop.next_call() else { panic!("the same notice") };
    assert_eq!((id, replaces), (first, first), "one notice, however many wait");
    assert_eq!(title, format!("2 questions wait, the newest from {agent}"));
    // The named question is answered in another channel: the notification names the other one, and ends with it.
    let second = User::wait_for_question(&hub.home, "Second");
    hub.user().choose(&second, "yes");
    let Call::Shown { replaces, title, .. } = desktop.next_call() else { panic!("the same notice") };
    assert_eq!((replaces, title), (first, format!("{agent} asks")));
    let question = User::pending(&hub.home).remove(0);
    hub.user().choose(&question, "no");
    assert_eq!(desktop.next_call(), Call::Closed { id: first });
    assert!(desktop.remaining_calls().is_empty());
}

#[test]
fn a_snoozed_question_notifies_again_when_it_returns() {
    let home = home();
    let Some(desktop) = Desktop::start(home.path(), Behaviour::Answers) else { return };
    let ntfy = Ntfy::start();
    let phone = format!("[ntfy]\nserver = \"{}\"\ntopic = \"bell\"\n", ntfy.url());
    home.write(".adjutant/config.toml", format!("[questions]\nundo_milliseconds = 0\n{phone}"));
    let hub = hub(home, &desktop);
    let mut peer = hub.client("popup");
    peer.send(&request("1", "Later"));
    let rung = |title: &str| {
        let Call::Shown { body, .. } = desktop.next_call() else { panic!("{title} is shown") };
        assert!(body.starts_with(title), "{body}");
        let notice = ntfy.next_notification();
        assert!(notice["title"].as_str().unwrap().ends_with(title), "{notice}");
    };
    rung("Later");
    let question = User::wait_for_question(&hub.home, "Later");
    hub.user().act(json!({"seen": {"ticket": question["ticket"]}}));
    hub.user().act(json!({"snooze": {"ticket": question["ticket"], "minutes": 1}}));
    peer.send(&request("2", "Meanwhile"));
    rung("Meanwhile");
    // The minute is over; any change of questions makes the hub check the clock.
    let over = "UPDATE questions SET snoozed_until = 1 WHERE snoozed_until IS NOT NULL";
    let mut sqlite = Command::new("sqlite3");
    sqlite.args(["-bail", "-cmd", ".timeout 10000"]).arg(hub.home.path().join(".adjutant/adjutant.db"));
    let done = sqlite.arg(over).stdin(Stdio::null()).status().expect("no sqlite3: apt-get install sqlite3");
    assert!(done.success());
    hub.user().act(json!({"seen": {"ticket": question["ticket"]}}));
    rung("Later");
}

#[test]
fn a_desktop_that_hangs_delays_no_other_channel() {
    let home = home();
    let Some(desktop) = Desktop::start(home.path(), Behaviour::Hangs) else { return };
    let ntfy = Ntfy::start();
    let phone = format!("[ntfy]\nserver = \"{}\"\ntopic = \"bell\"\n", ntfy.url());
    home.write(".adjutant/config.toml", format!("[questions]\nundo_milliseconds = 0\n{phone}"));
    let hub = hub(home, &desktop);
    let mut peer = hub.client("popup");
    let start = Instant::now();
    for round in 0..4 {
        let title = format!("Round {round}");
        peer.send(&request(&title, &title));
        let question = User::wait_for_question(&hub.home, &title);
        if round == 0 {
            assert!(matches!(desktop.next_call(), Call::Shown { .. }), "it was called, and never answers");
        }
        assert!(
            ntfy.next_notification()["title"].as_str().unwrap().ends_with(&title),
            "the phone rings all the same"
        );
        hub.user().choose(&question, "yes");
        assert_eq!(peer.receive()["result"]["selectedValue"], serde_json::json!("yes"));
    }
    // Each has three seconds.
    assert!(start.elapsed() < Duration::from_secs(11), "the timeout of the desktop delays no other channel");
}

#[test]
fn a_new_question_rings_however_many_are_pending() {
    let home = Home::new();
    let ntfy = Ntfy::start();
    let phone = format!("[ntfy]\nserver = \"{}\"\ntopic = \"bell\"\n", ntfy.url());
    home.write(".adjutant/config.toml", format!("[questions]\npending_per_client = 200\n{phone}"));
    let serving = Serving::open_hub(&home);
    let hub = Hub { home, serving };
    let ask = |title: &str| assert_eq!(hub.post("/mcp", &[], &request(title, title).to_string()).0, 202);
    for number in 0..110 {
        ask(&format!("Question {number}"));
    }
    // Notices of the others may come in between.
    let rings = (0..9).any(|round| {
        let title = format!("Late {round}");
        ask(&title);
        ntfy.next_notification()["title"].as_str().unwrap().ends_with(&title)
    });
    assert!(rings);
}

#[test]
fn a_phone_notification_has_the_trace_context_of_its_call() {
    let home = Home::new();
    let ntfy = Ntfy::start();
    home.write(".adjutant/config.toml", format!("[ntfy]\nserver = \"{}\"\ntopic = \"bell\"\n", ntfy.url()));
    let serving = Serving::open_hub(&home);
    let hub = Hub { home, serving };
    let mut peer = hub.client("popup");
    peer.initialize("2025-11-25");
    for (id, meta) in [(1, traced_meta()), (2, json!({"baggage": "who=ann"}))] {
        let title = format!("Traced {id}");
        let params = json!({"name": "triggerPopup", "arguments": example(&title), "_meta": meta});
        peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        let notice = ntfy.next_notification();
        assert!(notice["title"].as_str().unwrap().ends_with(&title), "{notice}");
        let trace = json!({"traceparent": TRACEPARENT, "tracestate": "vendor=1"});
        assert_eq!(notice.get("trace"), (id == 1).then_some(&trace), "what is the caller's own stays here");
    }
}

#[test]
fn a_hub_restarted_after_a_crash_notifies_the_desktop_again_and_not_the_phone() {
    let home = home();
    let Some(desktop) = Desktop::start(home.path(), Behaviour::Answers) else { return };
    let ntfy = Ntfy::start();
    let phone = format!("[ntfy]\nserver = \"{}\"\ntopic = \"bell\"\nreply_topic = \"back\"\n", ntfy.url());
    home.write(".adjutant/config.toml", format!("[questions]\nundo_milliseconds = 0\n{phone}"));
    let mut hub = hub(home, &desktop);
    ntfy.next_subscriber();
    let ask = |hub: &Hub, title: &str| hub.post("/mcp", &[], &request(title, title).to_string());
    assert_eq!(ask(&hub, "Before").0, 202);
    assert!(matches!(desktop.next_call(), Call::Shown { .. }));
    let before = ntfy.next_notification();
    hub.serving.kill();
    let mut command = hub.home.adjutant([] as [&str; 0]);
    command.env("DBUS_SESSION_BUS_ADDRESS", desktop.address());
    hub.serving = Serving::open_hub_of(command, &hub.home);
    let Call::Shown { body, .. } = desktop.next_call() else { panic!("what waits is shown again") };
    assert!(body.starts_with("Before\n"), "{body}");
    // The next phone notification is for the next question, and the old button still answers the old one.
    assert_eq!(ask(&hub, "After").0, 202);
    assert!(ntfy.next_notification()["title"].as_str().unwrap().ends_with("After"), "nothing rang twice");
    let topic = ntfy.next_subscriber();
    // A message that cannot be a press is skipped, and the next press counts.
    ntfy.post(topic.trim_end_matches("/json"), &"x".repeat(100_000));
    ntfy.press(&before["actions"][1]);
    let mut events = hub.events("/mcp", &[]);
    let answered = events.next().1;
    assert_eq!((&answered["id"], &answered["result"]["selectedValue"]), (&"Before".into(), &"no".into()));
    assert_eq!(example("After")["title"], User::pending(&hub.home)[0]["title"]);
}
