//! `adjutant log replay`: a recording as the server, and as the client.

use serde_json::json;

use super::{recording, recordings};
use crate::support::{Home, Peer};

const SAID: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"expand_prompt","arguments":{"command":"greet","input":"you"}}}"#,
    "\n",
);

fn adjutant() -> &'static str {
    env!("CARGO_BIN_EXE_adjutant")
}

/// A home with a recording of the prompts' server.
fn recorded() -> Home {
    let home = Home::new();
    home.write("prompts/greet.md", "Hello {{input}}!");
    let folder = home.path().join("prompts");
    let run = home.run(
        [
            "tap",
            "-o",
            "bug.jsonl",
            "--",
            adjutant(),
            "mcp",
            "prompts",
            "--prompts-dir",
            folder.to_str().unwrap(),
        ],
        SAID,
    );
    assert!(run.stdout.contains("Hello you!"), "{}", run.stdout);
    home
}

#[test]
fn as_the_server_it_answers_as_it_did() {
    let home = recorded();
    let mut server =
        Peer::start(&mut home.adjutant(["log", "replay", "bug.jsonl", "--report", "report.txt"]));
    let hello = server.initialize("2025-06-18");
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    let arguments = json!({"command": "greet", "input": "somebody"});
    let answer = server.call("mine", "tools/call", json!({"name": "expand_prompt", "arguments": arguments}));
    assert!(answer.to_string().contains("Hello you!"), "{answer}");
    let refused = server.call(9, "prompts/list", json!({}));
    assert_eq!(refused["error"]["message"], "the recording has no further `prompts/list`");
    let (status, stderr) = server.finish();
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains(r#"#3 tools/call: params.arguments.input was "you", is "somebody""#), "{stderr}");
    assert!(stderr.contains(r#"initialize: params.clientInfo.name was "c", is "test""#), "{stderr}");
    assert!(stderr.contains("not in the recording: {") && stderr.ends_with("differences\n"), "{stderr}");
    assert_eq!(std::fs::read_to_string(home.path().join("report.txt")).unwrap(), stderr);
}

#[test]
fn as_the_client_it_finds_what_a_server_does_otherwise() {
    let home = recorded();
    let folder = home.path().join("prompts");
    let replay = |home: &Home, more: &[&str]| {
        let server = ["--", adjutant(), "mcp", "prompts", "--prompts-dir", folder.to_str().unwrap()];
        home.run([["log", "replay", "bug.jsonl"].as_slice(), more, &server].concat(), "")
    };
    let same = replay(&home, &["--paced"]);
    assert_eq!((same.status.code(), same.stderr.as_str()), (Some(0), "5 lines replayed, all as recorded\n"));
    home.write("prompts/greet.md", "Good day, {{input}}.");
    let other = replay(&home, &[]);
    assert_eq!(other.status.code(), Some(1));
    assert!(other.stderr.contains("Good day, you."), "{}", other.stderr);
    let ignored = replay(&home, &["--ignore", "content", "--ignore", "structuredContent"]);
    assert_eq!(ignored.status.code(), Some(0), "{}", ignored.stderr);
    // A server that never answers, and one that is none.
    let silent =
        home.run(["log", "replay", "bug.jsonl", "--patience", "1", "--", "sh", "-c", "cat > /dev/null"], "");
    assert_eq!(silent.status.code(), Some(1));
    assert!(silent.stderr.contains("#5 never came: the answer to 1"), "{}", silent.stderr);
    let none = home.run(["log", "replay", "bug.jsonl", "--", "no-such-program"], "");
    assert!(none.stderr.contains("`no-such-program` cannot be executed"), "{}", none.stderr);
    assert!(recordings(&home).is_empty());
}

#[test]
fn a_crash_is_played_too() {
    let home = Home::new();
    let script = "read -r a; echo '{\"id\":1,\"result\":{}}'; read -r b; exit 5";
    let mut tap = Peer::start(&mut home.adjutant(["tap", "--", "sh", "-c", script]));
    tap.call(1, "a", json!({}));
    tap.send(&json!({"id": 2, "method": "b"}));
    // Its client still has something to say when it ends.
    assert_eq!(crate::support::wait(&mut tap.child, crate::support::DEADLINE).code(), Some(5));
    let file = recording(&home, "tap");
    let mut server = Peer::start(&mut home.adjutant(["log", "replay", file.to_str().unwrap()]));
    assert_eq!(server.call("x", "a", json!({}))["result"], json!({}));
    server.send(&json!({"id": "y", "method": "b"}));
    server.ended();
    let (status, stderr) = server.finish();
    assert_eq!(status.code(), Some(5), "{stderr}");
}

#[test]
fn what_is_no_recording_is_told() {
    let home = Home::new();
    home.write("text.txt", "hello\n");
    home.write(
        "newer.jsonl",
        r#"{"recording":9,"adjutant":"9","edge":"tap","session":"s","about":"","started":"","pid":1}"#,
    );
    let run = home.run(["log", "replay", "text.txt"], "");
    let none = "error: text.txt is no recording: its first line does not say what it is of\n\
                hint: `adjutant log list` names them all\n";
    assert_eq!(run.stderr, none);
    let run = home.run(["log", "show", "newer.jsonl"], "");
    let newer = "error: newer.jsonl has the format 9, and this version reads 1\n\
                 hint: read it with the adjutant that wrote it, or a newer one\n";
    assert_eq!(run.stderr, newer);
}
