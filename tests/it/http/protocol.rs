//! Five protocol versions, with a handshake and stateless; sessions and their end; streams.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Answer, Hub, initialize};
use crate::support::{DEADLINE, stateless_meta};

const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn request(id: impl Into<Value>, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

/// A stateless request of the newest revision, with the headers that mirror it.
fn modern(hub: &Hub, method: &str, mut params: Value, headers: &[(&str, &str)]) -> Answer {
    params["_meta"] = stateless_meta();
    let own = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    let own = own.into_iter().filter(|(name, _)| !headers.iter().any(|(given, _)| given == name));
    let headers: Vec<_> = own.chain(headers.iter().copied()).filter(|(_, value)| !value.is_empty()).collect();
    hub.post(&headers, &request(9, method, &params))
}

fn within(hub: &Hub, session: &str, message: &Value) -> Answer {
    hub.post(&[("mcp-session-id", session)], message)
}

#[test]
fn each_handshake_protocol_version_is_negotiated() {
    let hub = Hub::open("");
    for revision in HANDSHAKES {
        let (session, answer) = hub.initialize(revision);
        let result = &answer.message()["result"];
        assert_eq!(result["protocolVersion"], revision);
        assert_eq!(result["serverInfo"]["name"], "codex-subagents");
        let echoed = (revision == "2024-11-05").then(|| json!({"name": "test", "version": "1"}));
        assert_eq!(result.get("clientInfo"), echoed.as_ref(), "{revision}");
        let call = request(
            2,
            "tools/call",
            &json!({"name": "expand_prompt", "arguments": {"command": "greet", "input": "you"}}),
        );
        let called = within(&hub, &session, &call).message();
        assert_eq!(
            called["result"]["structuredContent"]["prompt"], "Say hello to you.",
            "{revision}: {called}"
        );
        let unknown = within(&hub, &session, &request(3, "tools/call", &json!({"name": "nope"}))).message();
        let code = if revision == "2024-11-05" { -32601 } else { -32602 };
        assert_eq!(unknown["error"]["code"], code, "{revision}: {unknown}");
        let malformed = within(&hub, &session, &request("x", "tools/call", &json!({"arguments": {}})));
        assert_eq!(malformed.status, 200);
        assert_eq!(malformed.message()["error"]["code"], -32602, "{revision}");
        assert_eq!(malformed.message()["error"]["data"]["path"], json!(["name"]), "{revision}");
    }
    let (_, newest) = hub.initialize("2026-07-28");
    assert_eq!(
        newest.message()["result"]["protocolVersion"],
        "2025-11-25",
        "a handshake never agrees on 2026-07-28"
    );
}

#[test]
fn the_contract_holds_byte_for_byte_over_http() {
    let hub = Hub::open("");
    let sent = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","clientInfo":{"name":"example","version":"dev"}}}"#;
    let answer = hub.send_request("POST", "/mcp/prompts", &[("content-type", "application/json")], sent);
    assert_eq!(
        answer.body.lines().rfind(|line| line.starts_with("data: {")).unwrap(),
        r#"data: {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"codex-subagents","version":"0.1.0"},"clientInfo":{"name":"example","version":"dev"}}}"#
    );
    let session = [("mcp-session-id", answer.header("mcp-session-id"))];
    assert_eq!(hub.post(&session, &json!({"jsonrpc": "2.0", "method": "initialized"})).status, 202);
}

#[test]
fn a_client_without_a_handshake_is_served_by_the_contract() {
    let hub = Hub::open("");
    let (session, _) = hub.initialize("2024-11-05");
    let list = request(1, "tools/list", &json!({}));
    let agreed = within(&hub, &session, &list).message();
    // As `curl --json` sends it, and as a client that accepts JSON only.
    for accept in ["*/*", "application/json"] {
        let headers = [("content-type", "application/json"), ("accept", accept)];
        let answer = hub.send_request("POST", "/mcp/prompts", &headers, &list.to_string());
        assert_eq!(answer.header("content-type"), "application/json", "{answer:?}");
        assert_eq!(answer.message(), agreed, "{accept}");
    }
    let newer = hub.post(&[("mcp-protocol-version", "2025-11-25")], &list).message();
    assert!(
        newer["result"]["tools"][0]["annotations"].is_object(),
        "a revision in the header counts: {newer}"
    );
    let reply = hub.post(&[], &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(reply.status, 202, "{reply:?}");
}

#[test]
fn requests_of_2026_07_28_need_no_session() {
    let hub = Hub::open("");
    let discovered = modern(&hub, "server/discover", json!({}), &[]);
    assert_eq!(discovered.header("mcp-session-id"), "");
    let versions = &discovered.message()["result"]["supportedVersions"];
    let all: BTreeSet<&str> =
        versions.as_array().unwrap().iter().map(|version| version.as_str().unwrap()).collect();
    assert_eq!(all, HANDSHAKES.into_iter().chain(["2026-07-28"]).collect());
    let call = json!({"name": "expand_prompt", "arguments": {"command": "greet", "input": "you"}});
    let called = modern(&hub, "tools/call", call, &[("mcp-name", "expand_prompt")]).message();
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    assert_eq!(called["result"]["structuredContent"]["prompt"], "Say hello to you.");
    // Removed methods are as unknown as invented ones.
    for method in ["no/such", "ping", "logging/setLevel", "resources/subscribe"] {
        let unknown = modern(&hub, method, json!({}), &[]);
        let error = unknown.message()["error"].clone();
        assert_eq!((unknown.status, &error["code"]), (404, &json!(-32601)), "{method}: {error}");
        assert_eq!(error["message"], format!("unknown method `{method}`"));
    }
    let get = hub.send_request(
        "GET",
        "/mcp",
        &[("mcp-protocol-version", "2026-07-28"), ("accept", "text/event-stream")],
        "",
    );
    assert_eq!(get.status, 405, "{get:?}");
}

/// A method, its parameters, and the headers that go with them.
type Case<'a> = (&'a str, Value, &'a [(&'a str, &'a str)]);

#[test]
fn headers_that_contradict_the_body_are_rejected() {
    let hub = Hub::open("");
    let call = || json!({"name": "expand_prompt", "arguments": {"command": "greet", "input": "x"}});
    let cases: [Case<'_>; 10] = [
        ("tools/list", json!({}), &[("mcp-method", "tools/call")]),
        ("tools/list", json!({}), &[("mcp-method", "")]),
        ("tools/list", json!({}), &[("mcp-method", "TOOLS/LIST")]),
        ("tools/list", json!({}), &[("mcp-protocol-version", "2025-11-25")]),
        ("tools/list", json!({}), &[("mcp-protocol-version", "")]),
        ("tools/call", call(), &[("mcp-name", "list_prompts")]),
        ("tools/call", call(), &[("mcp-name", "=?base64?bGlzdF9wcm9tcHRz?=")]),
        ("tools/call", call(), &[]),
        ("resources/read", json!({"uri": "skill://prompts/greet/SKILL.md"}), &[]),
        ("prompts/get", json!({"name": "greet"}), &[("mcp-name", "other")]),
    ];
    for (method, params, headers) in cases {
        let answer = modern(&hub, method, params, headers);
        assert_eq!(answer.status, 400, "{headers:?}: {answer:?}");
        assert_eq!(answer.message()["error"]["code"], -32020, "{headers:?}: {answer:?}");
        assert_eq!(answer.message()["id"], 9, "{headers:?}");
    }
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/list",
        "tasks/result",
    ] {
        for headers in
            [[("mcp-method", "")], [("mcp-method", "tools/list")], [("mcp-protocol-version", "2025-11-25")]]
        {
            let answer = modern(&hub, method, json!({}), &headers);
            assert_eq!(answer.status, 404, "{method} {headers:?}: {answer:?}");
            assert_eq!(answer.message()["error"]["code"], -32601, "{method} {headers:?}: {answer:?}");
        }
    }
    let wrapped = modern(&hub, "tools/call", call(), &[("mcp-name", "=?base64?ZXhwYW5kX3Byb21wdA==?=")]);
    assert_eq!(wrapped.status, 200, "{wrapped:?}");
    let (session, _) = hub.initialize("2025-11-25");
    let list = request(1, "tools/list", &json!({}));
    for named in [None, Some(("mcp-session-id", session.as_str()))] {
        let headers: Vec<_> = named.into_iter().chain([("mcp-protocol-version", "1999-01-01")]).collect();
        let unknown = hub.post(&headers, &list);
        assert_eq!(unknown.status, 400, "{unknown:?}");
        let message = unknown.message();
        assert_eq!((&message["id"], &message["error"]["code"]), (&json!(1), &json!(-32022)), "{message}");
        assert_eq!(message["error"]["data"]["requested"], "1999-01-01", "{message}");
        assert_eq!(message["error"]["data"]["supported"].as_array().unwrap().len(), 5, "{message}");
    }
}

#[test]
fn a_session_belongs_to_one_server_until_it_ends() {
    let hub = Hub::open("");
    let (session, _) = hub.initialize("2025-11-25");
    let list = request("l", "tools/list", &json!({}));
    let named = [("mcp-session-id", session.as_str())];
    assert_eq!(within(&hub, &session, &list).status, 200);
    assert_eq!(hub.post_to("/mcp", &named, &list).status, 404, "another server does not know it");
    assert_eq!(hub.send_request("DELETE", "/mcp", &named, "").status, 404);
    let guessed = within(&hub, "00000000-0000-4000-8000-000000000000", &list);
    assert_eq!(guessed.status, 404, "{guessed:?}");
    assert_eq!(guessed.message()["id"], "l");
    let twice = hub.post(&[("mcp-session-id", session.as_str()), ("mcp-session-id", "x")], &list);
    assert_eq!(twice.status, 404, "{twice:?}");
    let events = [named[0], ("accept", "text/event-stream")];
    assert_eq!(hub.stream("GET", "/mcp/prompts", &events, "").status, 200, "its event stream opens");
    assert_eq!(hub.send_request("DELETE", "/mcp/prompts", &named, "").status, 204);
    for (method, body) in [("POST", list.to_string()), ("GET", String::new()), ("DELETE", String::new())] {
        let headers = [named[0], ("content-type", "application/json")];
        let answer = hub.send_request(method, "/mcp/prompts", &headers, &body);
        assert_eq!(answer.status, 404, "{method}: {answer:?}");
        assert!(answer.body.contains("initialize"), "the error has a hint: {answer:?}");
    }
}

#[test]
fn a_client_that_lists_event_streams_first_gets_one() {
    let hub = Hub::open("");
    let (session, _) = hub.initialize("2025-11-25");
    let ping = request(1, "ping", &json!({})).to_string();
    let ask = |accept: &str| {
        let headers =
            [("content-type", "application/json"), ("mcp-session-id", session.as_str()), ("accept", accept)];
        hub.send_request("POST", "/mcp/prompts", &headers, &ping)
    };
    let events = ask("text/event-stream, application/json");
    assert_eq!(events.header("content-type"), "text/event-stream", "{events:?}");
    assert!(events.body.starts_with("data: \nid: "), "an event to resume from comes first: {events:?}");
    assert_eq!(events.message()["id"], 1);
    assert_eq!(ask("application/json").status, 406);
}

#[test]
fn the_console_shows_the_connected_clients() {
    let hub = Hub::open("");
    // Recent activity is further down and keeps the names of disconnected clients.
    let connected = || {
        hub.send_request("GET", "/timeline", &[], "").body.split_once("id=\"results\"").unwrap().0.to_owned()
    };
    let shown = |name: &str| connected().contains(name);
    let mut hello = initialize("2025-11-25");
    hello["params"]["clientInfo"]["name"] = json!("with-a-session");
    assert!(!shown("with-a-session"));
    let answer = hub.post(&[], &hello);
    assert!(shown("with-a-session"));
    let ended = hub.send_request(
        "DELETE",
        "/mcp/prompts",
        &[("mcp-session-id", answer.header("mcp-session-id"))],
        "",
    );
    assert_eq!(ended.status, 204);
    let start = Instant::now();
    while shown("with-a-session") {
        assert!(start.elapsed() < DEADLINE, "a client that left is still shown");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let mut params = json!({"_meta": stateless_meta()});
    params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!("without-a-session");
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    for _ in 0..2 {
        assert_eq!(hub.post(&headers, &request(1, "tools/list", &params)).status, 200);
    }
    assert_eq!(connected().matches("without-a-session").count(), 1, "two requests of one client");
}

#[test]
fn sessions_are_limited_and_idle_ones_are_evicted_first() {
    let hub = Hub::open("sessions = 2");
    let open = |session: &str| {
        hub.stream("GET", "/mcp/prompts", &[("mcp-session-id", session), ("accept", "text/event-stream")], "")
    };
    let alive = |session: &str| within(&hub, session, &request(1, "ping", &json!({}))).status == 200;
    let (first, _) = hub.initialize("2025-11-25");
    let (second, _) = hub.initialize("2025-11-25");
    assert!(alive(&first), "so the second is the longest idle");
    let (third, _) = hub.initialize("2025-11-25");
    let live = [alive(&first), alive(&second), alive(&third)];
    assert_eq!(live, [true, false, true]);
    let streams = [open(&first), open(&third)];
    assert!(streams.iter().all(|stream| stream.status == 200));
    let full = hub.post(&[], &initialize("2025-11-25"));
    assert_eq!(full.status, 503, "{full:?}");
    assert_eq!(full.message()["id"], 1);
    assert!(full.body.contains("sessions"), "{full:?}");
    assert!(alive(&first) && alive(&third), "those at work are left alone");
    assert_eq!(hub.send_request("DELETE", "/mcp/prompts", &[("mcp-session-id", &first)], "").status, 204);
    assert_eq!(hub.post(&[], &initialize("2025-11-25")).status, 200, "an ended session frees its place");
}

#[test]
fn an_idle_session_expires_and_a_busy_one_does_not() {
    let hub = Hub::open("session_idle_seconds = 1");
    let (working, _) = hub.initialize("2025-11-25");
    let named = [("mcp-session-id", working.as_str()), ("accept", "text/event-stream")];
    let stream = hub.stream("GET", "/mcp/prompts", &named, "");
    assert_eq!(stream.status, 200);
    let (idle, _) = hub.initialize("2025-11-25");
    // A request for an unsupported type shows that the session exists, without using it.
    let exists = |session: &str| {
        let headers = [("mcp-session-id", session), ("accept", "text/plain")];
        match hub.send_request("GET", "/mcp/prompts", &headers, "").status {
            406 => true,
            404 => false,
            other => panic!("{other}"),
        }
    };
    let start = Instant::now();
    while exists(&idle) {
        assert!(start.elapsed() < DEADLINE, "the idle session never ended");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert!(start.elapsed() >= Duration::from_millis(900), "ended after {:?}", start.elapsed());
    assert!(exists(&working), "its stream is older than the idle session was");
    assert_eq!(within(&hub, &working, &request(1, "ping", &json!({}))).status, 200);
}

#[test]
fn a_changed_file_sends_a_notification_on_the_event_stream() {
    let hub = Hub::open("");
    let (session, _) = hub.initialize("2025-11-25");
    let named = [("mcp-session-id", session.as_str()), ("accept", "text/event-stream")];
    let mut stream = hub.stream("GET", "/mcp/prompts", &named, "");
    // Only a listed prompt can change.
    assert_eq!(within(&hub, &session, &request(1, "prompts/list", &json!({}))).status, 200);
    let listen = json!({"jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen", "params": {
        "_meta": stateless_meta(),
        "notifications": {"promptsListChanged": true},
    }});
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "subscriptions/listen"),
    ];
    let mut listening = hub.stream("POST", "/mcp/prompts", &headers, &listen.to_string());
    let acknowledged = listening.next().unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");

    hub.home.write(".adjutant/prompts/more.md", "More.");
    let changed = "notifications/prompts/list_changed";
    assert_eq!(stream.next().unwrap()["method"], changed);
    assert_eq!(listening.next().unwrap()["method"], changed);
}

#[test]
fn batches_are_served_at_2025_03_26_only() {
    let hub = Hub::open("");
    let batch = json!([
        request(1, "ping", &json!({})),
        request("two", "tools/list", &json!({})),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "1.0", "id": 3, "method": "ping"},
        initialize("2025-03-26").as_object().map(|item| {
            let mut item = item.clone();
            item.insert("id".to_owned(), json!(4));
            Value::Object(item)
        }),
        request(5, "tools/call", &json!({})),
    ]);
    let (session, _) = hub.initialize("2025-03-26");
    let answer = within(&hub, &session, &batch);
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut answers = answer.messages();
    answers.sort_by_key(|message| message["id"].to_string());
    let reply: Vec<(Value, Value)> =
        answers.iter().map(|message| (message["id"].clone(), message["error"]["code"].clone())).collect();
    let expected = [
        (json!("two"), Value::Null),
        (json!(1), Value::Null),
        (json!(3), json!(-32600)),
        (json!(4), json!(-32600)),
        (json!(5), json!(-32602)),
    ];
    assert_eq!(reply, expected, "{answers:?}");
    let silent = json!([{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}]);
    assert_eq!(within(&hub, &session, &silent).status, 202);
    assert_eq!(within(&hub, &session, &json!([])).status, 400);
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let (session, _) = hub.initialize(revision);
        let refused = within(&hub, &session, &batch);
        assert_eq!(
            (refused.status, &refused.message()["error"]["code"]),
            (400, &json!(-32600)),
            "{revision}"
        );
    }
}

#[test]
fn stopping_the_hub_ends_streams_at_once() {
    let hub = Hub::open("");
    let (session, _) = hub.initialize("2025-11-25");
    let named = [("mcp-session-id", session.as_str()), ("accept", "text/event-stream")];
    let mut stream = hub.stream("GET", "/mcp/prompts", &named, "");
    let mut page = hub.stream("GET", "/events", &[("accept", "text/event-stream")], "");
    assert_eq!((stream.status, page.status), (200, 200));
    let idle = std::net::TcpStream::connect(hub.address).unwrap();
    let start = Instant::now();
    assert!(hub.stop().success());
    assert!(start.elapsed() < Duration::from_secs(4), "the stop waited for its grace: {:?}", start.elapsed());
    assert_eq!(stream.next(), None);
    page.assert_ended();
    drop(idle);
}
