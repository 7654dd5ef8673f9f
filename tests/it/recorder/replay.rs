//! `adjutant log replay`: a recording as the server, and as the client.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{read_recording, recording, recordings};
use crate::support::serving::Serving;
use crate::support::{DEADLINE, Home, Peer, wait, wait_for};

const CLIENT_INPUT: &str = concat!(
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
fn home_with_recording() -> Home {
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
        CLIENT_INPUT,
    );
    assert!(run.stdout.contains("Hello you!"), "{}", run.stdout);
    home
}

#[test]
fn a_replayed_server_gives_the_recorded_answers() {
    let home = home_with_recording();
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
fn a_replayed_client_reports_the_differences_of_a_server() {
    let home = home_with_recording();
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
    let error = replay(&home, &["--json"]);
    let error: serde_json::Value = serde_json::from_str(&error.stderr).unwrap();
    assert!(error["error"].as_str().unwrap().ends_with("differences"), "{error}");
    assert!(error["hints"].to_string().contains("Good day, you."), "{error}");
    let ignored = replay(&home, &["--ignore", "content", "--ignore", "structuredContent"]);
    assert_eq!(ignored.status.code(), Some(0), "{}", ignored.stderr);
    // A server that never answers, and a program that is not a server.
    let silent =
        home.run(["log", "replay", "bug.jsonl", "--timeout", "1", "--", "sh", "-c", "cat > /dev/null"], "");
    assert_eq!(silent.status.code(), Some(1));
    assert!(silent.stderr.contains(" was not received: the answer to 1"), "{}", silent.stderr);
    let none = home.run(["log", "replay", "bug.jsonl", "--", "no-such-program"], "");
    assert!(none.stderr.contains("`no-such-program` cannot be executed"), "{}", none.stderr);
    assert!(recordings(&home).is_empty());
}

#[test]
fn a_recorded_crash_is_replayed() {
    let home = Home::new();
    let script = "read -r a; echo '{\"id\":1,\"result\":{}}'; read -r b; exit 5";
    let mut tap = Peer::start(&mut home.adjutant(["tap", "--", "sh", "-c", script]));
    tap.call(1, "a", json!({}));
    tap.send(&json!({"id": 2, "method": "b"}));
    // The client still has messages to send at the end.
    assert_eq!(crate::support::wait(&mut tap.child, crate::support::DEADLINE).code(), Some(5));
    let file = recording(&home, "tap");
    let mut server = Peer::start(&mut home.adjutant(["log", "replay", file.to_str().unwrap()]));
    assert_eq!(server.call("x", "a", json!({}))["result"], json!({}));
    server.send(&json!({"id": "y", "method": "b"}));
    server.assert_ended();
    let (status, stderr) = server.finish();
    assert_eq!(status.code(), Some(5), "{stderr}");
}

#[test]
fn a_file_that_is_not_a_recording_is_rejected() {
    let home = Home::new();
    home.write("text.txt", "hello\n");
    home.write(
        "newer.jsonl",
        r#"{"recording":9,"adjutant":"9","connection":"tap","session":"s","about":"","started":"","pid":1}"#,
    );
    let run = home.run(["log", "replay", "text.txt"], "");
    let none = "error: text.txt is not a recording: its first line is not a header\n\
                hint: `adjutant log list` lists the recordings\n";
    assert_eq!(run.stderr, none);
    let run = home.run(["log", "show", "newer.jsonl"], "");
    let newer = "error: newer.jsonl has the format 9, but this version of adjutant reads the format 1\n\
                 hint: read it with the adjutant that wrote it, or a newer one\n";
    assert_eq!(run.stderr, newer);
}

/// A client over HTTP: one request, and the whole answer to it.
struct Curl {
    url: String,
    token: Option<String>,
}

impl Curl {
    fn ask(&self, method: &str, headers: &[&str], body: &str) -> String {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-i", "--max-time", "20", "-X", method, &self.url]);
        if method == "POST" {
            curl.args(["--data-binary", body, "-H", "content-type: application/json"]);
        }
        curl.args(["-H", "accept: application/json, text/event-stream"]);
        for header in headers {
            curl.args(["-H", header]);
        }
        if let Some(token) = &self.token {
            curl.args(["-H", &format!("authorization: Bearer {token}")]);
        }
        let answer = curl.output().unwrap();
        assert!(answer.status.success(), "{answer:?}");
        String::from_utf8(answer.stdout).unwrap()
    }

    /// A session: handshake, a call with progress, and its end. Returns the server's answers.
    fn session(&self, text: &str) -> Vec<String> {
        let mut lines = text.lines();
        let hello = self.ask("POST", &[], lines.next().unwrap());
        let id = hello.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim();
        let session = format!("mcp-session-id: {id}");
        let headers = [session.as_str(), "mcp-protocol-version: 2025-06-18"];
        let mut answers: Vec<String> = lines.map(|line| self.ask("POST", &headers, line)).collect();
        answers.push(self.ask("DELETE", &headers, ""));
        answers.insert(0, hello.clone());
        answers
    }
}

/// A hub with a recorded session; returns the recording and the answers.
fn home_with_http_recording() -> (Home, Serving, std::path::PathBuf, Vec<String>) {
    let home = Home::new();
    home.write(".adjutant/config.toml", "[log]\nrecord = [\"http\"]\n");
    home.write(".adjutant/prompts/greet.md", "Hello {{input}}!");
    let hub = Serving::hub(&home);
    let curl = Curl { url: hub.url("/mcp/prompts"), token: Some(hub.token()) };
    let answers = curl.session(CLIENT_INPUT);
    assert!(answers[2].contains("Hello you!"), "{answers:?}");
    let file = wait_for("the end of the session", || {
        let file = recordings(&home).pop()?;
        let text = std::fs::read_to_string(&file).unwrap();
        (text.matches("\"HTTP ").count() == 4 && text.ends_with('\n')).then_some(file)
    });
    (home, hub, file, answers)
}

/// A replay that listens, and its address.
fn start_replay(home: &Home, file: &std::path::Path) -> (Child, Curl) {
    let arguments = ["log", "replay", file.to_str().unwrap(), "--http", "127.0.0.1:0"];
    let mut child = home.adjutant(arguments).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    // The bytes that were read ahead are put back below.
    let stderr = child.stderr.take().unwrap();
    let mut reader = BufReader::with_capacity(1, stderr);
    reader.read_line(&mut line).unwrap();
    child.stderr = Some(reader.into_inner());
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    (child, Curl { url, token: None })
}

/// Interrupts a replay, and returns its exit code and its findings.
fn interrupt(mut child: Child) -> (Option<i32>, String) {
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = wait(&mut child, DEADLINE);
    let mut report = String::new();
    child.stderr.take().unwrap().read_to_string(&mut report).unwrap();
    (status.code(), report)
}

fn bodies(answers: &[String]) -> Vec<&str> {
    answers.iter().map(|answer| answer.split_once("\r\n\r\n").unwrap().1).collect()
}

#[test]
fn a_replayed_http_server_gives_the_recorded_answers() {
    let (home, _hub, file, then) = home_with_http_recording();
    let (child, curl) = start_replay(&home, &file);
    let now = curl.session(CLIENT_INPUT);
    assert_eq!(bodies(&now), bodies(&then));
    let status = |answers: &[String]| -> Vec<String> {
        answers.iter().map(|answer| answer.lines().next().unwrap().to_owned()).collect()
    };
    assert_eq!(status(&now), status(&then));
    let (code, report) = interrupt(child);
    assert_eq!((code, report.trim_end()), (Some(0), "10 lines replayed, all as recorded"));

    // Another order, other values, another protocol version, a request that was not recorded, a page of another site.
    let (child, curl) = start_replay(&home, &file);
    let reply = CLIENT_INPUT.lines().nth(2).unwrap().replace("you", "somebody");
    let answer = curl.ask("POST", &["mcp-session-id: other", "mcp-protocol-version: 2025-03-26"], &reply);
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("Hello you!"), "{answer}");
    let unknown = curl.ask("POST", &[], r#"{"jsonrpc":"2.0","id":7,"method":"prompts/list"}"#);
    assert!(unknown.contains("the recording has no further `prompts/list`"), "{unknown}");
    assert!(curl.ask("GET", &[], "").starts_with("HTTP/1.1 405 "));
    assert!(
        curl.ask("POST", &["host: example.com"], CLIENT_INPUT.lines().next().unwrap())
            .starts_with("HTTP/1.1 403 ")
    );
    let (code, report) = interrupt(child);
    assert_eq!(code, Some(1));
    for part in [
        r#"tools/call: params.arguments.input was "you", is "somebody""#,
        r#"POST (headers): mcp-protocol-version was "2025-06-18", is "2025-03-26""#,
        "was not received: initialize",
        "was not received: DELETE",
    ] {
        assert!(report.contains(part), "no `{part}` in\n{report}");
    }
}

#[test]
fn a_replayed_http_client_sends_the_recorded_requests() {
    let (home, hub, file, _) = home_with_http_recording();
    let token = home.path().join(".adjutant/token");
    let arguments = |url: &str| {
        let file = file.to_str().unwrap().to_owned();
        ["log", "replay", &file, "--to", url, "--token-file", token.to_str().unwrap()].map(str::to_owned)
    };
    let same = home.run(arguments(&hub.url("/mcp/prompts")), "");
    assert_eq!((same.status.code(), same.stderr.as_str()), (Some(0), "10 lines replayed, all as recorded\n"));
    // The replayed traffic was recorded as well.
    let last = wait_for("the recording of the replay", || recordings(&home).into_iter().nth(1));
    assert_eq!(read_recording(&last).0["connection"], "http");
    home.write(".adjutant/prompts/greet.md", "Good day, {{input}}.");
    let arguments = arguments(&hub.url("/mcp/prompts"));
    let other = wait_for("the other greeting", || {
        let other = home.run(arguments.clone(), "");
        (other.status.code() == Some(1)).then_some(other)
    });
    assert!(other.stderr.contains("Good day, you."), "{other}");
    let refused = home.run(["log", "replay", file.to_str().unwrap(), "--to", &hub.url("/mcp/prompts")], "");
    assert!(refused.stderr.contains("result.status was 200, is 401"), "{refused}");
    let nobody = home.run(["log", "replay", file.to_str().unwrap(), "--to", "http://127.0.0.1:1/mcp"], "");
    assert!(nobody.stderr.starts_with("error: 127.0.0.1 cannot be reached\nhint: "), "{nobody}");
    // The messages alone also replay over lines.
    let server = ["--", adjutant(), "mcp", "prompts", "--prompts-dir"];
    let prompts = home.path().join(".adjutant/prompts");
    let lines =
        [&["log", "replay", file.to_str().unwrap()][..], &server, &[prompts.to_str().unwrap()]].concat();
    let lines = home.run(lines, "");
    assert!(lines.stderr.contains("Good day, you."), "{lines}");
    let away = home.run(["log", "replay", file.to_str().unwrap(), "--http", "0.0.0.0:0"], "");
    assert!(away.stderr.starts_with("error: a recording is replayed on loopback addresses only"), "{away}");
    let tapped = home_with_recording();
    let none = tapped.run(["log", "replay", "bug.jsonl", "--http", "127.0.0.1:0"], "");
    assert!(none.stderr.starts_with("error: this recording has no HTTP messages"), "{none}");
}
