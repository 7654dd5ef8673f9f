//! The transport's answer to every line that a client can send.
//!
//! One table serves stdio and the hub's socket; `http/hostile_input.rs` sends the same bodies over HTTP.

use serde_json::{Value, json};

use crate::support::serving::Serving;
use crate::support::{Home, Peer};

/// The required answer to one line, by id: a code, or a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// Nothing at all.
    Silence,
    /// A result under this id.
    Result(&'static str),
    /// An error with this code under this id (JSON text).
    Error(&'static str, i64),
}
use Expected::{Error, Result, Silence};

/// Every line, and its required answer. Ids are JSON texts.
pub const BATTERY: &[(&str, &[u8], Expected)] = &[
    ("not JSON", b"this is not json", Error("null", -32700)),
    ("cut off", br#"{"jsonrpc":"2.0","id":1,"method":"pi"#, Error("null", -32700)),
    ("two values", br#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, Error("null", -32700)),
    ("not UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", Error("null", -32700)),
    ("a NUL", b"\x00", Error("null", -32700)),
    ("a Content-Length header", b"Content-Length: 46", Error("null", -32700)),
    ("a scalar", b"42", Error("null", -32600)),
    ("a string", b"\"ping\"", Error("null", -32600)),
    ("null", b"null", Error("null", -32600)),
    ("an empty object", b"{}", Error("null", -32600)),
    ("an empty batch", b"[]", Error("null", -32600)),
    ("a batch", br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Error("null", -32600)),
    ("a broken batch", br#"[{"jsonrpc":"2.0","id":1,"#, Error("null", -32700)),
    ("jsonrpc 1.0", br#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, Error("7", -32600)),
    ("jsonrpc as a number", br#"{"jsonrpc":2.0,"id":7,"method":"ping"}"#, Error("7", -32600)),
    ("jsonrpc missing", br#"{"id":7,"method":"ping"}"#, Error("7", -32600)),
    ("jsonrpc missing, a string id", br#"{"id":"seven","method":"ping"}"#, Error("\"seven\"", -32600)),
    ("id null", br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Error("null", -32600)),
    ("id a fraction", br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Error("null", -32600)),
    ("id a boolean", br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, Error("null", -32600)),
    ("id an object", br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Error("null", -32600)),
    ("id an array", br#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, Error("null", -32600)),
    ("id over 64 bits", br#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}"#, Error("null", -32600)),
    ("id negative", br#"{"jsonrpc":"2.0","id":-3,"method":"ping"}"#, Result("-3")),
    ("id a string", br#"{"jsonrpc":"2.0","id":"a b","method":"ping"}"#, Result("\"a b\"")),
    ("id an empty string", br#"{"jsonrpc":"2.0","id":"","method":"ping"}"#, Result("\"\"")),
    ("a member twice, the last counts", br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, Result("2")),
    ("an unknown member", br#"{"jsonrpc":"2.0","id":2,"method":"ping","extra":[1,{}]}"#, Result("2")),
    ("method missing", br#"{"jsonrpc":"2.0","id":3}"#, Error("3", -32600)),
    ("method a number", br#"{"jsonrpc":"2.0","id":3,"method":5}"#, Error("3", -32600)),
    ("method and result", br#"{"jsonrpc":"2.0","id":3,"method":"ping","result":{}}"#, Error("null", -32600)),
    ("result and error", br#"{"jsonrpc":"2.0","id":3,"result":{},"error":{"code":1,"message":"x"}}"#, Error("null", -32600)),
    ("an unknown method", br#"{"jsonrpc":"2.0","id":4,"method":"no/such"}"#, Error("4", -32601)),
    ("an empty method", br#"{"jsonrpc":"2.0","id":4,"method":""}"#, Error("4", -32601)),
    ("an unknown notification", br#"{"jsonrpc":"2.0","method":"notifications/no/such","params":{}}"#, Silence),
    ("a notification with bad params", br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#, Silence),
    ("a cancel of nothing", br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#, Silence),
    ("initialized, short form", br#"{"jsonrpc":"2.0","method":"initialized"}"#, Silence),
    ("initialized", br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, Silence),
    ("an unsolicited answer", br#"{"jsonrpc":"2.0","id":77,"result":{}}"#, Silence),
    ("an unsolicited error", br#"{"jsonrpc":"2.0","id":77,"error":{"code":-1,"message":"x"}}"#, Silence),
    ("tools/call without params", br#"{"jsonrpc":"2.0","id":5,"method":"tools/call"}"#, Error("5", -32602)),
    ("tools/call without a name", br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}"#, Error("5", -32602)),
    ("tools/call, name a number", br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":5}}"#, Error("5", -32602)),
    (
        "tools/call, arguments a string",
        br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"list_prompts","arguments":"x"}}"#,
        Error("5", -32602),
    ),
    ("params an array", br#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":[]}"#, Error("5", -32602)),
    ("params a string", br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":"x"}"#, Error("5", -32602)),
    ("_meta a string", br#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":"x"}}"#, Error("5", -32602)),
    ("a cursor that is not a string", br#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":{}}}"#, Error("5", -32602)),
    ("prompts/get without a name", br#"{"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{}}"#, Error("5", -32602)),
    ("initialize without params", br#"{"jsonrpc":"2.0","id":5,"method":"initialize"}"#, Error("5", -32602)),
    (
        "initialize, version a number",
        br#"{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"x","version":"1"}}}"#,
        Error("5", -32602),
    ),
    ("completion/complete without params", br#"{"jsonrpc":"2.0","id":5,"method":"completion/complete","params":{}}"#, Error("5", -32602)),
    ("discover without _meta", br#"{"jsonrpc":"2.0","id":5,"method":"server/discover","params":{}}"#, Error("5", -32602)),
    ("subscribe without a filter", br#"{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{}}"#, Error("5", -32602)),
    ("a lone surrogate", br#"{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{"x":"\ud800"}}"#, Error("6", -32600)),
    ("ping without params", br#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#, Result("8")),
    ("params null", br#"{"jsonrpc":"2.0","id":8,"method":"tools/list","params":null}"#, Result("8")),
    ("white space around", b"  \t{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"} \t ", Result("8")),
    ("CR LF", b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}\r", Result("8")),
    ("an empty line", b"", Silence),
    ("a line of blanks", b"   \t\r", Silence),
    ("a separator inside a string", "{\"jsonrpc\":\"2.0\",\"id\":\"\u{2028}\",\"method\":\"ping\"}".as_bytes(), Result("\"\u{2028}\"")),
];

/// Sends each line of the table, then a `ping`: the answer must be the expected one, and the ping's the next.
fn run_battery(peer: &mut Peer) {
    for (number, (name, line, expected)) in BATTERY.iter().enumerate() {
        let probe = json!(format!("probe-{number}"));
        peer.write(line);
        peer.write(b"\n");
        peer.send(&json!({"jsonrpc": "2.0", "id": probe, "method": "ping"}));
        let mut answers = Vec::new();
        loop {
            let message = peer.receive();
            if message["id"] == probe {
                break;
            }
            answers.push(message);
        }
        // An answer through a handler may come after the ping's; it comes before the next one's.
        if answers.is_empty() && *expected != Silence {
            answers.push(peer.receive());
        }
        match expected {
            Silence => assert!(answers.is_empty(), "{name}: {answers:?}"),
            Result(id) => {
                assert_eq!(answers.len(), 1, "{name}: {answers:?}");
                assert_eq!(answers[0]["id"], serde_json::from_str::<Value>(id).unwrap(), "{name}");
                assert!(answers[0].get("result").is_some(), "{name}: {answers:?}");
            }
            Error(id, code) => {
                assert_eq!(answers.len(), 1, "{name}: {answers:?}");
                assert_eq!(answers[0]["id"], serde_json::from_str::<Value>(id).unwrap(), "{name}");
                assert!(answers[0].get("id").is_some(), "{name}: the id member is always there");
                assert_eq!(answers[0]["error"]["code"], *code, "{name}: {answers:?}");
                assert!(!answers[0]["error"]["message"].as_str().unwrap().is_empty(), "{name}");
            }
        }
    }
}

fn home() -> Home {
    let home = Home::new();
    home.write("prompts/echo.md", "{{input}}");
    home
}

fn server(home: &Home) -> Peer {
    Peer::prompts(home, &home.path().join("prompts"))
}

#[test]
fn every_line_is_answered_on_stdio_before_a_handshake() {
    let home = home();
    let mut peer = server(&home);
    run_battery(&mut peer);
    assert!(peer.finish().0.success());
}

#[test]
fn every_line_is_answered_on_stdio_after_a_handshake() {
    let home = home();
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut peer = server(&home);
        peer.initialize(revision);
        run_battery(&mut peer);
        assert!(peer.finish().0.success());
    }
}

#[test]
fn every_line_is_answered_through_the_hubs_socket() {
    let home = home();
    let _hub = Serving::socket_hub(&home);
    for revision in [None, Some("2024-11-05"), Some("2025-11-25")] {
        let mut peer = Peer::start(&mut home.adjutant(["connect", "prompts", "--no-start"]));
        if let Some(revision) = revision {
            peer.initialize(revision);
        }
        run_battery(&mut peer);
        assert!(peer.finish().0.success());
    }
}

#[test]
fn a_byte_order_mark_is_tolerated_on_the_first_line_alone() {
    let home = home();
    let _hub = Serving::socket_hub(&home);
    let relay = Peer::start(&mut home.adjutant(["connect", "prompts", "--no-start"]));
    for mut peer in [server(&home), relay] {
        peer.write("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
        assert!(peer.receive().get("result").is_some());
        for line in ["\u{feff}\n", "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n"] {
            peer.write(line);
            assert_eq!(peer.receive()["error"]["code"], -32700);
        }
        let (status, stderr) = peer.finish();
        assert!(status.success(), "it waits for an answer to a line that is no request: {stderr}");
    }
}

#[test]
fn a_last_line_without_a_newline_is_served() {
    let home = home();
    let finished = home.run(["mcp", "prompts"], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(finished.stdout, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    assert!(finished.status.success());
}

#[test]
fn input_split_at_any_byte_gets_the_same_answers() {
    let home = home();
    let script = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n\n{\"jsonrpc\":\"2.0\",\"id\":\"ü\",\"method\":\"ping\"}\nbad\n[]\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}";
    let whole = sorted(&home.run(["mcp", "prompts"], script).stdout);
    assert_eq!(whole.len(), 5, "{whole:?}");
    for at in 1..script.len() {
        let mut peer = server(&home);
        let (head, tail) = script.as_bytes().split_at(at);
        peer.write(head);
        // A line that is whole in the head is answered before the tail exists, so the split is a real one.
        let due = head
            .split(|byte| *byte == b'\n')
            .rev()
            .skip(1)
            .filter(|line| !line.trim_ascii().is_empty())
            .count();
        let mut lines: Vec<String> = (0..due).map(|_| peer.line()).collect();
        peer.write(tail);
        peer.close();
        while lines.len() < whole.len() {
            lines.push(peer.line());
        }
        peer.assert_ended();
        assert_eq!(sorted(&lines.join("\n")), whole, "split at byte {at}");
    }
}

fn sorted(output: &str) -> Vec<String> {
    let mut lines: Vec<String> = output.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn a_line_over_the_limit_is_rejected_with_its_id_and_the_next_is_served() {
    let home = home();
    let mut peer = server(&home);
    let long = "x".repeat(17 * 1024 * 1024);
    peer.send(&json!({"jsonrpc": "2.0", "id": 41, "method": "tools/call", "params": {"name": long}}));
    peer.send(&json!({"jsonrpc": "2.0", "id": 42, "method": "ping"}));
    let refused = peer.receive();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(41), &json!(-32600)));
    assert_eq!(peer.receive()["id"], 42);
    peer.send(&json!({"jsonrpc": "2.0", "method": long, "id": 43}));
    assert_eq!(peer.receive()["id"], Value::Null, "an id after the limit cannot be read");
    let fits = "x".repeat(8 * 1024 * 1024);
    let answer = peer.call(44, "tools/call", json!({"name": fits}));
    assert_eq!(answer["error"]["code"], -32601);
    assert!(answer["error"]["message"].as_str().unwrap().len() < 200, "a long name is not repeated");
}

#[test]
fn deeply_nested_json_is_rejected_without_a_crash() {
    let home = home();
    let mut peer = server(&home);
    for depth in [200, 100_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        peer.write(format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{\"x\":{deep}}}}}\n"
        ));
        assert_eq!(peer.receive()["error"]["code"], -32600, "params {depth} deep");
        peer.write(format!("{deep}\n"));
        assert!(peer.receive()["error"]["code"].is_i64(), "a batch {depth} deep");
    }
    assert!(peer.call(2, "ping", json!({})).get("result").is_some());
}

#[test]
fn batches_are_served_at_2025_03_26_only() {
    let home = home();
    let mut peer = server(&home);
    peer.initialize("2025-03-26");
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/no/such"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "expand_prompt", "arguments": {"command": "echo", "input": "a"}}},
        {"jsonrpc": "1.0", "id": 3, "method": "ping"},
        {"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {"protocolVersion": "2025-03-26", "clientInfo": {"name": "x", "version": "1"}}},
        17,
    ]);
    peer.send(&batch);
    let mut answers = peer.receive().as_array().unwrap().clone();
    answers.sort_by_key(|answer| answer["id"].as_i64());
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(null), json!(1), json!(2), json!(3), json!(4)]);
    assert_eq!(answers[0]["error"]["code"], -32600);
    assert!(answers[1].get("result").is_some());
    assert_eq!(answers[2]["result"]["structuredContent"]["prompt"], "a");
    assert_eq!(answers[3]["error"]["code"], -32600);
    assert_eq!(answers[4]["error"]["code"], -32600);
    // Notifications alone get no answer; an empty batch is an error.
    peer.write("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/no/such\"}]\n[]\n");
    assert_eq!(peer.receive()["error"]["code"], -32600);
}

#[test]
fn a_request_id_can_be_reused_after_its_answer() {
    let home = home();
    let mut peer = server(&home);
    for _ in 0..3 {
        assert!(peer.call(1, "ping", json!({})).get("result").is_some());
        assert!(peer.call("1", "ping", json!({})).get("result").is_some());
    }
}

#[test]
fn a_second_request_with_an_id_in_flight_is_rejected_and_the_first_is_served() {
    let home = home();
    let mut peer = server(&home);
    let listen = json!({
        "jsonrpc": "2.0", "id": "sub", "method": "subscriptions/listen",
        "params": {"notifications": {"promptsListChanged": true}, "_meta": crate::support::stateless_meta()},
    });
    peer.send(&listen);
    assert_eq!(peer.receive()["method"], "notifications/subscriptions/acknowledged");
    peer.send(&json!({"jsonrpc": "2.0", "id": "sub", "method": "ping"}));
    let refused = peer.receive();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("sub"), &json!(-32600)));
    home.write("prompts/more.md", "more");
    assert_eq!(peer.receive()["method"], "notifications/prompts/list_changed");
}

#[test]
fn more_than_512_requests_in_flight_get_a_busy_error() {
    let home = home();
    let mut peer = server(&home);
    let listen = |id: usize| {
        json!({
            "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen",
            "params": {"notifications": {"promptsListChanged": true}, "_meta": crate::support::stateless_meta()},
        })
    };
    for id in 0..512 {
        peer.send(&listen(id));
    }
    for _ in 0..512 {
        assert_eq!(peer.receive()["method"], "notifications/subscriptions/acknowledged");
    }
    peer.send(&listen(512));
    let refused = peer.receive();
    assert_eq!(refused["id"], 512);
    assert!(refused["error"]["message"].as_str().unwrap().starts_with("busy"), "{refused}");
    // A cancelled request frees its place.
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}));
    assert!(peer.call("after", "ping", json!({})).get("result").is_some());
    peer.close();
    assert!(crate::support::wait(&mut peer.child, crate::support::DEADLINE).success());
}

#[test]
fn a_handshake_and_a_call_in_one_write_are_answered_in_order() {
    let home = home();
    for _ in 0..40 {
        let mut peer = server(&home);
        let init = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "nope"}});
        peer.write(format!("{init}\n{call}\n"));
        assert_eq!(peer.receive()["id"], 1);
        // The code shows that the handshake was finished: -32602 is 2025-11-25, -32601 would be 2024-11-05.
        assert_eq!(peer.receive()["error"]["code"], -32602);
    }
}

#[test]
fn fifty_thousand_calls_in_one_write_are_each_answered_once() {
    let home = home();
    let mut peer = server(&home);
    let mut stdin = peer.take_stdin();
    let writer = std::thread::spawn(move || {
        use std::io::Write;
        let mut buffer = std::io::BufWriter::with_capacity(256 * 1024, &mut stdin);
        for id in 0..50_000 {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "expand_prompt", "arguments": {"command": "echo", "input": id.to_string()}}});
            writeln!(buffer, "{call}").unwrap();
        }
        buffer.flush().unwrap();
    });
    let mut found = vec![false; 50_000];
    for _ in 0..50_000 {
        let answer = peer.receive();
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        assert!(!std::mem::replace(&mut found[id], true), "{id} was answered twice");
        assert_eq!(answer["result"]["structuredContent"]["prompt"], id.to_string());
    }
    writer.join().unwrap();
}

#[test]
fn a_client_that_does_not_read_pauses_the_server() {
    let home = home();
    let mut peer = Peer::start_unread(&mut home.adjutant(["mcp", "prompts"]));
    let mut stdin = peer.take_stdin();
    // More than pipes and buffers hold: the writer must stop, and the server's memory with it.
    let (send, progress) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        use std::io::Write;
        for id in 0..400_000u32 {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n");
            if stdin.write_all(line.as_bytes()).is_err() || send.send(id).is_err() {
                return;
            }
        }
    });
    let mut last = 0;
    while let Ok(id) = progress.recv_timeout(std::time::Duration::from_secs(2)) {
        last = id;
    }
    assert!(last < 100_000, "the server went on reading: {last} requests");
    assert!(peer.resident_kib() < 64 * 1024, "{} KiB", peer.resident_kib());
}

/// A subscription, and the messages at its orderly end: a cancellation, then the answer to its request.
fn subscribe(peer: &mut Peer, id: &Value) {
    peer.send(&json!({
        "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen",
        "params": {"notifications": {"promptsListChanged": true}, "_meta": crate::support::stateless_meta()},
    }));
    let granted = peer.receive();
    assert_eq!(granted["method"], "notifications/subscriptions/acknowledged", "{granted}");
    assert_eq!(&granted["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{granted}");
}

fn assert_subscriptions_end(peer: &Peer, ids: &[Value], why: &str) {
    let mut cancelled = Vec::new();
    let mut answered = Vec::new();
    while answered.len() < ids.len() {
        let message = peer.receive();
        let of = if message.get("method").is_some() {
            let params = &message["params"];
            assert_eq!(message["method"], "notifications/cancelled", "{message}");
            assert_eq!(params["_meta"]["io.modelcontextprotocol/subscriptionId"], params["requestId"]);
            assert_eq!(params["reason"], why, "{message}");
            cancelled.push(params["requestId"].clone());
            continue;
        } else {
            message["id"].clone()
        };
        assert!(cancelled.contains(&of), "the request is answered last: {message}");
        assert_eq!(message["result"]["resultType"], "complete", "{message}");
        let meta = &message["result"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], of, "{message}");
        assert!(meta["io.modelcontextprotocol/serverInfo"]["name"].is_string(), "{message}");
        answered.push(of);
    }
    answered.sort_by_key(ToString::to_string);
    assert_eq!(answered, ids);
}

#[test]
fn open_subscriptions_are_answered_at_the_end_of_input() {
    let home = home();
    let hub = Serving::socket_hub(&home);
    let ids = [json!("7"), json!(7)];
    let connect = || Peer::start(&mut home.adjutant(["connect", "prompts", "--no-start"]));
    for mut peer in [server(&home), connect()] {
        for id in &ids {
            subscribe(&mut peer, id);
        }
        peer.close();
        assert_subscriptions_end(&peer, &ids, "the input ended");
        peer.assert_ended();
        assert!(peer.finish().0.success());
    }
    // A subscription that its client cancelled is not answered, and sends no more notifications.
    let mut peer = connect();
    for id in &ids {
        subscribe(&mut peer, id);
    }
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "7"}}));
    assert!(peer.call("after", "ping", json!({})).get("result").is_some());
    home.write(".adjutant/prompts/more.md", "More.");
    let notified = peer.receive();
    assert_eq!(notified["method"], "notifications/prompts/list_changed", "{notified}");
    assert_eq!(notified["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7, "{notified}");
    hub.stop();
    assert_subscriptions_end(&peer, &ids[1..], "the server stopped");
}

#[test]
fn a_call_that_outlasts_the_grace_period_is_still_answered() {
    let home = home();
    home.write(".adjutant/config.toml", "grace_seconds = 1\n[http]\naddress = \"off\"\n");
    let hub = Serving::socket_hub(&home);
    let question = json!({"name": "triggerPopup", "arguments": {
        "title": "Deploy?", "message": "To production.", "options": [{"label": "Yes", "value": "yes"}],
    }});
    let ask = |peer: &mut Peer| {
        peer.initialize("2025-11-25");
        peer.send(&json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": question}));
    };
    let answered = |peer: &Peer, why: &str| loop {
        let message = peer.receive();
        if message["id"] == 5 {
            assert_eq!(message["error"]["code"], -32603, "{message}");
            assert_eq!(
                message["error"]["message"],
                format!("{why} before this call was finished; call again")
            );
            return;
        }
    };
    for arguments in [["mcp", "popup"].as_slice(), &["connect", "popup", "--no-start"]] {
        let mut peer = Peer::start(&mut home.adjutant(arguments));
        ask(&mut peer);
        peer.close();
        answered(&peer, "the input ended");
        assert!(peer.finish().0.success());
    }
    let mut peer = Peer::start(&mut home.adjutant(["connect", "popup", "--no-start"]));
    ask(&mut peer);
    // After its answer the hub has read the earlier requests.
    peer.call(6, "ping", json!({}));
    hub.stop();
    answered(&peer, "the server stopped");
}
