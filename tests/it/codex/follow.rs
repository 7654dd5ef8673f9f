//! Readers of a session: slow ones, those that wait for their turn, those without a prompt, and those of all items.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::faults::home_with;
use super::{RunningCommand, codex, threads};
use crate::support::wait_for;

/// A turn that ends when the file `go` is there, and then turns that answer at once.
const TURNS: &str = r#"while ! test -e "$HOME/go"; do sleep 0.05; done; say first; done_
number=1
while read -r turn; do
number=$((number + 1)); id="${turn#*:}"; id="${id%%,*}"
line '{"id":'"$id"',"result":{"turn":{"id":"u-'$number'"}}}'
line '{"method":"turn/started","params":{"threadId":"t-1","turn":{"id":"u-'$number'"}}}'
say "answer $number"; done_
done"#;

#[test]
fn a_slow_reader_gets_every_event() {
    const EVENTS: usize = 40_000;
    let turn =
        format!(r#"seq 1 {EVENTS} | sed 's/.*/{{"method":"count","params":{{"n":&}}}}/'; say done; done_"#);
    let (home, _hub) = home_with(&turn);
    let mut child = home
        .adjutant(["codex", "--json", "count"])
        .current_dir(home.path().join("work"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Nothing is read until all has happened.
    wait_for("the turn has ended", || {
        threads(&home).first().is_some_and(|thread| thread["last_end"] == "completed").then_some(())
    });
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines: Vec<Value> = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert!(child.wait().unwrap().success());
    let counted: Vec<String> = lines
        .iter()
        .filter(|line| line["batch"]["notification"]["method"] == "count")
        .map(|line| line["batch"]["notification"]["summary"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<String> = (1..=EVENTS).map(|n| format!("{{\"n\":{n}}}")).collect();
    assert!(counted == expected, "{} events", counted.len());
    let numbers: Vec<u64> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]));
}

#[test]
fn the_stream_says_which_summaries_are_cut() {
    let long = "é".repeat(600);
    let turn = format!(
        r#"line '{{"method":"short","params":{{"text":"whole"}}}}'; line '{{"method":"long","params":{{"text":"{long}"}}}}'; say done; done_"#
    );
    let (home, _hub) = home_with(&turn);
    let finished = codex(&home, &["--json", "hello"]);
    assert!(finished.status.success(), "{finished}");
    let lines: Vec<Value> = finished.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let notification = |method: &str| {
        let found = lines.iter().map(|line| &line["batch"]["notification"]);
        found.into_iter().find(|notification| notification["method"] == method).unwrap().clone()
    };
    let short = serde_json::json!({"method": "short", "summary": "{\"text\":\"whole\"}"});
    assert_eq!(notification("short"), short);
    let long = notification("long");
    assert_eq!((&long["cut"], long["summary"].as_str().unwrap().chars().count()), (&Value::Bool(true), 513));
}

#[test]
fn the_stream_of_a_queued_reply_begins_at_its_turn() {
    let (home, _hub) = home_with(TURNS);
    let mut first = RunningCommand::start(&home, &["one", "--json"]);
    first.wait_for("turn_started");
    let mut second = RunningCommand::start(&home, &["--thread", "t-1", "--json", "two"]);
    second.wait_for("\"thread\"");
    home.write("go", "");
    let (output, code) = second.end();
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("answer 2") && !output.contains("first"), "{output}");
    let (output, _) = first.end();
    assert!(output.contains("first") && !output.contains("answer 2"), "{output}");
}

#[test]
fn a_thread_is_followed_without_a_prompt() {
    let (home, _hub) = home_with(TURNS);
    home.write("go", "");
    assert!(codex(&home, &["one"]).status.success());
    let mut follower = RunningCommand::start(&home, &["follow", "t-1", "--json"]);
    follower.wait_for("\"thread\"");
    assert!(codex(&home, &["--thread", "t-1", "two"]).status.success());
    let said = follower.wait_for("answer 2");
    assert!(serde_json::from_str::<Value>(&said).unwrap()["seq"].is_u64(), "{said}");
    follower.interrupt();
    let (output, _) = follower.end();
    assert!(!output.contains("first"), "{output}");
    let unknown = codex(&home, &["follow", "t-9"]);
    assert_eq!(unknown.status.code(), Some(1), "{unknown}");
}

#[test]
fn all_items_of_a_thread_are_shown() {
    let items = r#"{"method":"item/completed","params":{"threadId":"t-1","turnId":"u-1","item":{"type":"agentMessage","id":"m-&","text":"item &."}}}"#;
    let (home, _hub) = home_with(&format!("seq 1 1200 | sed 's!.*!{items}!'; done_"));
    assert!(codex(&home, &["count"]).status.success());
    let shown = codex(&home, &["show", "t-1", "--all"]).stdout;
    let numbers: Vec<&str> = shown.lines().filter_map(|line| line.split("item ").nth(1)).collect();
    let expected: Vec<String> = (1..=1200).map(|number| format!("{number}.")).collect();
    assert_eq!(numbers, expected);
    assert!(!codex(&home, &["show", "t-1"]).stdout.contains("item 1."));
}
