//! Texts and answers that are kept: what lists leave out of them, and that no log holds any.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::fixtures::{Hub, User, request};
use crate::support::{Home, Peer};

const SECRET: &str = "ghp_0123456789abcdefghij";

/// Answers the only question with a note, and returns the question as it was.
fn answer(home: &Home, note: &str) -> Value {
    let question = User::pending(home).remove(0);
    let answer = json!([["answer", {"choices": ["yes"]}]]);
    let act =
        json!({"answer": {"ticket": question["ticket"], "answer": answer, "note": note, "passphrase": null}});
    User::connect(home).act(act);
    question
}

#[test]
fn lists_leave_out_what_the_settings_say_and_the_page_of_a_question_nothing() {
    let note = format!("because of {SECRET}");
    for (redact, title, shown) in [
        ("nothing", format!("Use {SECRET}?"), note.as_str()),
        ("secrets", "Use [redacted]?".to_owned(), "because of [redacted]"),
        ("answers", "Use [redacted]?".to_owned(), "[redacted]"),
    ] {
        let hub = Hub::with(&format!("undo_milliseconds = 0\nredact = \"{redact}\""));
        assert_eq!(hub.post("/mcp", &[], &request("1", &format!("Use {SECRET}?")).to_string()).0, 202);
        let list = |path: &str| {
            let page = hub.send_request("GET", path, &[], "").1;
            assert_eq!(page.contains(SECRET), redact == "nothing", "{redact} {path}: {page}");
        };
        list("/questions");
        let question = answer(&hub.home, &note);
        assert_eq!(question["title"], json!(format!("Use {SECRET}?")), "who answers sees all of it");
        let query = json!({"questions": {"list": {"decided": true, "text": "", "limit": 9}}});
        let listed = hub.user().request(&query)["part"].clone();
        assert_eq!(listed["question"]["title"], json!(title), "{listed}");
        assert_eq!(listed["outcome"]["note"], json!(shown), "{listed}");
        for path in ["/history", "/history/questions.jsonl", "/history/questions.csv", "/find?q=use"] {
            list(path);
        }
        let page = hub
            .send_request("GET", &format!("/questions/{}", question["ticket"].as_str().unwrap()), &[], "")
            .1;
        assert!(page.contains(SECRET), "{page}");
    }
}

#[test]
fn no_log_holds_the_text_of_a_question_or_an_answer() {
    let home = Home::new();
    let log = home.path().join("log");
    let mut hub = home.adjutant(["-vvv", "serve", "--http", "127.0.0.1:0", "--auth", "none"]);
    let mut hub = hub
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    drop(User::connect(&home));
    let mut question = request("1", "Title canary");
    question["params"]["message"] = json!("Message canary");
    // Under a shell, because what starts a relay is an agent.
    let mut client = Command::new("sh");
    client.args(["-c", &format!("{} connect questions; :", env!("CARGO_BIN_EXE_adjutant"))]);
    client.env_clear().env("HOME", home.path()).env("PATH", "/usr/bin:/bin");
    let mut client = Peer::start(client.current_dir(home.path()));
    client.send(&question);
    User::wait_for_question(&home, "Title canary");
    answer(&home, "Note canary");
    assert_eq!(client.receive()["result"]["selectedValue"], json!("yes"));
    hub.kill().unwrap();
    hub.wait().unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("serves") && !log.contains("canary"), "{log}");
}
