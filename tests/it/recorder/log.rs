//! `adjutant log list | tail | show | export`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::{direction_bytes, read_recording, recording};
use crate::support::Home;

/// A server that answers one call with a secret and an escape sequence.
const SERVER: &str = r#"read -r hello; echo '{"id":1,"result":{"name":"s"}}'
read -r call; echo '{"method":"item/started","params":{"text":"\u001b[2J\u202e ``` end"}}'
echo '{"id":2,"result":{"output":"export OPENAI_API_KEY=sk-abcdefghijklmnopqrstuvwx"}}'; echo oops >&2; cat"#;
const CLIENT_INPUT: &str = "{\"id\":1,\"method\":\"initialize\",\"params\":{\"headers\":{\"Authorization\":\"Bearer hunter2\"}}}\n\
                    {\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"look\"}}\n";

fn home_with_recording() -> Home {
    let home = Home::new();
    let run = home.run(["tap", "--", "sh", "-c", SERVER], CLIENT_INPUT);
    assert!(run.status.success());
    home
}

/// The lines without their times.
fn show(home: &Home, more: &[&str]) -> Vec<String> {
    let run = home.run([["log", "show"].as_slice(), more].concat(), "");
    assert!(run.status.success(), "{}", run.stderr);
    let timeless = |line: &str| {
        let mut words = line.split_whitespace();
        let _ = (words.next(), words.next());
        words.collect::<Vec<_>>().join(" ")
    };
    run.stdout.lines().map(timeless).filter(|line| line.starts_with(['c', 's'])).collect()
}

#[test]
fn log_show_lists_methods_and_directions_and_hides_secrets() {
    let home = home_with_recording();
    let all = show(&home, &[]);
    assert!(
        all.contains(&r#"c2s initialize #1 {"headers":{"Authorization":"[redacted]"}}"#.to_owned()),
        "{all:?}"
    );
    assert!(
        all.contains(&r#"s2c result #2 {"output":"export OPENAI_API_KEY=[redacted]"}"#.to_owned()),
        "{all:?}"
    );
    // A control character stays JSON's escape.
    assert!(all.iter().any(|line| line.contains(r"\u001b[2J") && line.contains("⟨U+202E⟩")), "{all:?}");
    assert!(show(&home, &["--secrets"])[0].contains("hunter2"));

    let call = show(&home, &["--method", "tools/call"]);
    assert_eq!(call.len(), 2, "the request and its answer: {call:?}");
    assert!(call[0].starts_with("c2s tools/call #2") && call[1].starts_with("s2c result #2"), "{call:?}");
    assert_eq!(show(&home, &["--method", "item/*"]).len(), 1);
    assert_eq!(show(&home, &["--method", "tools/call", "--direction", "s2c"]).len(), 1);
    let run = home.run(["log", "show", "--direction", "err", "--json"], "");
    assert_eq!(run.lines()[0]["line"], "oops");
    // By a part of its name, by its content, and by a text that is not there.
    let name = recording(&home, "tap").file_stem().unwrap().to_str().unwrap().to_owned();
    assert_eq!(show(&home, &[&name[4..20]]), all);
    assert_eq!(show(&home, &["hunter2"]), all, "a session is found by what others call it");
    let run = home.run(["log", "show", "nothing-like-it"], "");
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(
        run.stderr,
        "error: unknown recording `nothing-like-it`\nhint: `adjutant log list` lists the recordings\n"
    );
    let run = home.run(["log", "show", "--direction", "up"], "");
    assert_eq!(run.status.code(), Some(2));

    let list = home.run(["log", "list", "--json"], "");
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(
        (&list["items"][0]["session"], &list["items"][0]["connection"]),
        (&name.into(), &"tap".into())
    );
    let empty = Home::new().run(["log", "show"], "");
    assert!(empty.stderr.starts_with("error: nothing is recorded yet\nhint: "), "{}", empty.stderr);
}

#[test]
fn an_exported_recording_is_one_file_without_secrets() {
    let home = home_with_recording();
    let run = home.run(["log", "export", "--output", "bug.jsonl"], "");
    assert!(run.status.success() && run.stderr.contains("2 secrets redacted"), "{}", run.stderr);
    let file = home.path().join("bug.jsonl");
    let (_, entries) = read_recording(&file);
    assert_eq!(entries.last().unwrap()["line"], r#"{"redacted":{"named value":2}}"#);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("sk-abcdef"), "{text}");
    let (_, original) = read_recording(&recording(&home, "tap"));
    let untouched = |entries: &[Value]| {
        direction_bytes(entries, "s2c").split(|byte| *byte == b'\n').nth(1).unwrap().to_vec()
    };
    assert_eq!(untouched(&entries), untouched(&original), "what holds no secret is as it was, byte by byte");
    assert_eq!(show(&home, &["bug.jsonl"]), show(&home, &[]));
    let repeated = home.run(["log", "export", "--output", "bug.jsonl"], "");
    assert_eq!(repeated.status.code(), Some(1), "no file is written over");

    let page =
        home.run(["log", "export", "bug.jsonl", "--format", "markdown", "--direction", "s2c"], "").stdout;
    assert!(page.starts_with("# Recording tap-"), "{page}");
    assert!(page.contains(" s · item/started\n"), "{page}");
    // The fence is longer than any in the text.
    assert!(page.contains("````json\n") && page.contains("⟨U+202E⟩"), "{page}");
    assert!(page.contains("OPENAI_API_KEY=[redacted]"), "{page}");
}

#[test]
fn log_tail_shows_messages_as_they_pass() {
    let home = home_with_recording();
    let last = home.run(["log", "tail", "--no-follow", "-n", "2", "--json"], "").lines();
    assert_eq!(last.len(), 2);
    assert_eq!((&last[1]["connection"], &last[1]["exit"]), (&"tap".into(), &0.into()));
    home.run(["tap", "--", "cat"], "{\"id\":4,\"method\":\"ping\"}\n");
    let mut tail = home
        .adjutant(["log", "tail", "-n", "1", "--method", "ping", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("ping"), "the newest is printed before the next ones");
    // A recording that begins later is followed too.
    let run = home.run(["tap", "--", "cat"], "{\"id\":5,\"method\":\"ping\"}\n{\"method\":\"pong\"}\n");
    assert!(run.status.success());
    let directions: Vec<Value> = (0..2)
        .map(|_| serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["dir"].clone())
        .collect();
    assert_eq!(directions, ["c2s", "s2c"]);
    // The reader has gone: the command ends with the next line.
    drop(lines);
    home.run(["tap", "--", "cat"], "{\"id\":6,\"method\":\"ping\"}\n");
    crate::support::wait(&mut tail, crate::support::DEADLINE);
}
