//! Clients and hubs that end at the worst moment.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::fixtures::{Hub, User, example, request};
use crate::support::DEADLINE;

#[test]
fn a_hub_killed_at_any_step_keeps_each_acknowledged_question_once() {
    let mut hub = Hub::new();
    let queued = |hub: &Hub, title: &str| {
        let (status, _) = hub.post("/mcp?client=c", &[], &request(title, title).to_string());
        assert_eq!(status, 202);
    };
    // Killed after the acknowledgement.
    queued(&hub, "Asked");
    hub.kill_and_restart();
    let pending = User::pending(&hub.home);
    assert_eq!(pending.iter().map(|question| &question["title"]).collect::<Vec<_>>(), ["Asked"]);
    // Killed after it was shown, and after it was answered.
    let mut user = hub.user();
    user.act(json!({"seen": {"ticket": pending[0]["ticket"]}}));
    hub.kill_and_restart();
    let pending = User::pending(&hub.home);
    assert_eq!(pending.len(), 1);
    hub.user().choose(&pending[0], "yes");
    hub.kill_and_restart();
    assert!(User::pending(&hub.home).is_empty(), "what was answered is not asked again");
    let repeated = hub.user().choose(&pending[0], "no");
    assert_eq!(repeated["before"]["kind"], json!("answered"), "one outcome remains");
    // Killed after the response was sent: it is not sent again, unless the client reports that it did not arrive.
    let mut events = hub.events("/mcp?client=c", &[]);
    let (id, response) = events.next();
    assert_eq!(response["result"], json!({"selectedValue": "yes"}));
    queued(&hub, "Next");
    let question = User::wait_for_question(&hub.home, "Next");
    hub.user().choose(&question, "no");
    assert_eq!(events.next().1["id"], json!("Next"));
    hub.kill_and_restart();
    queued(&hub, "Last");
    let question = User::wait_for_question(&hub.home, "Last");
    hub.user().choose(&question, "no");
    assert_eq!(hub.events("/mcp?client=c", &[("last-event-id", &id)]).next().1["id"], json!("Next"));
}

#[test]
fn an_answer_in_its_undo_window_survives_a_crash() {
    let mut hub = Hub::with("undo_milliseconds = 1500");
    hub.post("/mcp?client=c", &[], &request("a", "Undo").to_string());
    let question = User::wait_for_question(&hub.home, "Undo");
    let done = hub.user().choose(&question, "yes");
    assert!(done["decided"]["until"].is_i64(), "{done}");
    hub.user().act(json!({"undo": {"ticket": question["ticket"]}}));
    assert_eq!(User::pending(&hub.home).len(), 1);
    hub.user().choose(&question, "no");
    hub.kill_and_restart();
    assert_eq!(hub.events("/mcp?client=c", &[]).next().1["result"], json!({"selectedValue": "no"}));
}

#[test]
fn an_answer_for_a_dead_client_reaches_its_next_session() {
    let hub = Hub::new();
    let mut peer = hub.client("popup");
    peer.initialize("2025-11-25");
    let params = json!({"name": "triggerPopup", "arguments": example("Orphan")});
    peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let question = User::wait_for_question(&hub.home, "Orphan");
    peer.finish();
    hub.user().choose(&question, "yes");
    let mut next = hub.client("popup");
    next.initialize("2025-11-25");
    // Another session of the client did not ask, so it gets the answer only by asking the same question.
    let unknown = json!({"name": "await_answer", "arguments": {"ticket": "qzzzzzzzzzzzzzzzzzzzz"}});
    let unasked = next.call(1, "tools/call", unknown)["result"].clone();
    assert!(!unasked.to_string().contains("selectedValue"), "{unasked}");
    let answer = next.call(2, "tools/call", params)["result"].clone();
    assert_eq!(answer["structuredContent"]["selectedValue"], json!("yes"), "{answer}");
}

#[test]
fn a_call_to_a_hub_that_ends_gets_an_error_and_its_question_is_kept() {
    let mut hub = Hub::new();
    let mut peer = hub.client("popup");
    peer.initialize("2025-11-25");
    let params = json!({"name": "triggerPopup", "arguments": example("Kept")});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    peer.send(&call);
    User::wait_for_question(&hub.home, "Kept");
    hub.kill_and_restart();
    assert_eq!(peer.receive()["error"]["code"], json!(-32603));
    peer.send(&call);
    let question = User::wait_for_question(&hub.home, "Kept");
    assert_eq!(User::pending(&hub.home).len(), 1);
    hub.user().choose(&question, "yes");
    assert_eq!(peer.receive()["result"]["structuredContent"]["selectedValue"], json!("yes"));
}

#[test]
fn an_invalid_workspace_is_marked_and_the_question_is_still_asked() {
    let hub = Hub::new();
    let file = hub.home.write("file", "no folder");
    for (workspace, text) in [
        ("/path/to/workspace", "there is no such folder"),
        ("relative/path", "the path is not absolute"),
        (file.to_str().unwrap(), "it is not a folder"),
    ] {
        let mut asked = request(workspace, workspace);
        asked["params"]["workspacePath"] = json!(workspace);
        assert_eq!(hub.post("/mcp", &[], &asked.to_string()).0, 202);
        let question = User::wait_for_question(&hub.home, workspace);
        let path = format!("/questions/{}", question["ticket"].as_str().unwrap());
        let end = Instant::now() + DEADLINE;
        while !hub.send_request("GET", &path, &[], "").1.contains(text) {
            assert!(Instant::now() < end, "{workspace}: the page never shows {text}");
        }
        assert_eq!(hub.user().choose(&question, "yes")["decided"]["kind"], json!("answered"));
    }
}

#[test]
fn one_client_cannot_use_up_the_question_limit_and_repeats_add_nothing() {
    let hub = Hub::with("undo_milliseconds = 0\npending_per_client = 2\nwait_seconds = 1");
    let mut peer = hub.client("popup");
    peer.initialize("2025-11-25");
    let mut ask = |id: i64, title: &str| {
        let params = json!({"name": "triggerPopup", "arguments": example(title)});
        peer.call(id, "tools/call", params)["result"].clone()
    };
    let first = ask(1, "One");
    ask(2, "Two");
    let full = ask(3, "Three");
    assert_eq!(full["isError"], json!(true), "{full}");
    assert!(full["content"][0]["text"].as_str().unwrap().contains("the limit for one client"), "{full}");
    let repeated = ask(4, "One");
    assert_eq!(repeated["structuredContent"]["ticket"], first["structuredContent"]["ticket"]);
    assert_eq!(User::pending(&hub.home).len(), 2);
    let question = User::wait_for_question(&hub.home, "One");
    hub.user().choose(&question, "yes");
    assert_eq!(ask(5, "Three")["structuredContent"]["status"], json!("pending"), "the limit allows one more");
}

/// Posts the contract's request, and returns whether it was acknowledged; the hub may die at any moment.
fn acknowledged(root: &str, client: &str, title: &str) -> bool {
    let host = root.strip_prefix("http://").unwrap();
    let body = request(title, title).to_string();
    let text = format!(
        "POST /mcp?client={client} HTTP/1.0\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let Ok(mut stream) = TcpStream::connect(host) else { return false };
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut answer = String::new();
    let asked = stream.write_all(text.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
    asked.is_ok() && answer.contains(r#""status":"queued""#)
}

#[test]
fn a_hub_killed_during_a_burst_keeps_each_acknowledged_question_once() {
    let mut hub = Hub::new();
    let mut kept = Vec::new();
    for round in 0..5 {
        let (root, pid) = (hub.serving.url(""), hub.serving.pid());
        let titles = std::thread::scope(|scope| {
            let (answer, count) = std::sync::mpsc::channel();
            let asking = scope.spawn(move || {
                let titles = (0..40).map(|number| format!("{round}/{number}"));
                titles
                    .take_while(|title| {
                        let kept = acknowledged(&root, &format!("c{round}"), title);
                        let _ = answer.send(());
                        kept
                    })
                    .collect::<Vec<_>>()
            });
            for _ in 0..=round * 4 {
                count.recv_timeout(DEADLINE).unwrap();
            }
            let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            kill_process(pid, Signal::KILL).unwrap();
            asking.join().unwrap()
        });
        assert!(titles.len() > round * 4, "{titles:?}");
        kept.extend(titles);
        hub.kill_and_restart();
    }
    let pending = User::pending(&hub.home);
    let mut found: Vec<&str> = pending.iter().map(|question| question["title"].as_str().unwrap()).collect();
    let shown = found.len();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), shown, "a question is shown twice");
    for title in &kept {
        assert!(found.contains(&title.as_str()), "{title} was acknowledged and is lost");
    }
    // A question at the moment of death may exist or not: it was not acknowledged.
    assert!(shown <= kept.len() + 5, "{shown} are shown, {} were acknowledged", kept.len());
}

#[test]
fn of_two_simultaneous_answers_one_is_rejected_as_already_decided() {
    let hub = Hub::new();
    let mut events = hub.events("/mcp?client=c", &[]);
    for round in 0..15 {
        let title = format!("Round {round}");
        hub.post("/mcp?client=c", &[], &request(&title, &title).to_string());
        let question = User::wait_for_question(&hub.home, &title);
        let mut people = [(hub.user(), "yes"), (hub.user(), "no")];
        let answer = std::thread::scope(|scope| {
            let question = &question;
            let choosing = people
                .each_mut()
                .map(|(user, value)| scope.spawn(move || (user.choose(question, value), *value)));
            choosing.map(|choosing| choosing.join().unwrap())
        });
        let (decided, before): (Vec<_>, Vec<_>) =
            answer.iter().partition(|(answer, _)| answer.get("decided").is_some());
        assert_eq!((decided.len(), before.len()), (1, 1), "{answer:?}");
        assert_eq!(before[0].0["before"]["kind"], json!("answered"), "{answer:?}");
        assert_eq!(events.next().1["result"], json!({"selectedValue": decided[0].1}), "{answer:?}");
    }
}

#[test]
fn an_answer_that_races_the_deadline_wins_or_is_rejected() {
    let hub = Hub::new();
    let mut events = hub.events("/mcp?client=c", &[]);
    for late in [0_u64, 5, 10, 20] {
        let title = format!("Late by {late}");
        let mut asked = request(&title, &title);
        asked["params"]["timeout_seconds"] = json!(1);
        let since = Instant::now();
        hub.post("/mcp?client=c", &[], &asked.to_string());
        let question = User::wait_for_question(&hub.home, &title);
        let mut user = hub.user();
        // The test is about the deadline itself.
        let moment = Duration::from_millis(990 + late);
        while let Some(left) = moment.checked_sub(since.elapsed()) {
            std::thread::park_timeout(left.max(Duration::from_micros(100)));
        }
        let answer = user.choose(&question, "yes");
        let response = events.next().1;
        if answer.get("decided").is_some() {
            assert_eq!(response["result"], json!({"selectedValue": "yes"}), "{answer}");
        } else {
            assert_eq!(answer["before"]["kind"], json!("timed_out"), "{answer}");
            assert_eq!(response["error"]["data"]["status"], json!("timed_out"), "{response}");
        }
    }
}

#[test]
fn a_post_that_hangs_up_gets_its_answer_on_the_stream() {
    let hub = Hub::new();
    let root = hub.serving.url("");
    let host = root.strip_prefix("http://").unwrap();
    let body = request("w", "Hung up").to_string();
    let mut waiting = TcpStream::connect(host).unwrap();
    let head = format!(
        "POST /mcp?client=c HTTP/1.1\r\nhost: {host}\r\nprefer: wait=60\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    waiting.write_all((head + &body).as_bytes()).unwrap();
    let question = User::wait_for_question(&hub.home, "Hung up");
    drop(waiting);
    let mut events = hub.events("/mcp?client=c", &[]);
    hub.user().choose(&question, "yes");
    let expected = json!({"jsonrpc": "2.0", "id": "w", "result": {"selectedValue": "yes"}});
    assert_eq!(events.next().1, expected);
}
