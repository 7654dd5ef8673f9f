//! Broken event streams over HTTP: an answer is delivered once the client has it, and can be fetched until then.

use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::fixtures::{Hub, User, example};
use crate::support::DEADLINE;

const BOTH: (&str, &str) = ("accept", "text/event-stream, application/json");

/// A tool call in a session, without a limit of waiting.
fn call(id: i64, name: &str, arguments: Value) -> String {
    let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": id}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// Asks a question on a stream that breaks at once, and returns the id of the stream's first event.
fn ask_and_break(hub: &Hub, session: &str, id: i64, title: &str) -> (String, Value) {
    let mut stream = hub.stream(session, &call(id, "triggerPopup", example(title)));
    let first = stream.id();
    let question = User::wait_for_question(&hub.home, title);
    drop(stream);
    (first, question)
}

/// The additional members of a session's next result.
fn next_result(hub: &Hub, session: &str, id: i64) -> Value {
    let mut stream = hub.stream(session, &call(id, "list_prompts", json!({})));
    loop {
        let (_, message) = stream.next();
        if message["id"] == json!(id) {
            // The stream is read to its end, so that the result has arrived.
            stream.assert_ended();
            return message["result"]["structuredContent"]["earlier_answers"].clone();
        }
    }
}

#[test]
fn a_broken_stream_resumes_with_the_answer_given_meanwhile() {
    let hub = Hub::new();
    for (id, answered_first) in [(1, true), (2, false)] {
        let session = hub.session("2025-11-25", &json!({}));
        let title = format!("Resumed {id}");
        let (first, question) = ask_and_break(&hub, &session, id, &title);
        if answered_first {
            hub.user().choose(&question, "yes");
        }
        let headers = [("mcp-session-id", session.as_str()), ("last-event-id", first.as_str()), BOTH];
        let end = Instant::now() + DEADLINE;
        // The answer may still be on its way through the hub; then the stream ends without it.
        let response = loop {
            let mut resumed = hub.events("/mcp", &headers);
            if !answered_first {
                hub.user().choose(&question, "yes");
            }
            if let Some((_, message)) = resumed.next_response() {
                // A client that closes before the end of the stream may not have had all of it.
                resumed.assert_ended();
                break message;
            }
            assert!(Instant::now() < end, "the answer is never resumed");
        };
        assert_eq!(response["id"], json!(id), "{response}");
        assert_eq!(response["result"]["structuredContent"]["selectedValue"], json!("yes"), "{response}");
        assert_eq!(next_result(&hub, &session, 9), Value::Null, "it was delivered once");
    }
}

#[test]
fn an_answer_that_the_client_did_not_read_is_sent_again_when_its_stream_is_resumed() {
    let hub = Hub::new();
    let session = hub.session("2025-11-25", &json!({}));
    let mut stream = hub.stream(&session, &call(1, "triggerPopup", example("Unread")));
    let first = stream.id();
    let question = User::wait_for_question(&hub.home, "Unread");
    let mut watch = User::follow(&hub.home);
    hub.user().choose(&question, "yes");
    assert_eq!(watch.wait_for_outcome(&question), json!("answered"));
    // The kernel has acknowledged the bytes, and nobody reads them.
    let end = Instant::now() + DEADLINE;
    let counts_as_delivered = || {
        let mut sqlite = Command::new("sqlite3");
        sqlite.arg(hub.home.path().join(".adjutant/adjutant.db"));
        sqlite.arg("SELECT COUNT(*) FROM question_deliveries WHERE delivered_at IS NOT NULL");
        let output = sqlite.output().expect("no sqlite3: apt-get install sqlite3");
        output.stdout == b"1\n"
    };
    while !counts_as_delivered() {
        assert!(Instant::now() < end, "it is never delivered");
    }
    drop(stream);
    let headers = [("mcp-session-id", session.as_str()), ("last-event-id", first.as_str()), BOTH];
    for round in 0..2 {
        let mut resumed = hub.events("/mcp", &headers);
        let (_, message) = resumed.next_response().unwrap_or_else(|| panic!("round {round}: nothing came"));
        assert_eq!(message["result"]["structuredContent"]["selectedValue"], json!("yes"), "{message}");
    }
}

#[test]
fn an_answer_lost_with_its_stream_is_in_the_sessions_next_result() {
    let hub = Hub::new();
    let session = hub.session("2025-11-25", &json!({}));
    let other = hub.session("2025-11-25", &json!({}));
    let (_, question) = ask_and_break(&hub, &session, 1, "Broken");
    hub.user().choose(&question, "yes");
    let end = Instant::now() + DEADLINE;
    let mut id = 2;
    let answer = loop {
        assert_eq!(next_result(&hub, &other, id), Value::Null, "the other session did not ask");
        let answer = next_result(&hub, &session, id);
        if answer != Value::Null {
            break answer;
        }
        assert!(Instant::now() < end, "the answer never came");
        id += 1;
    };
    assert_eq!((&answer[0]["title"], &answer[0]["selectedValue"]), (&json!("Broken"), &json!("yes")));
    assert_eq!(next_result(&hub, &session, id + 1), Value::Null, "it was delivered once");
    // A delivered outcome is never used again.
    let _again = hub.stream(&session, &call(id + 2, "triggerPopup", example("Broken")));
    assert_ne!(User::wait_for_question(&hub.home, "Broken")["ticket"], question["ticket"]);
}
