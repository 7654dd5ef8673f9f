//! `connect --hub`: the relay of a client to hubs on other machines, and what it does when one of them is lost.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::certificates::signed;
use crate::support::serving::Serving;
use crate::support::{DEADLINE, Home, Peer, stateless_meta, wait_for};

/// A hub with a token, in a home of its own.
struct Hub {
    home: Home,
    serving: Serving,
}

impl Hub {
    fn start() -> Self {
        Self::with(&[])
    }

    /// A hub with these prompts, in addition to `tide`.
    fn with(prompts: &[&str]) -> Self {
        let home = Home::new();
        for name in [&["tide"], prompts].concat() {
            let text = format!("---\ndescription: {name}\n---\nThe {name} of {{{{input}}}}\n");
            home.write(&format!(".adjutant/prompts/{name}.md"), text);
        }
        let serving = Serving::hub(&home);
        Self { home, serving }
    }

    fn token(&self) -> String {
        self.home.path().join(".adjutant/token").to_str().unwrap().to_owned()
    }

    /// The names of the clients that the hub has.
    fn clients(&self) -> Vec<String> {
        let status: Value = serde_json::from_str(&self.home.run(["status", "--json"], "").stdout).unwrap();
        let clients = status["status"]["clients"].as_array().unwrap();
        clients.iter().map(|client| client["name"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// A relay in the home of a client, to these addresses with these files of tokens.
fn relay(client: &Home, hubs: &[(&str, &str)]) -> Command {
    let mut command = client.adjutant(["connect"]);
    for (url, token) in hubs {
        command.args(["--hub", url, "--token-file", token]);
    }
    command
}

fn relay_to(client: &Home, hubs: &[&Hub]) -> Peer {
    let places: Vec<_> = hubs.iter().map(|hub| (hub.serving.url(""), hub.token())).collect();
    let places: Vec<_> = places.iter().map(|(url, token)| (url.as_str(), token.as_str())).collect();
    let mut peer = Peer::start(&mut relay(client, &places));
    peer.initialize("2025-11-25");
    peer
}

/// Receives until there is an answer with this id; returns the methods of what came before, and the answer.
fn answer_to(peer: &Peer, id: i64) -> (Vec<String>, Value) {
    let mut before = Vec::new();
    loop {
        let message = peer.receive();
        if message["id"] == id && message["method"].is_null() {
            return (before, message);
        }
        before.push(message["method"].as_str().unwrap_or_default().to_owned());
    }
}

fn send(peer: &mut Peer, id: i64, method: &str, params: Value) {
    peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
}

const UPDATED: &str = "notifications/resources/updated";

const CHANGES: [&str; 3] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
];

#[test]
fn a_client_uses_a_hub_on_another_machine_until_it_closes_its_end() {
    let (client, hub) = (Home::new(), Hub::start());
    let mut peer = relay_to(&client, &[&hub]);
    let mut params = json!({"name": "expand_prompt", "arguments": {"command": "tide", "input": "Kiel"}});
    let expanded = peer.call(2, "tools/call", params.clone());
    assert!(expanded["result"].to_string().contains("The tide of Kiel"), "{expanded}");
    // Between those of the session a client may send requests without one.
    params["_meta"] = stateless_meta();
    params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!("without a session");
    let expanded = peer.call(3, "tools/call", params);
    assert!(expanded["result"].to_string().contains("The tide of Kiel"), "{expanded}");
    let unknown = peer.call(4, "nothing/there", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    // What the hub sends by itself arrives as well.
    hub.home.write(".adjutant/prompts/ebb.md", "---\ndescription: ebb\n---\nText\n");
    let changed = peer.receive();
    assert_eq!(changed["method"], "notifications/prompts/list_changed", "{changed}");
    let has_session = || hub.clients().iter().any(|name| name == "test");
    assert!(has_session(), "{:?}", hub.clients());
    let (status, errors) = peer.finish();
    assert!(status.success(), "{errors}");
    wait_for("the end of the session", || (!has_session()).then_some(()));
    assert!(!client.path().join(".adjutant/hub.lock").exists(), "no hub was started for the client");
}

#[test]
fn an_idle_session_continues_on_the_next_hub() {
    let (client, mut first, second) = (Home::new(), Hub::start(), Hub::start());
    second.home.write(".adjutant/prompts/ebb.md", "---\ndescription: ebb\n---\nThe ebb\n");
    let mut peer = relay_to(&client, &[&first, &second]);
    let uses_second = || second.clients().iter().any(|name| name == "test");
    assert!(!uses_second());
    first.serving.kill();
    // The client does nothing, and reads its lists again because of these.
    for change in CHANGES {
        assert_eq!(peer.receive()["method"], change);
    }
    let (_, listed) = {
        send(&mut peer, 5, "prompts/list", json!({}));
        answer_to(&peer, 5)
    };
    assert!(listed["result"].to_string().contains("\"ebb\""), "{listed}");
    wait_for("the client of the second hub", || uses_second().then_some(()));
    assert!(peer.finish().0.success());
}

#[test]
fn a_call_that_may_have_taken_effect_is_not_sent_twice() {
    let homes = [Home::new(), Home::new()];
    // Without authentication the pages show what is pending.
    let [mut first, second] = homes.each_ref().map(Serving::open_hub);
    let client = Home::new();
    let mut peer =
        Peer::start(&mut client.adjutant(["connect", "--hub", &first.url(""), "--hub", &second.url("")]));
    peer.initialize("2025-11-25");
    let arguments = json!({"title": "Deploy?", "message": "", "options": [], "workspacePath": "/srv"});
    let params = json!({"name": "triggerPopup", "arguments": arguments, "_meta": {"progressToken": 1}});
    send(&mut peer, 7, "tools/call", params);
    let pending = |hub: &Serving| hub.page("/questions").contains("Deploy?");
    wait_for("the question", || pending(&first).then_some(()));
    first.kill();
    let (_, lost) = answer_to(&peer, 7);
    let message = lost["error"]["message"].as_str().unwrap();
    assert!(message.contains("was not sent to another hub") && message.contains("call again"), "{message}");
    send(&mut peer, 8, "tools/list", json!({}));
    let (_, listed) = answer_to(&peer, 8);
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    assert!(!pending(&second));
}

#[test]
fn subscriptions_of_resources_continue_on_the_next_hub() {
    let (client, mut first, second) = (Home::new(), Hub::with(&["ebb"]), Hub::start());
    let mut peer = relay_to(&client, &[&first, &second]);
    let (tide, ebb) = ("skill://prompts/tide/SKILL.md", "skill://prompts/ebb/SKILL.md");
    for (id, method, uri, is_accepted) in [
        (2, "resources/subscribe", tide, true),
        (3, "resources/subscribe", "file:///etc/passwd", false),
        (4, "resources/subscribe", ebb, true),
        (5, "resources/unsubscribe", ebb, true),
    ] {
        let answer = peer.call(id, method, json!({"uri": uri}));
        assert_eq!(answer["result"].is_object(), is_accepted, "{method} {uri}: {answer}");
    }
    first.serving.kill();
    for change in CHANGES {
        assert_eq!(peer.receive()["method"], change);
    }
    // What it read last may be different there.
    let told = peer.receive();
    assert_eq!((&told["method"], &told["params"]["uri"]), (&json!(UPDATED), &json!(tide)), "{told}");
    // The second hub knows of the subscription.
    second.home.write(".adjutant/prompts/tide.md", "---\ndescription: tides\n---\nAnother tide\n");
    let told = loop {
        let told = peer.receive();
        if told["method"] == UPDATED {
            break told;
        }
    };
    assert_eq!(told["params"]["uri"], tide, "{told}");
    assert!(peer.finish().0.success());
}

#[test]
fn a_request_is_answered_in_time_when_no_hub_is_left() {
    let (client, mut first, mut second) = (Home::new(), Hub::start(), Hub::start());
    let mut peer = relay_to(&client, &[&first, &second]);
    second.serving.kill();
    first.serving.kill();
    let start = Instant::now();
    send(&mut peer, 9, "tools/list", json!({}));
    let (_, refused) = answer_to(&peer, 9);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("hub"), "{message}");
    assert!(start.elapsed() < DEADLINE, "{:?}", start.elapsed());
    // A new client learns it at once, with the reason of each hub.
    let address = first.serving.url("");
    let late = client.run(["connect", "--hub", &address, "--token-file", &first.token()], "");
    assert_eq!(late.status.code(), Some(1), "{late}");
    assert!(
        late.stderr.contains("no hub can be used: ") && late.stderr.contains("cannot be reached"),
        "{late}"
    );
}

/// A hub that opens a session, and takes requests without an answer until it is dropped.
struct SilentHub {
    url: String,
    requests: Receiver<Value>,
    streams: Receiver<TcpStream>,
}

impl SilentHub {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let ((send, requests), (keep, streams)) = (channel(), channel());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (send, keep) = (send.clone(), keep.clone());
                if send.send(Value::Null).is_err() {
                    return;
                }
                std::thread::spawn(move || answer(stream, &send, &keep));
            }
        });
        Self { url, requests, streams }
    }

    /// Waits for requests of these methods, which come on several connections.
    fn wait_for(&self, methods: &[&str]) {
        let mut missing = methods.to_vec();
        while !missing.is_empty() {
            let request = self.requests.recv_timeout(DEADLINE).expect("a request");
            missing.retain(|method| request["method"] != *method);
        }
    }

    /// Ends: connections break, and no new ones are served.
    fn end(self) {
        drop(self.requests);
        for stream in self.streams.try_iter() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn answer(mut stream: TcpStream, send: &Sender<Value>, keep: &Sender<TcpStream>) {
    let _ = keep.send(stream.try_clone().unwrap());
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if !matches!(reader.read_line(&mut head), Ok(1..)) {
                return;
            }
        }
        let length = head.to_ascii_lowercase();
        let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("server/discover") => json!({}),
            Some("initialize") => {
                json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "x", "version": "1"},
                "capabilities": {"tools": {"listChanged": true}}})
            }
            Some("notifications/initialized") => {
                let _ = stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n");
                continue;
            }
            // Also the stream of the hub's own messages.
            _ => {
                let _ = send.send(message);
                continue;
            }
        };
        let text = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: s1\r\n";
        let _ = write!(stream, "{head}content-length: {}\r\n\r\n{text}", text.len());
    }
}

#[test]
fn a_request_that_changes_nothing_is_answered_by_the_next_hub() {
    let (client, first, second) = (Home::new(), SilentHub::start(), Hub::start());
    let (url, token) = (second.serving.url(""), second.token());
    let mut peer = Peer::start(&mut relay(&client, &[(&first.url, &token), (&url, &token)]));
    peer.initialize("2025-11-25");
    send(&mut peer, 3, "tools/list", json!({}));
    send(&mut peer, 4, "tools/call", json!({"name": "list_prompts", "arguments": {}}));
    first.wait_for(&["tools/list", "tools/call"]);
    first.end();
    let (before, lost) = answer_to(&peer, 4);
    assert!(lost["error"]["message"].as_str().unwrap().contains("was not sent"), "{lost}");
    let (between, listed) = answer_to(&peer, 3);
    assert!(listed["result"].to_string().contains("triggerPopup"), "{listed}");
    // The first hub announced changes of this list alone.
    assert_eq!([before, between].concat(), CHANGES[..1]);
}

#[test]
fn a_hub_is_trusted_by_its_certificate_and_its_token() {
    let (client, home) = (Home::new(), Home::new());
    let folder = home.path().join(".adjutant");
    std::fs::create_dir_all(&folder).unwrap();
    let day = |days: i64| Timestamp::now() + SignedDuration::from_hours(24 * days);
    signed(&folder, "hub", "localhost", "hub", [day(-1), day(90)]);
    home.write(
        ".adjutant/config.toml",
        "[http]\ntls_certificate = \"hub.pem\"\ntls_key = \"hub.key\"\ntls_names = [\"localhost\"]\n",
    );
    let hub = Serving::hub(&home);
    let url = hub.url("");
    assert!(url.starts_with("https://localhost:"), "{url}");
    let list = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
    let (ca, token) = (folder.join("hub.pem"), folder.join("token"));
    let (ca, token) = (ca.to_str().unwrap(), token.to_str().unwrap());
    let listed = client.run(["connect", "prompts", "--hub", &url, "--token-file", token, "--ca", ca], list);
    assert!(listed.status.success() && listed.stdout.contains("expand_prompt"), "{listed}");
    // The token may be in the environment too.
    let mut command = client.adjutant(["connect", "--hub", &url, "--token-env", "HUB_TOKEN", "--ca", ca]);
    command.env("HUB_TOKEN", std::fs::read_to_string(token).unwrap()).stdin(Stdio::null());
    assert!(command.output().unwrap().status.success());

    client.write("other", "0123456789abcdef");
    let other = client.path().join("other");
    let refused = [
        (vec!["--token-file", token], 1, "cannot be reached", "needs --ca"),
        (vec!["--ca", ca], 1, "does not accept the token (status 401)", "adjutant tokens add"),
        (vec!["--ca", ca, "--token-file", other.to_str().unwrap()], 1, "(status 401)", "adjutant tokens add"),
        (
            vec!["--ca", ca, "--token-file", "missing"],
            1,
            "the token cannot be read from missing",
            "--token-file",
        ),
        (vec!["--ca", ca, "--token-env", "NOT_SET"], 1, "`NOT_SET` with the token is not set", "--token-env"),
        (vec!["--ca", token, "--token-file", token], 1, "has no certificate", "--ca"),
        (vec!["--hub", "http://hub.example.org"], 2, "the token would be read on the way", ""),
    ];
    for (more, code, reason, hint) in refused {
        let run = client.run([&["connect", "--hub", &url][..], &more].concat(), list);
        assert_eq!(run.status.code(), Some(code), "{more:?}: {run}");
        assert!(run.stderr.contains(reason) && run.stderr.contains(hint), "{more:?}: {run}");
    }
}
