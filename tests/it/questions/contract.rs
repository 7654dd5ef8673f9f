//! The contract: `triggerPopup` without a handshake, over stdio and over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fixtures::{Hub, User, example, request};
use crate::support::{Home, Peer};

#[test]
fn the_example_request_of_the_contract_gets_its_example_answer() {
    let hub = Hub::new();
    for server in ["popup", "all"] {
        let mut peer = hub.client(server);
        let title = format!("Confirm {server}");
        peer.send(&request("req1", &title));
        let question = User::wait_for_question(&hub.home, &title);
        hub.user().choose(&question, "yes");
        assert_eq!(peer.line(), r#"{"jsonrpc":"2.0","result":{"selectedValue":"yes"},"id":"req1"}"#);
    }
}

#[test]
fn a_relay_passes_the_answer_on_after_the_end_of_its_input() {
    let hub = Hub::new();
    let mut peer = hub.client("popup");
    peer.send(&request("req1", "Last"));
    peer.close();
    let question = User::wait_for_question(&hub.home, "Last");
    hub.user().choose(&question, "yes");
    assert_eq!(peer.line(), r#"{"jsonrpc":"2.0","result":{"selectedValue":"yes"},"id":"req1"}"#);
    let answered = Instant::now();
    assert!(peer.finish().0.success());
    assert!(answered.elapsed() < Duration::from_millis(500), "it ended after {:?}", answered.elapsed());
    // The answer counts as delivered, so the same words ask a new question.
    let mut next = hub.client("popup");
    next.send(&request("req2", "Last"));
    User::wait_for_question(&hub.home, "Last");
}

#[test]
fn an_invalid_question_is_rejected_with_its_path() {
    let hub = Hub::new();
    let mut peer = hub.client("popup");
    let long = "x".repeat(1 << 20);
    let option = |label: Value, value: Value| json!([{"label": label, "value": value}]);
    let cases = [
        (json!({"message": "m"}), "title", "required"),
        (json!({"title": 1, "message": "m"}), "title", "type"),
        (json!({"title": "  ", "message": "m"}), "title", "minLength"),
        (json!({"title": long, "message": "m"}), "title", "maxLength"),
        (json!({"title": "T", "message": long}), "message", "maxLength"),
        (json!({"title": "T", "options": "yes"}), "options", "type"),
        (json!({"title": "T", "options": ["yes"]}), "options.0", "type"),
        (json!({"title": "T", "options": option(json!(1), json!("a"))}), "options.0.label", "type"),
        (json!({"title": "T", "options": option(json!("a"), json!(1))}), "options.0.value", "type"),
        (json!({"title": "T", "options": [{}]}), "options.0.label", "required"),
        (json!({"title": "T", "options": option(json!(long), json!("a"))}), "options.0.label", "maxLength"),
        (
            json!({"title": "T", "options": [{"label": "A", "value": "1"}, {"label": "B", "value": "1"}]}),
            "options.1.value",
            "uniqueItems",
        ),
    ];
    for (at, (params, path, validator)) in cases.into_iter().enumerate() {
        let answer = peer.call(at, "triggerPopup", params);
        let error = &answer["error"];
        assert_eq!(error["code"], json!(-32602), "{answer}");
        let place: Vec<&str> =
            error["data"]["path"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
        assert_eq!(
            (place.join(".").as_str(), &error["data"]["validator"]),
            (path, &json!(validator)),
            "{answer}"
        );
    }
    assert!(User::pending(&hub.home).is_empty());
}

#[test]
fn a_question_without_options_takes_text_and_a_decline_has_its_code() {
    let hub = Hub::new();
    let mut peer = hub.client("popup");
    let ask = |peer: &mut Peer, title: &str, more: Value| {
        let mut params = json!({"title": title, "message": "m"});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        peer.send(&json!({"jsonrpc": "2.0", "method": "triggerPopup", "params": params, "id": title}));
        User::wait_for_question(&hub.home, title)
    };
    let question = ask(&mut peer, "Text", json!({"options": []}));
    let text = json!([["answer", {"text": "as you like"}]]);
    hub.user().act(
        json!({"answer": {"ticket": question["ticket"], "answer": text, "note": null, "passphrase": null}}),
    );
    assert_eq!(peer.receive()["result"], json!({"selectedValue": "as you like"}));

    let question = ask(&mut peer, "Dismissed", json!({}));
    hub.user().act(json!({"dismiss": {"ticket": question["ticket"]}}));
    let error = peer.receive()["error"].clone();
    assert_eq!((&error["code"], &error["data"]["status"]), (&json!(-32005), &json!("dismissed")));
    assert!(error["message"].as_str().unwrap().contains("dismissed"), "{error}");

    ask(&mut peer, "Late", json!({"timeout_seconds": 1}));
    let error = peer.receive()["error"].clone();
    assert_eq!((&error["code"], &error["data"]["status"]), (&json!(-32004), &json!("timed_out")));
}

#[test]
fn a_post_is_acknowledged_and_its_response_comes_on_the_clients_stream() {
    let hub = Hub::new();
    let (status, body) = hub.post("/mcp?client=one", &[], &request("req1", "Confirm").to_string());
    assert_eq!(status, 202);
    assert_eq!(body, json!({"jsonrpc": "2.0", "result": {"status": "queued"}, "id": "req1"}));
    let question = User::wait_for_question(&hub.home, "Confirm");
    hub.user().choose(&question, "yes");
    // Another caller's question is answered as well; neither caller sees the other's.
    hub.post("/mcp?client=two", &[], &request("req1", "Other").to_string());
    let mut two = hub.events("/mcp?client=two", &[]);
    let question = User::wait_for_question(&hub.home, "Other");
    hub.user().choose(&question, "no");
    assert_eq!(two.next().1, json!({"jsonrpc": "2.0", "result": {"selectedValue": "no"}, "id": "req1"}));
    let mut item = hub.events("/mcp?client=one", &[]);
    let (first, response) = item.next();
    assert_eq!(response, json!({"jsonrpc": "2.0", "result": {"selectedValue": "yes"}, "id": "req1"}));
    // The same id may be used again once it is answered, and not before.
    let (status, _) = hub.post("/mcp?client=one", &[], &request("req2", "Second").to_string());
    assert_eq!(status, 202);
    let (status, body) = hub.post("/mcp?client=one", &[], &request("req2", "Third").to_string());
    assert_eq!((status, &body["error"]["code"]), (400, &json!(-32600)), "{body}");
    let (status, _) = hub.post("/mcp?client=one", &[], &request("req2", "Second").to_string());
    assert_eq!(status, 202, "the same once more is the same question");
    let question = User::wait_for_question(&hub.home, "Second");
    hub.user().choose(&question, "no");
    let (second, response) = item.next();
    assert_eq!(response["id"], json!("req2"));
    drop(item);
    // A client that lost the stream resumes after its last event, and no other client can.
    let mut resumed = hub.events("/mcp?client=one", &[("last-event-id", &first)]);
    assert_eq!(resumed.next(), (second, response));
}

#[test]
fn a_response_to_a_post_is_not_an_event_of_the_stream_as_well() {
    let hub = Hub::new();
    let answer = |title: &str| {
        let question = User::wait_for_question(&hub.home, title);
        hub.user().choose(&question, "yes");
    };
    hub.post("/mcp", &[], &request("req1", "First").to_string());
    answer("First");
    let (first, _) = hub.events("/mcp", &[]).next();
    std::thread::scope(|scope| {
        let waiting = scope
            .spawn(|| hub.post("/mcp", &[("prefer", "wait=15")], &request("req2", "Second").to_string()).0);
        answer("Second");
        assert_eq!(waiting.join().unwrap(), 200);
    });
    hub.post("/mcp", &[], &request("req3", "Third").to_string());
    answer("Third");
    let resumed = hub.events("/mcp", &[("last-event-id", &first)]).next().1;
    assert_eq!(resumed["id"], json!("req3"), "{resumed}");
}

#[test]
fn the_same_words_asked_at_once_after_their_answer_are_another_question() {
    let hub = Hub::new();
    let asked =
        |id: &str, wait: &str| hub.post("/mcp", &[("prefer", wait)], &request(id, "Again").to_string());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let first = asked("req1", "wait=15").0;
            (first, asked("req2", "wait=1").0)
        });
        let question = User::wait_for_question(&hub.home, "Again");
        hub.user().choose(&question, "yes");
        assert_eq!(waiting.join().unwrap(), (200, 202));
    });
    let mut events = hub.events("/mcp", &[]);
    let question = User::wait_for_question(&hub.home, "Again");
    hub.user().choose(&question, "no");
    assert_eq!(events.next().1["id"], json!("req2"));
    assert_eq!(asked("req3", "wait=0").0, 202);
    assert_ne!(User::wait_for_question(&hub.home, "Again")["ticket"], question["ticket"]);
}

#[test]
fn an_answer_on_a_pipe_counts_as_delivered_when_it_is_written() {
    let hub = Hub::new();
    let mut pipe = UnixStream::connect(hub.home.path().join(".adjutant/hub.sock")).unwrap();
    pipe.set_read_timeout(Some(crate::support::DEADLINE)).unwrap();
    let mut lines = BufReader::new(pipe.try_clone().unwrap()).lines().map(Result::unwrap);
    // Without a session, so that nothing but the write shows the delivery.
    writeln!(pipe, "{}", json!({"adjutant": "0", "hello": 1, "toolset": "questions"})).unwrap();
    lines.next().unwrap();
    // This process is the agent, so the user answers in the console.
    let after = |page: &str, mark: &str, end: char| {
        page.split_once(mark).and_then(|(_, rest)| rest.split(end).next()).unwrap_or_default().to_owned()
    };
    let mut before = String::new();
    for round in 0..100 {
        writeln!(pipe, "{}", request(&round.to_string(), "Again")).unwrap();
        let end = Instant::now() + Duration::from_secs(4);
        let ticket = loop {
            let list = hub.send_request("GET", "/questions", &[], "").1;
            let ticket = after(&list, "href=\"/questions/q", '"');
            if !ticket.is_empty() && ticket != before {
                break ticket;
            }
            assert!(Instant::now() < end, "round {round}: there is no new question");
        };
        let path = format!("/questions/q{ticket}");
        let csrf = after(&hub.send_request("GET", &path, &[], "").1, "name=\"csrf\" value=\"", '"');
        let form = ("content-type", "application/x-www-form-urlencoded");
        let done = hub.send_request("POST", &path, &[form], &format!("csrf={csrf}&made=0&act=answer&f0=0"));
        assert_eq!(done.0, 303, "{done:?}");
        let answer: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        assert_eq!(answer["id"], json!(round.to_string()), "{answer}");
        before = ticket;
    }
}

#[test]
fn any_client_that_accepts_events_gets_the_stream() {
    let hub = Hub::new();
    // The Accept headers of a browser's `EventSource`, of curl, and of most libraries.
    for (at, accept) in ["text/event-stream", "*/*", "application/json, */*;q=0.8"].into_iter().enumerate() {
        let (path, title) = (format!("/mcp?client={at}"), format!("Question {at}"));
        hub.post(&path, &[], &request("req1", &title).to_string());
        let question = User::wait_for_question(&hub.home, &title);
        hub.user().choose(&question, "yes");
        let response = hub.events(&path, &[("accept", accept)]).next().1;
        assert_eq!(response, json!({"jsonrpc": "2.0", "result": {"selectedValue": "yes"}, "id": "req1"}));
    }
    let (status, body) = hub.send_request("GET", "/mcp", &[("accept", "application/json")], "");
    assert_eq!(status, 406, "{body}");
}

#[test]
fn mcp_popup_without_a_hub_serves_its_own_questions() {
    let home = Home::new();
    // The proxy is that of the hub.
    home.write(".adjutant/config.toml", "[http]\nbehind_tls_proxy = [\"hub.example.org\"]\n");
    // What a process that was killed leaves.
    let stale = home.write(".adjutant/questions-1.sock", "");
    std::fs::remove_file(&stale).unwrap();
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    let mut command = home.adjutant(["mcp", "popup", "--http", "127.0.0.1:0"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = output.find(|line| line.contains("/mcp")).unwrap();
    let root = first.split_whitespace().find_map(|word| word.strip_suffix("/mcp")).unwrap().to_owned();
    writeln!(stdin, "{}", request("req1", "Alone")).unwrap();
    // The client that started this process reads its stderr, so the link is given to the user alone.
    let reply = output.find(|line| line.contains("a question is pending")).unwrap();
    assert!(reply.contains(&format!("{root}/questions")) && !reply.contains("/login/"), "{reply}");
    assert!(!stale.exists());
    let address = root.strip_prefix("http://").unwrap().to_owned();
    let refused = home.run(["open", "--print", &address], "");
    assert!(
        refused.status.code() == Some(1) && refused.stderr.contains("counts as an agent"),
        "{}",
        refused.stderr
    );
    // No token is needed, as the contract says; the console needs a login nevertheless.
    let host = root.strip_prefix("http://").unwrap();
    let ask = |text: String| {
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(crate::support::DEADLINE)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let body = request("req2", "Over HTTP").to_string();
    let length = body.len();
    let post = format!(
        "POST /mcp HTTP/1.0\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let proxied = ask(post.replace(&format!("host: {host}"), "host: hub.example.org"));
    assert!(proxied.starts_with("HTTP/1.0 403"), "a request of another machine came in: {proxied}");
    assert!(ask(post).contains(r#""status":"queued""#));
    assert!(ask(format!("GET /questions HTTP/1.0\r\nhost: {host}\r\n\r\n")).starts_with("HTTP/1.0 401"));
    drop(stdin);
    let status = crate::support::wait(&mut child, crate::support::DEADLINE);
    assert!(status.success(), "{status}");
}

#[test]
fn a_post_that_prefers_to_wait_gets_one_answer() {
    let hub = Hub::new();
    let asking = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            hub.post("/mcp/popup", &[("prefer", "wait=15")], &request("req1", "Waits").to_string())
        });
        let question = User::wait_for_question(&hub.home, "Waits");
        hub.user().choose(&question, "yes");
        asking.join().unwrap()
    });
    assert_eq!(asking, (200, json!({"jsonrpc": "2.0", "result": {"selectedValue": "yes"}, "id": "req1"})));
    let (status, body) = hub.post("/mcp", &[("prefer", "wait=1")], &request("req2", "Longer").to_string());
    assert_eq!((status, &body["result"]["status"]), (202, &json!("queued")));
    for (body, code) in [
        (json!({"jsonrpc": "2.0", "method": "triggerPopup", "params": {"message": "m"}, "id": "a"}), -32602),
        (json!({"jsonrpc": "2.0", "method": "triggerPopup", "params": [], "id": "a"}), -32602),
        (json!({"method": "triggerPopup", "params": example("T"), "id": "a"}), -32600),
    ] {
        let (status, answer) = hub.post("/mcp", &[], &body.to_string());
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(code)), "{answer}");
    }
}
