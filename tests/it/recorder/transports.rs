//! Which bytes of each transport are recorded, and which only on request.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{direction_bytes, read_recording, recording, recordings};
use crate::support::serving::Serving;
use crate::support::task_fixture::TaskFixture;
use crate::support::{Home, wait_for};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

fn home_recording(edges: &str) -> Home {
    let home = Home::new();
    home.write(".adjutant/config.toml", format!("[log]\nrecord = [{edges}]\n"));
    home
}

#[test]
fn a_stdio_client_is_recorded_when_configured() {
    let home = Home::new();
    let sent = format!("not json\r\n\n{LIST}");
    let silent = home.run(["mcp", "prompts"], &sent);
    assert!(recordings(&home).is_empty(), "only Codex is recorded unless more is asked for");
    home.write(".adjutant/config.toml", "[log]\nrecord = [\"stdio\"]\n");
    let run = home.run(["mcp", "prompts"], &sent);
    assert_eq!(run.stdout, silent.stdout);
    let (header, entries) = read_recording(&recording(&home, "stdio"));
    assert_eq!(header["about"], "server prompts");
    assert_eq!(direction_bytes(&entries, "c2s"), sent.as_bytes());
    assert_eq!(direction_bytes(&entries, "s2c"), run.stdout.as_bytes());
    assert_eq!(entries.iter().filter(|entry| entry["end"] == true).count(), 2);
}

#[test]
fn a_socket_client_is_recorded_by_the_hub() {
    let home = home_recording(r#""socket""#);
    let _hub = Serving::socket_hub(&home);
    let run = home.run(["connect", "prompts"], format!("{LIST}\n"));
    let file = wait_for("the recording", || {
        let file = recordings(&home).pop()?;
        let text = std::fs::read_to_string(&file).unwrap();
        (text.contains(r#""end":true"#) && text.ends_with('\n')).then_some(file)
    });
    let (header, entries) = read_recording(&file);
    assert_eq!(header["connection"], "socket");
    assert!(header["about"].as_str().unwrap().starts_with("server prompts, process "), "{header}");
    // The relay reports the end of its client's input, and keeps its own side open for acknowledgements.
    let ended = r#"{"jsonrpc":"2.0","method":"adjutant/input_ended"}"#;
    assert_eq!(String::from_utf8(direction_bytes(&entries, "c2s")).unwrap(), format!("{LIST}\n{ended}\n"));
    assert_eq!(direction_bytes(&entries, "s2c"), run.stdout.as_bytes());
}

#[test]
fn an_http_client_is_recorded_without_its_token() {
    let home = home_recording(r#""http""#);
    let hub = Serving::hub(&home);
    let post = |session: Option<&str>, body: &str| {
        let mut curl = std::process::Command::new("curl");
        curl.args(["-sS", "-i", "-X", "POST", &hub.url("/mcp/prompts"), "--data-binary", body]);
        curl.args([
            "-H",
            "content-type: application/json",
            "-H",
            &format!("authorization: Bearer {}", hub.token()),
        ]);
        curl.args(["-H", "accept: application/json, text/event-stream", "-H", "cookie: a=of-no-concern"]);
        if let Some(session) = session {
            curl.args(["-H", &format!("mcp-session-id: {session}")]);
        }
        let answer = curl.output().unwrap();
        assert!(answer.status.success(), "{answer:?}");
        String::from_utf8(answer.stdout).unwrap()
    };
    let alone = post(None, LIST);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let hello = serde_json::to_string_pretty(&hello).unwrap();
    let opened = post(None, &hello);
    let id = opened.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim().to_owned();
    let listed = post(Some(&id), LIST);
    let body = |answer: &str| answer.split_once("\r\n\r\n").unwrap().1.to_owned();
    let ends = |file: &PathBuf, answer: &str| {
        let text = std::fs::read_to_string(file).unwrap();
        // The last line may still be in flight.
        let entries: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let reply = String::from_utf8(direction_bytes(&entries, "s2c")).unwrap();
        reply.trim_end().ends_with(body(answer).trim())
    };
    let files = wait_for("both recordings", || {
        let files = recordings(&home);
        (files.len() == 2 && ends(&files[0], &alone) && ends(&files[1], &listed)).then_some(files)
    });
    let (_, first) = read_recording(&files[0]);
    assert_eq!(direction_bytes(&first, "c2s"), format!("{LIST}\n").as_bytes());
    assert_eq!(direction_bytes(&first, "s2c"), format!("{}\n", body(&alone)).as_bytes());
    // A session has a separate recording, from its handshake on; a body of several lines is one message.
    let (_, second) = read_recording(&files[1]);
    assert_eq!(direction_bytes(&second, "c2s"), format!("{hello}\n{LIST}\n").as_bytes());
    let reply = String::from_utf8(direction_bytes(&second, "s2c")).unwrap();
    assert!(reply.contains(body(&opened).trim()) && reply.contains(body(&listed).trim()), "{reply}");
    let notes = |entries: &[Value]| -> Vec<String> {
        let notes = entries.iter().filter(|entry| entry["dir"] == "note");
        notes.filter_map(|entry| Some(entry["line"].as_str()?.to_owned())).collect()
    };
    let common = "POST; accept: application/json, text/event-stream; content-type: application/json";
    assert_eq!(notes(&first), [common, "HTTP 200 OK; content-type: application/json"]);
    // The session id is replaced by an alias, the same in its answer and in each request.
    let reply = notes(&second);
    let alias = reply[1].split("mcp-session-id: ").nth(1).unwrap_or_else(|| panic!("{reply:?}"));
    assert!(alias.starts_with("session-") && reply[0] == common, "{reply:?}");
    assert_eq!(reply[2], format!("{common}; mcp-session-id: {alias}"));
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        for secret in [hub.token().as_str(), id.as_str(), "of-no-concern", "authorization"] {
            assert!(!text.contains(secret), "`{secret}` is in\n{text}");
        }
    }
}

#[test]
fn a_runner_is_recorded_with_its_input_and_output() {
    let fixture = TaskFixture::new();
    fixture.configure("[log]\nrecord = [\"runner\"]", &["fake"]);
    fixture
        .program("fake", "#!/bin/sh\ncat > /dev/null\nprintf 'one\\377\\r\\n{\"two\":2}\\n'\necho no >&2\n");
    let mut peer = fixture.connect_with_runner("fake");
    peer.call(1, "tools/call", json!({"name": "delegate_task", "arguments": fixture.task("look at it")}));
    peer.finish();
    let (header, entries) = read_recording(&recording(&fixture.home, "runner"));
    assert!(header["about"].as_str().unwrap().starts_with("fake, task "), "{header}");
    assert!(header["command"][0].as_str().unwrap().ends_with("bin/fake"), "{header}");
    assert_eq!(direction_bytes(&entries, "c2s"), b"You review.\n\nTask: look at it\n");
    assert_eq!(direction_bytes(&entries, "s2c"), b"one\xff\r\n{\"two\":2}\n");
    assert_eq!(direction_bytes(&entries, "err"), b"no\n");
    assert!(entries.iter().any(|entry| entry["exit"] == 0), "{entries:?}");
}
