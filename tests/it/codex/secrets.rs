//! Answers to secret questions of Codex: each interface takes them unseen, and nothing but the recording keeps them.

use std::path::Path;

use serde_json::{Value, json};

use super::pages::{between, send_request};
use super::terminal::{shows, wait_for_screen};
use super::{RunningCommand, faults, install};
use crate::questions::fixtures::User;
use crate::support::postgres::Postgres;
use crate::support::serving::Serving;
use crate::support::terminal::Terminal;
use crate::support::{Home, wait_for};

const SECRET: &str = "hunter2-of-the-harbour";
const QUESTION: &str = "Which key does the harbour have?";

fn asking() -> (Home, Serving) {
    asking_on("")
}

/// A hub with this line in its configuration. Its Codex asks the question, and writes the answer to a file.
fn asking_on(setting: &str) -> (Home, Serving) {
    let home = Home::new();
    let answer = home.path().join("answer");
    let question =
        format!(r#"{{"id":"k","question":"{QUESTION}","isSecret":true,"isOther":false,"options":null}}"#);
    let turn = format!(
        r#"line '{{"id":"q","method":"item/tool/requestUserInput","params":{{"threadId":"t-1","turnId":"u-1","itemId":"i","questions":[{question}]}}}}'
read -r decided; printf '%s' "$decided" > '{}'; say thanks; done_"#,
        answer.display()
    );
    install(&home, &faults::app_server(&turn), "auto");
    let config = std::fs::read_to_string(home.path().join(".adjutant/config.toml")).unwrap();
    home.write(".adjutant/config.toml", format!("{setting}\n{config}[questions]\nundo_milliseconds = 0\n"));
    let hub = Serving::open_hub(&home);
    (home, hub)
}

fn holds_secret(bytes: &[u8]) -> bool {
    bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes())
}

/// The files below a folder that hold the secret.
fn files_with_secret(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files_with_secret(&entry));
        } else if std::fs::read(&entry).is_ok_and(|bytes| holds_secret(&bytes)) {
            found.push(entry.display().to_string());
        }
    }
    found
}

/// Codex got the secret; `shown` and the files of the hub do not hold it.
fn assert_kept_nowhere(home: &Home, shown: &[u8]) {
    let answer = std::fs::read_to_string(home.path().join("answer")).unwrap();
    assert!(answer.contains(SECRET), "{answer}");
    assert!(!holds_secret(shown), "{}", String::from_utf8_lossy(shown));
    let files = files_with_secret(&home.path().join(".adjutant"));
    assert!(files.iter().all(|file| file.contains("/logs/recordings/")), "{files:?}");
    assert!(home.path().join(".adjutant/adjutant.db").exists());
    for told in
        [["codex", "show", "t-1"], ["questions", "list", "--decided"], ["log", "export", "--format=jsonl"]]
    {
        let run = home.run(told, "");
        assert!(run.status.success() && !run.stdout.contains(SECRET), "{run}");
    }
    // Without the question, which is of the other direction, the answer is secret, too.
    let answers = home.run(["log", "export", "--direction", "c2s"], "");
    assert!(answers.status.success() && !answers.stdout.contains(SECRET), "{answers}");
    let check = home.run(["log", "export", "--check"], "");
    assert!(check.stdout.contains("c2s   secret answer"), "{check}");
    let check = home.run(["log", "export", "--check", "--json"], "");
    let check: Value = serde_json::from_str(&check.stdout).unwrap();
    assert_eq!(check["items"][0]["rule"], "secret answer", "{check}");
}

#[test]
fn a_secret_typed_into_the_view_of_codex_is_neither_shown_nor_kept() {
    let (home, _hub) = asking();
    let mut terminal = Terminal::start(&home, &["codex", "please"], 80, 24, &[]);
    shows(&mut terminal, QUESTION);
    // In its first moment it ignores keys.
    wait_for_screen(&mut terminal, "the form's keys", "\x19", |screen| screen.contains("Ctrl-Y sends it"));
    terminal.send(SECRET);
    shows(&mut terminal, &"•".repeat(SECRET.len()));
    terminal.send("\x19");
    shows(&mut terminal, "thanks");
    shows(&mut terminal, "Codex · idle");
    terminal.send("\x03");
    assert_eq!(terminal.exit_code(), 0);
    assert_kept_nowhere(&home, &terminal.written());
}

#[test]
fn a_secret_typed_into_the_inbox_is_neither_shown_nor_kept() {
    let (home, _hub) = asking();
    let mut running = RunningCommand::start(&home, &["please"]);
    running.wait_for_approval(QUESTION);
    let mut terminal = Terminal::start(&home, &["inbox"], 80, 24, &[]);
    terminal.shows("Codex asks");
    terminal.send("\r");
    terminal.shows(QUESTION);
    terminal.send(SECRET);
    terminal.shows(&"•".repeat(SECRET.len()));
    // In its first moment a question is not sent.
    wait_for_screen(&mut terminal, "the answer", "\r", |screen| screen.contains("answered"));
    assert!(running.end().0.contains("thanks"));
    terminal.send("\x03");
    terminal.exit_code();
    assert_kept_nowhere(&home, &terminal.written());
}

#[test]
fn a_secret_typed_as_a_line_is_neither_shown_nor_kept() {
    let (home, _hub) = asking();
    let mut running = RunningCommand::start(&home, &["please"]);
    running.wait_for_approval(QUESTION);
    let mut terminal = Terminal::start(&home, &["inbox", "--plain"], 100, 30, &[]);
    let screen = terminal.shows("(text, asked for without echo after the ID)");
    let id = screen.split("QUESTION ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    terminal.send(&format!("{id} not this one\r"));
    terminal.shows(&format!("REFUSED the answer is secret: enter `{id}` alone"));
    terminal.send(&format!("{id}\r"));
    terminal.shows(&format!("SECRET {id} {QUESTION}"));
    terminal.send(&format!("{SECRET}\r"));
    terminal.shows(&format!("DONE {id} answered"));
    assert!(running.end().0.contains("thanks"));
    assert_kept_nowhere(&home, &terminal.written());
}

#[test]
fn a_secret_typed_into_a_page_is_neither_shown_nor_kept() {
    let (home, hub) = asking();
    let mut running = RunningCommand::start(&home, &["please"]);
    running.wait_for_approval(QUESTION);
    let list = wait_for("the question", || {
        Some(send_request(&hub, "GET", "/questions", "").text).filter(|list| list.contains("Codex asks"))
    });
    let path = format!("/questions/q{}", between(&list, "href=\"/questions/q", "\""));
    let page = send_request(&hub, "GET", &path, "").text;
    assert!(page.contains("<input type=\"password\" maxlength=\"4096\" id=\"f0-in\""), "{page}");
    let form =
        format!("csrf={}&made=0&act=answer&f0={SECRET}", between(&page, "name=\"csrf\" value=\"", "\""));
    // A form that comes too early is rejected, and does not repeat it.
    let now = adjutant_base::text::timefmt::millis(std::time::SystemTime::now());
    let rejected = send_request(&hub, "POST", &path, &form.replace("made=0", &format!("made={now}")));
    assert!(rejected.status != 303 && !rejected.text.contains(SECRET), "{}", rejected.text);
    assert_eq!(send_request(&hub, "POST", &path, &form).status, 303);
    assert!(running.end().0.contains("thanks"));
    let page = send_request(&hub, "GET", &path, "").text;
    assert!(page.contains("a secret, which is not kept"), "{page}");
    assert_kept_nowhere(&home, page.as_bytes());
}

#[test]
fn a_secret_is_rejected_where_its_asker_is_not() {
    let Some(server) = Postgres::start() else { return };
    let database = server.url("postgres");
    let (ann, _hub) = asking_on(&format!("database = {database:?}"));
    let bob = Home::new();
    let _other = Serving::open_hub_after(bob.adjutant(["serve", "--database", &database]));
    let mut running = RunningCommand::start(&ann, &["please"]);
    running.wait_for_approval(QUESTION);
    let question = User::wait_for_question(&bob, "Codex asks");
    let name = &question["fields"][0]["name"];
    let answer = json!({"answer": {"ticket": question["ticket"], "answer": [[name, {"text": SECRET}]], "note": null,
                        "passphrase": null}});
    let refused = User::connect(&bob).request(&json!({"questions": answer}));
    assert!(refused.to_string().contains("on the machine of the client that asks"), "{refused}");
    User::connect(&ann).act(answer);
    assert!(running.end().0.contains("thanks"));
    let given = std::fs::read_to_string(ann.path().join("answer")).unwrap();
    assert!(given.contains(SECRET), "{given}");
}
