//! The hub as a process and the relay to it: start, stop, crash, and their messages.
//!
//! A test with one user cannot check that another user's connection is rejected; it checks the modes of folder and
//! socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde_json::{Value, json};

use crate::support::certificates::signed;
use crate::support::process_table::FrozenListener;
use crate::support::{DEADLINE, Home, Peer, stateless_meta, wait, wait_for};

/// A home whose hub has HTTP off, so that tests do not share a port. The hub ends with the value.
struct Fixture {
    home: Home,
}

impl Fixture {
    fn new() -> Self {
        let home = Home::new();
        let fixture = Self { home };
        fixture.configure();
        fixture
    }

    /// Writes a configuration without the port of a hub of this machine's user.
    fn configure(&self) {
        self.home.write(".adjutant/config.toml", "grace_seconds = 2\n[http]\naddress = \"off\"\n");
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join(".adjutant")
    }

    fn socket(&self) -> PathBuf {
        self.folder().join("hub.sock")
    }

    fn connect(&self) -> Peer {
        Peer::start(&mut self.home.adjutant(["connect", "prompts"]))
    }

    /// The JSON of `status --json`, if there is a hub.
    fn status(&self) -> Option<Value> {
        let output = self.home.run(["status", "--json"], "");
        output.status.success().then(|| serde_json::from_str(&output.stdout).unwrap())
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.status()?["pid"].as_i64()?).ok()?)
    }

    fn start(&self) -> Pid {
        let started = self.home.run(["serve", "--background"], "");
        assert!(started.status.success(), "{}", started.stderr);
        self.pid().unwrap()
    }

    fn signal(&self, signal: Signal) -> Pid {
        let pid = self.pid().unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        pid
    }

    /// Kills the hub and waits until the kernel has released its lock.
    fn kill(&self) -> Pid {
        let pid = self.signal(Signal::KILL);
        self.wait_until_unlocked();
        pid
    }

    /// Waits until no hub has the lock of the home.
    fn wait_until_unlocked(&self) {
        let lock = std::fs::File::open(self.folder().join("hub.lock")).unwrap();
        let end = Instant::now() + DEADLINE;
        while lock.try_lock().is_err() {
            assert!(Instant::now() < end, "the hub does not let go of its lock");
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

/// A hub in the foreground, and its output until it listens.
struct ForegroundHub {
    child: Child,
    banner: String,
    stderr: BufReader<std::process::ChildStderr>,
}

impl ForegroundHub {
    fn start(fixture: &Fixture, arguments: &[&str]) -> Self {
        let mut command = fixture.home.adjutant(["serve"].iter().chain(arguments));
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut banner = String::new();
        while !banner.contains("socket ") {
            assert_ne!(stderr.read_line(&mut banner).unwrap(), 0, "the hub ended: {banner}");
        }
        Self { child, banner, stderr }
    }

    fn end(&mut self) -> (std::process::ExitStatus, String) {
        let status = wait(&mut self.child, DEADLINE);
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (status, rest)
    }
}

impl Drop for ForegroundHub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn names(answer: &Value) -> Vec<&str> {
    answer["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn connect_starts_a_hub_in_a_fresh_home_and_leaves_it_running() {
    let fixture = Fixture::new();
    let begun = Instant::now();
    let mut peer = fixture.connect();
    let answer = peer.call(1, "tools/list", json!({}));
    assert_eq!(names(&answer), ["list_prompts", "expand_prompt"]);
    // Codex drops the tools of a server that takes about a second; the demand is half of that.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let (status, stderr) = peer.finish();
    assert!(status.success(), "{stderr}");
    assert_eq!(stderr, "");

    let status = fixture.status().unwrap();
    assert_eq!(status["status"]["clients"], json!([]));
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(fixture.folder()), 0o700);
    assert_eq!(mode(fixture.socket()), 0o600);
    assert_eq!(mode(fixture.folder().join("logs")), 0o700);
}

#[test]
fn simultaneous_connects_start_one_hub() {
    let fixture = Fixture::new();
    let mut peers: Vec<_> = (0..4).map(|_| fixture.connect()).collect();
    for peer in &mut peers {
        peer.initialize("2025-06-18");
    }
    let clients = fixture.status().unwrap()["status"]["clients"].clone();
    assert_eq!(clients.as_array().unwrap().len(), 4, "{clients}");
    assert_eq!(clients[0]["name"], "test");
    assert!(clients[0]["pid"].is_u64());
}

#[test]
fn a_relay_uses_a_hub_that_another_process_starts_at_the_same_moment() {
    for _ in 0..4 {
        let fixture = Fixture::new();
        let mut other = fixture.home.adjutant(["serve", "--background"]);
        let mut other =
            other.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut peer = fixture.connect();
        assert!(peer.initialize("2025-11-25")["result"].is_object());
        // It started a hub or found another; the relay uses the existing one.
        wait(&mut other, DEADLINE);
        assert!(fixture.pid().is_some());
    }
}

#[test]
fn connect_with_no_start_starts_no_hub() {
    let fixture = Fixture::new();
    let output = fixture.home.run(["connect", "--no-start"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.contains("no hub answers on"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: start one with `adjutant serve`"), "{}", output.stderr);
    assert_eq!(output.stdout, "");
    assert!(fixture.status().is_none());
}

#[test]
fn a_running_hub_is_found_after_its_configuration_changed() {
    let fixture = Fixture::new();
    let first = fixture.start();
    let old = std::fs::read_to_string(fixture.folder().join("config.toml")).unwrap();
    for now in ["socket = \"elsewhere.sock\"\n", "socket = \"off\"\n", "no TOML", "unknown = 1\n"] {
        fixture.home.write(".adjutant/config.toml", now);
        let answer = fixture.connect().call(1, "tools/list", json!({}));
        assert_eq!(names(&answer), ["list_prompts", "expand_prompt"], "{now}");
    }
    // Without a hub the configuration counts, as it would for the new one.
    fixture.home.write(".adjutant/config.toml", &old);
    fixture.kill();
    for (now, why) in [
        ("socket = \"off\"\n", "the socket is switched off in config.toml"),
        ("no TOML", "config.toml is not valid"),
        ("unknown = 1\n", "unknown field `unknown`"),
        ("[questions]\nkeep_days = 0\n", "expected a nonzero u64"),
    ] {
        fixture.home.write(".adjutant/config.toml", now);
        let output = fixture.home.run(["connect", "prompts"], "");
        assert_eq!(output.status.code(), Some(1), "{output}");
        assert!(output.stderr.contains(why) && output.stderr.contains("\nhint: "), "{output}");
    }
    fixture.home.write(".adjutant/config.toml", format!("socket = \"elsewhere.sock\"\n{old}"));
    let mut peer = fixture.connect();
    assert_eq!(names(&peer.call(1, "tools/list", json!({}))), ["list_prompts", "expand_prompt"]);
    assert!(fixture.folder().join("elsewhere.sock").exists());
    assert_ne!(fixture.pid(), Some(first));
}

#[test]
fn a_second_hub_names_the_first() {
    let fixture = Fixture::new();
    let pid = fixture.start();
    for arguments in [vec!["serve"], vec!["serve", "--background"]] {
        let output = fixture.home.run(arguments, "");
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stderr.contains("a hub already runs for this home"), "{}", output.stderr);
        assert!(output.stderr.contains(&format!("pid {}", pid.as_raw_nonzero())), "{}", output.stderr);
    }
    assert_eq!(fixture.pid(), Some(pid));
}

#[test]
fn a_socket_left_by_a_killed_hub_is_replaced() {
    let fixture = Fixture::new();
    fixture.start();
    let old = fixture.kill();
    assert!(fixture.socket().exists());
    assert!(fixture.status().is_none());
    assert_ne!(fixture.start(), old);
}

#[test]
fn a_file_in_the_sockets_place_is_kept() {
    let fixture = Fixture::new();
    fixture.home.write(".adjutant/hub.sock", "mine");
    let output = fixture.home.run(["serve"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.contains("it is not a socket"), "{}", output.stderr);
    assert_eq!(std::fs::read_to_string(fixture.socket()).unwrap(), "mine");
}

/// A fake hub: it accepts connections on the home's socket, line by line.
struct FakeHub {
    listener: UnixListener,
}

/// One connection of a fake hub.
struct FakeConnection {
    input: BufReader<UnixStream>,
    output: UnixStream,
}

impl FakeHub {
    fn new(fixture: &Fixture) -> Self {
        Self { listener: UnixListener::bind(fixture.socket()).unwrap() }
    }

    /// Accepts the next connection and answers its hello; returns the hello too.
    fn accept_client(&self, welcome: &Value) -> (FakeConnection, Value) {
        let (output, _) = self.listener.accept().unwrap();
        output.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut line = FakeConnection { input: BufReader::new(output.try_clone().unwrap()), output };
        let hello = line.receive();
        line.send(welcome);
        (line, hello)
    }
}

impl FakeConnection {
    fn receive(&mut self) -> Value {
        let mut text = String::new();
        self.input.read_line(&mut text).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }

    fn send(&mut self, message: &Value) {
        self.output.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn answer(&mut self, request: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }
}

fn welcome() -> Value {
    json!({"adjutant": env!("CARGO_PKG_VERSION"), "hello": 1, "pid": 1})
}

#[test]
fn the_relay_repeats_the_handshake_with_the_next_hub_and_fails_open_calls() {
    let fixture = Fixture::new();
    let fake_hub = FakeHub::new(&fixture);
    let mut peer = fixture.connect();
    let (mut hub, hello) = fake_hub.accept_client(&welcome());
    assert_eq!(hello["hello"], 1);
    assert_eq!(hello["toolset"], "prompts");
    assert_eq!(hello["adjutant"], env!("CARGO_PKG_VERSION"));
    assert_eq!(hello["pid"].as_u64(), Some(u64::from(peer.child.id())));

    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    // Both in one write: a client need not wait for the answer.
    peer.send(&initialize);
    peer.send(&initialized);
    assert_eq!((hub.receive(), hub.receive()), (initialize.clone(), initialized.clone()));
    hub.answer(&initialize, &json!({"protocolVersion": "2025-06-18"}));
    assert_eq!(peer.receive()["id"], 0);

    // Two calls of the client and one of the hub are open when the hub ends.
    peer.send(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call"}));
    peer.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call"}));
    assert_eq!((hub.receive()["id"].clone(), hub.receive()["id"].clone()), (json!("a"), json!(2)));
    hub.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}));
    assert_eq!(peer.receive()["id"], 9);
    hub.output.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"resu").unwrap();
    drop(hub);
    let mut refused = [peer.receive(), peer.receive()];
    refused.sort_by_key(|answer| answer["id"].to_string());
    for (answer, id) in refused.iter().zip([json!("a"), json!(2)]) {
        assert_eq!(answer["id"], id);
        assert_eq!(answer["error"]["code"], -32603);
        let message = "the hub stopped before this call was finished; call again: a question asked in the same words \
                       is found, not asked twice";
        assert_eq!(answer["error"]["message"], message);
    }

    // The next hub gets the same handshake, the relay keeps its answer back, and a late answer to the old hub's request
    // is dropped.
    let (mut hub, _) = fake_hub.accept_client(&welcome());
    assert_eq!(hub.receive(), initialize);
    hub.send(&json!({"jsonrpc": "2.0", "method": "notifications/message"}));
    hub.answer(&initialize, &json!({"protocolVersion": "2025-06-18"}));
    assert_eq!(hub.receive(), initialized);
    peer.send(&json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
    let repeated = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call"});
    peer.send(&repeated);
    assert_eq!(hub.receive(), repeated);
    hub.answer(&repeated, &json!({"late": false}));
    assert_eq!(peer.receive(), json!({"jsonrpc": "2.0", "id": "a", "result": {"late": false}}));
}

#[test]
fn calls_that_are_open_at_the_users_stop_are_answered_with_it() {
    let fixture = Fixture::new();
    let fake_hub = FakeHub::new(&fixture);
    let mut peer = fixture.connect();
    let (mut hub, _) = fake_hub.accept_client(&welcome());
    let call = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call"});
    peer.send(&call);
    assert_eq!(hub.receive(), call);
    // As `adjutant stop` leaves it.
    fixture.home.write(".adjutant/hub.stopped", "");
    drop(hub);
    let answer = peer.receive();
    let message = "the user stopped the hub before this call was finished; `adjutant serve --background` starts it \
                   again, and a question asked in the same words is found then";
    assert_eq!((&answer["id"], &answer["error"]["message"]), (&json!("a"), &json!(message)));
}

#[test]
fn a_call_without_a_hub_waits_for_the_next_hub() {
    let fixture = Fixture::new();
    let mut peer = fixture.connect();
    peer.initialize("2024-11-05");
    let before = fixture.kill();
    let answer = peer.call("next", "tools/list", json!({}));
    assert_eq!(names(&answer), ["list_prompts", "expand_prompt"]);
    assert!(
        answer["result"]["tools"][0].get("annotations").is_none(),
        "the session is no longer at 2024-11-05"
    );
    assert_ne!(fixture.pid(), Some(before));
}

#[test]
fn a_relay_whose_input_ended_answers_when_its_hub_ends() {
    // The end of the process and its last line are concurrent.
    for _ in 0..20 {
        let fixture = Fixture::new();
        let fake_hub = FakeHub::new(&fixture);
        let mut peer = fixture.connect();
        let (mut hub, _) = fake_hub.accept_client(&welcome());
        peer.send(&json!({"jsonrpc": "2.0", "id": "a", "method": "triggerPopup"}));
        peer.close();
        assert_eq!(hub.receive()["id"], "a");
        assert_eq!(hub.receive()["method"], "adjutant/input_ended");
        drop(hub);
        let answer = peer.receive();
        assert!(answer["error"]["message"].as_str().unwrap().contains("call again"), "{answer}");
        let (status, stderr) = peer.finish();
        assert!(status.code() == Some(1) && stderr.contains("call again"), "{status} {stderr}");
    }
}

#[test]
fn a_stateless_client_gets_the_end_of_its_subscription_and_continues() {
    let fixture = Fixture::new();
    let mut peer = fixture.connect();
    let listen = json!({"_meta": stateless_meta(), "notifications": {"toolsListChanged": true}});
    peer.send(&json!({"jsonrpc": "2.0", "id": "listen", "method": "subscriptions/listen", "params": listen}));
    assert_eq!(peer.receive()["method"], "notifications/subscriptions/acknowledged");
    fixture.kill();
    let refused = peer.receive();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("listen"), &json!(-32603)));
    let answer = peer.call(2, "tools/list", json!({"_meta": stateless_meta()}));
    assert_eq!(names(&answer), ["list_prompts", "expand_prompt"]);
}

#[test]
fn a_hub_that_the_user_stops_stays_stopped_until_the_next_call() {
    let fixture = Fixture::new();
    let mut peer = fixture.connect();
    peer.initialize("2025-06-18");
    fixture.signal(Signal::TERM);
    fixture.wait_until_unlocked();
    assert!(!fixture.socket().exists());
    assert!(fixture.status().is_none());
    let mut hub = ForegroundHub::start(&fixture, &[]);
    // The relay finds the new hub by itself.
    let end = Instant::now() + DEADLINE;
    while fixture.status().unwrap()["status"]["clients"].as_array().unwrap().is_empty() {
        assert!(Instant::now() < end, "the relay did not come back");
    }
    let answer = peer.call("next", "tools/list", json!({}));
    assert_eq!(names(&answer).len(), 2);
    rustix::process::kill_process(fixture.pid().unwrap(), Signal::TERM).unwrap();
    assert!(hub.end().0.success());
}

#[test]
fn a_relay_refuses_a_call_after_the_home_was_deleted_and_makes_no_new_home() {
    let fixture = Fixture::new();
    let mut peer = fixture.connect();
    peer.initialize("2025-06-18");
    let hub = pidfd_open(fixture.pid().unwrap(), PidfdFlags::empty()).unwrap();
    std::fs::remove_dir_all(fixture.folder()).unwrap();
    let deadline = DEADLINE.try_into().unwrap();
    assert_eq!(rustix::event::poll(&mut [PollFd::new(&hub, PollFlags::IN)], Some(&deadline)).unwrap(), 1);
    for id in 1..3 {
        let answer = peer.call(id, "tools/list", json!({}));
        assert_eq!(answer["error"]["code"], -32603);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("the hub's home folder was deleted"), "{message}");
        assert!(!fixture.folder().exists(), "the call made the home again");
    }
    // A user who makes it again is found.
    fixture.configure();
    fixture.start();
    assert_eq!(names(&peer.call(3, "tools/list", json!({}))).len(), 2);
}

#[test]
fn a_call_times_out_when_no_hub_may_start() {
    let fixture = Fixture::new();
    fixture.start();
    let mut peer = Peer::start(&mut fixture.home.adjutant(["connect", "prompts", "--no-start"]));
    peer.initialize("2025-06-18");
    fixture.kill();
    let answer = peer.call(1, "tools/list", json!({}));
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(answer["error"]["message"], "there is no hub; start one with `adjutant serve`");
}

#[test]
fn a_hub_of_another_version_serves_and_is_reported_once() {
    let fixture = Fixture::new();
    let fake_hub = FakeHub::new(&fixture);
    let peer = fixture.connect();
    let (hub, _) = fake_hub.accept_client(&json!({"adjutant": "9.9.9", "hello": 1, "pid": 4242}));
    drop(hub);
    drop(fake_hub);
    let (status, stderr) = peer.finish();
    assert!(status.success(), "{stderr}");
    assert_eq!(stderr.matches("9.9.9").count(), 1, "{stderr}");
}

#[test]
fn a_program_on_the_socket_that_is_not_a_hub_is_described() {
    let other = r#"{"adjutant": "9.9.9", "hello": 1, "pid": 4242, "error": "no server `prompts`"}"#;
    let cases = [
        ("", "it closed the connection without an answer", "start one"),
        ("HTTP/1.1 400 Bad Request\n", "the program that answers is not a hub", "start one"),
        (r#"{"error": "full"}"#, "the hub rejected the request: full", "doctor"),
        (other, "no server `prompts`", "restart the older one"),
        (
            r#"{"adjutant": "0.0.1", "hello": 0}"#,
            "have incompatible versions",
            "restart the hub, which is older: stop it",
        ),
    ];
    for (answer, text, hint) in cases {
        let fixture = Fixture::new();
        std::fs::create_dir_all(fixture.socket().parent().unwrap()).unwrap();
        let listener = std::os::unix::net::UnixListener::bind(fixture.socket()).unwrap();
        let answering = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut input = BufReader::new(stream);
            input.read_line(&mut String::new()).unwrap();
            let line = if answer.is_empty() { String::new() } else { format!("{answer}\n") };
            input.get_ref().write_all(line.as_bytes()).unwrap();
        });
        let output = fixture.home.run(["connect", "prompts", "--no-start"], "");
        answering.join().unwrap();
        assert_eq!(output.status.code(), Some(1), "{answer}: {}", output.stderr);
        assert!(output.stderr.contains(text) && output.stderr.contains(hint), "{answer}: {}", output.stderr);
        assert!(!output.stderr.contains("kill 0"), "{}", output.stderr);
    }
}

#[test]
fn a_frozen_program_on_the_socket_blocks_no_command() {
    let fixture = Fixture::new();
    std::fs::create_dir_all(fixture.socket().parent().unwrap()).unwrap();
    let _frozen = FrozenListener::at(&fixture.socket());
    for words in
        [&["connect", "prompts", "--no-start"][..], &["connect", "prompts"], &["serve", "--http", "off"]]
    {
        let output = fixture.home.run(words, "");
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", output.stderr);
        let text = ["it accepted no connection for 2 s", "is in the way: another program listens there"];
        assert!(text.iter().any(|text| output.stderr.contains(text)), "{words:?}: {}", output.stderr);
    }
    // A client's hook expands by itself; the hub would only record it.
    fixture.home.write(".adjutant/prompts/research.md", "About {{input}}.\n");
    let prompt =
        json!({"hook_event_name": "UserPromptSubmit", "prompt": ":research bees", "cwd": fixture.folder()});
    let output = fixture.home.run(["hook", "claude"], prompt.to_string());
    assert!(output.status.success() && output.stdout.contains("bees"), "{output}");
}

#[test]
fn a_hub_with_another_handshake_gives_an_error_that_names_the_side_to_restart() {
    for (hello, side) in
        [(0, "restart the hub, which is older"), (2, "restart the agent, whose adjutant is older")]
    {
        let fixture = Fixture::new();
        let fake_hub = FakeHub::new(&fixture);
        let peer = fixture.connect();
        let refused = json!({"adjutant": "9.9.9", "hello": hello, "pid": 4242, "error": "who are you?"});
        let _line = fake_hub.accept_client(&refused);
        let (status, stderr) = peer.finish();
        assert_eq!(status.code(), Some(1));
        assert!(stderr.contains("the hub (pid 4242, adjutant 9.9.9) and this adjutant"), "{stderr}");
        assert!(stderr.contains(side), "{stderr}");
        drop(fake_hub);
        std::fs::remove_file(fixture.socket()).unwrap();
    }
}

#[test]
fn the_hub_answers_an_invalid_hello_with_an_error_line() {
    let fixture = Fixture::new();
    fixture.start();
    let cases = [
        ("{\"adjutant\":\"9\",\"hello\":2,\"toolset\":\"all\"}\n", "the client 9"),
        ("{\"adjutant\":\"9\",\"hello\":1,\"toolset\":\"nope\"}\n", "this hub has no toolset `nope`"),
        ("{\"adjutant\":\"9\",\"hello\":1}\n", "the hello names no toolset"),
        ("GET / HTTP/1.1\n", "the first line is not a hello that this hub knows"),
        ("{\"adjutant\":\"9\",\"hello\":1,\"ask\":\"open\"}\n", "without the console"),
    ];
    for (hello, expected) in cases {
        let mut stream = UnixStream::connect(fixture.socket()).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(hello.as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["hello"], 1);
        assert!(answer["error"].as_str().unwrap().contains(expected), "{answer}");
    }
}

#[test]
fn a_relay_passes_on_all_answers_after_the_end_of_its_input() {
    let fixture = Fixture::new();
    let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}";
    // The last line has no newline.
    let output = fixture.home.run(["connect", "prompts"], format!("{line}\n{line}"));
    assert!(output.status.success(), "{}", output.stderr);
    let lines = output.lines();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line["id"] == 1));
}

#[test]
fn a_relay_waits_for_a_silent_hub_no_longer_than_the_grace_period() {
    let fixture = Fixture::new();
    let fake_hub = FakeHub::new(&fixture);
    let mut peer = fixture.connect();
    let (mut hub, _) = fake_hub.accept_client(&welcome());
    peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    hub.receive();
    let begun = Instant::now();
    peer.close();
    let late = peer.receive();
    assert_eq!((&late["id"], &late["error"]["code"]), (&json!(1), &json!(-32603)), "{late}");
    let (status, _) = peer.finish();
    assert_eq!(status.code(), Some(1));
    let waited = begun.elapsed();
    assert!(waited > Duration::from_millis(1500) && waited < Duration::from_secs(8), "{waited:?}");
}

#[test]
fn a_signal_ends_a_relay_at_once() {
    let fixture = Fixture::new();
    fixture.start();
    for signal in [Signal::TERM, Signal::INT] {
        let mut peer = fixture.connect();
        peer.initialize("2025-06-18");
        let begun = Instant::now();
        rustix::process::kill_process(Pid::from_child(&peer.child), signal).unwrap();
        wait(&mut peer.child, DEADLINE);
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }
    assert!(fixture.status().is_some());
}

#[test]
fn a_line_over_the_limit_is_rejected_and_the_next_is_served() {
    let fixture = Fixture::new();
    let mut peer = fixture.connect();
    let mut line =
        b"{\"jsonrpc\":\"2.0\",\"id\":\"long\",\"method\":\"tools/call\",\"params\":{\"x\":\"".to_vec();
    line.resize(17 * 1024 * 1024, b'x');
    line.extend_from_slice(b"\"}}\n");
    peer.write(&line);
    let refused = peer.receive();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("long"), &json!(-32600)));
    assert_eq!(names(&peer.call(1, "tools/list", json!({}))).len(), 2);
}

#[test]
fn a_client_that_does_not_read_pauses_the_relay() {
    let fixture = Fixture::new();
    fixture.home.write(".adjutant/prompts/wide.md", "w".repeat(100_000));
    let mut child = fixture
        .home
        .adjutant(["connect", "prompts"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let calls = 600;
    let writer = std::thread::spawn(move || {
        for id in 0..calls {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": "expand_prompt", "arguments": {"command": "wide", "input": "x".repeat(2000)}}});
            writeln!(stdin, "{call}").unwrap();
        }
    });
    // Nothing is read until the writer is stuck or done; either way every call is answered once.
    let end = Instant::now() + Duration::from_secs(1);
    while !writer.is_finished() && Instant::now() < end {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let peak = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    assert!(peak(child.id()) < 40_000, "the relay buffers unread answers: {} kB", peak(child.id()));
    let mut ids: Vec<i64> = stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["id"].as_i64().unwrap())
        .collect();
    writer.join().unwrap();
    ids.sort_unstable();
    assert_eq!(ids, (0..calls).collect::<Vec<i64>>());
    assert!(wait(&mut child, DEADLINE).success());
}

#[test]
fn a_hub_shuts_down_cleanly_on_every_termination_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let fixture = Fixture::new();
        let mut hub = ForegroundHub::start(&fixture, &[]);
        assert!(hub.banner.contains("hub.sock"), "{}", hub.banner);
        let mut peer = fixture.connect();
        peer.initialize("2025-06-18");
        rustix::process::kill_process(Pid::from_child(&hub.child), signal).unwrap();
        let (status, stderr) = hub.end();
        assert_eq!(status.code(), Some(0), "{stderr}");
        assert!(!fixture.socket().exists());
        assert!(fixture.status().is_none());
    }
}

#[test]
fn a_hang_up_reloads_the_configuration() {
    let fixture = Fixture::new();
    let mut hub = ForegroundHub::start(&fixture, &[]);
    fixture.home.write(".adjutant/config.toml", "[[runners]]\nname = \"nobody\"\n");
    rustix::process::kill_process(Pid::from_child(&hub.child), Signal::HUP).unwrap();
    let mut log = String::new();
    while !log.contains("runner `nobody` is not known here") {
        assert_ne!(hub.stderr.read_line(&mut log).unwrap(), 0, "the hub ended: {log}");
    }
    let reload = fixture.home.run(["reload"], "");
    assert_eq!(reload.status.code(), Some(1));
    assert!(reload.stderr.contains("error: runner `nobody` is not known here"), "{}", reload.stderr);
    fixture.home.write(".adjutant/config.toml", "grace_seconds = 3\n[http]\naddress = \"off\"\n");
    let reload = fixture.home.run(["reload"], "");
    assert!(reload.status.success(), "{}", reload.stderr);
    assert!(reload.stderr.contains("these need a restart: grace_seconds"), "{}", reload.stderr);
    rustix::process::kill_process(Pid::from_child(&hub.child), Signal::TERM).unwrap();
    assert!(hub.end().0.success());
    assert!(fixture.home.run(["reload"], "").stderr.contains("no hub answers"));
}

/// A relay below another process than this test, which is the user then. Without authentication the programs around that
/// process do not count as the agent's.
fn agent(fixture: &Fixture) -> Peer {
    let relay = fixture.home.adjutant(["connect"]);
    let mut agent = std::process::Command::new("sh");
    agent.args(["-c", "\"$0\" connect prompts; :"]).arg(relay.get_program()).env_clear();
    agent.envs(relay.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut peer = Peer::start(agent.current_dir(fixture.home.path()));
    peer.initialize("2025-06-18");
    peer
}

#[test]
fn a_hub_that_a_relay_starts_listens_where_the_last_one_did() {
    let fixture = Fixture::new();
    std::fs::remove_file(fixture.folder().join("config.toml")).unwrap();
    let started = fixture.home.run(["serve", "--background", "--http", "127.0.0.1:0"], "");
    assert!(started.status.success(), "{}", started.stderr);
    let address = || fixture.status().unwrap()["status"]["http"].clone();
    let (first, mut peer) = (address(), fixture.connect());
    peer.initialize("2025-06-18");
    for signal in [Signal::KILL, Signal::TERM] {
        fixture.signal(signal);
        fixture.wait_until_unlocked();
        peer.call(signal.as_raw(), "tools/list", json!({}));
        assert_eq!(address(), first);
    }
}

#[test]
fn relays_of_a_stopped_hub_say_so_and_start_none() {
    let fixture = Fixture::new();
    let config = "grace_seconds = 2\n[http]\naddress = \"off\"\nauth = \"none\"\n";
    fixture.home.write(".adjutant/config.toml", config);
    let mut peer = agent(&fixture);
    let stopped = fixture.home.run(["stop"], "");
    assert!(stopped.status.success(), "{}", stopped.stderr);
    assert!(stopped.stderr.contains("the hub has stopped; a new client or"), "{}", stopped.stderr);
    for id in 1..3 {
        let answer = peer.call(id, "tools/list", json!({}));
        assert_eq!(answer["error"]["code"], -32603);
        let message = "the user stopped the hub; `adjutant serve --background` starts it again";
        assert_eq!(answer["error"]["message"], message);
        assert!(fixture.status().is_none(), "the call started a hub");
    }
    let again = fixture.home.run(["stop"], "");
    assert!(again.status.success() && again.stderr.contains("no hub runs"), "{}", again.stderr);
    // A new client starts one, which the first relay finds.
    let mut other = agent(&fixture);
    assert_eq!(names(&other.call(1, "tools/list", json!({}))).len(), 2);
    assert_eq!(names(&peer.call(3, "tools/list", json!({}))).len(), 2);
    // After a restart no call fails.
    let first = fixture.pid();
    let restarted = fixture.home.run(["restart"], "");
    assert!(restarted.status.success(), "{}", restarted.stderr);
    assert!(restarted.stderr.contains("socket "), "{}", restarted.stderr);
    assert_eq!(names(&peer.call(4, "tools/list", json!({}))).len(), 2);
    assert_ne!(fixture.pid(), first);
    drop((peer, other));
    assert!(fixture.home.run(["stop"], "").status.success());
    // An explicit start.
    fixture.start();
}

#[test]
fn a_hub_whose_home_is_deleted_moved_or_replaced_ends_by_itself() {
    let ended = |hub: &OwnedFd| {
        let deadline = DEADLINE.try_into().unwrap();
        let ready = rustix::event::poll(&mut [PollFd::new(hub, PollFlags::IN)], Some(&deadline)).unwrap();
        assert_eq!(ready, 1, "the hub still runs");
    };
    let hub_of = |fixture: &Fixture| {
        fixture.connect().initialize("2025-06-18");
        pidfd_open(fixture.pid().unwrap(), PidfdFlags::empty()).unwrap()
    };

    let fixture = Fixture::new();
    let hub = hub_of(&fixture);
    std::fs::remove_dir_all(fixture.folder()).unwrap();
    ended(&hub);
    assert!(!fixture.folder().exists(), "the hub wrote its home again");

    let fixture = Fixture::new();
    let hub = hub_of(&fixture);
    std::fs::rename(fixture.folder(), fixture.home.path().join("moved")).unwrap();
    ended(&hub);

    let fixture = Fixture::new();
    let hub = hub_of(&fixture);
    std::fs::rename(fixture.folder(), fixture.home.path().join("moved")).unwrap();
    fixture.home.write(".adjutant/config.toml", "[http]\naddress = \"off\"\n");
    let next = fixture.start();
    ended(&hub);
    assert_eq!(fixture.pid(), Some(next), "the next hub keeps its home and its socket");
}

#[test]
fn a_home_that_cannot_be_written_is_named() {
    let fixture = Fixture::new();
    let file = fixture.home.write("file", "");
    let home = file.join("home");
    let cases = [vec!["serve"], vec!["serve", "--background"], vec!["connect"]];
    for mut arguments in cases {
        arguments.extend(["--home", home.to_str().unwrap()]);
        let output = fixture.home.run(arguments, "");
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stderr.contains(home.to_str().unwrap()), "{}", output.stderr);
    }
}

#[test]
fn a_misspelt_key_is_named_with_its_line() {
    let fixture = Fixture::new();
    fixture.home.write(".adjutant/config.toml", "[http]\n\nadress = \"off\"\n");
    let output = fixture.home.run(["serve"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.contains("line 3"), "{}", output.stderr);
    assert!(output.stderr.contains("unknown field `adress`"), "{}", output.stderr);
    assert!(output.stderr.contains("`address`"), "{}", output.stderr);
    fixture.home.write(".adjutant/config.toml", "[http]\naddress = \"off\"\n");
}

#[test]
fn a_home_with_a_path_too_long_for_a_socket_gets_one_elsewhere() {
    let fixture = Fixture::new();
    let home = fixture.home.path().join("deep".repeat(40));
    let config = format!("{}/config.toml", "deep".repeat(40));
    fixture.home.write(&config, "[http]\naddress = \"off\"\n");
    let home = home.to_str().unwrap();
    let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
    let output = fixture.home.run(["connect", "--home", home], line);
    let status = fixture.home.run(["status", "--json", "--home", home], "");
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    assert_eq!(output.lines().len(), 1, "{}", output.stderr);
    let socket = status["status"]["socket"].as_str().unwrap();
    assert!(socket.starts_with("/tmp/adjutant-"), "{socket}");
}

#[test]
fn wrong_usage_exits_with_2_and_a_hint() {
    let fixture = Fixture::new();
    let cases: [(&[&str], &str); 5] = [
        (&["serve", "--http", "nowhere"], "127.0.0.1:7437"),
        (&["serve", "--http", "off", "--socket", "off"], "make the hub unreachable"),
        (&["connect", "promts"], "similar value exists: 'prompts'"),
        (&["serve", "--log-level", "loud"], "the log filter cannot be read"),
        (&["sreve"], "'serve'"),
    ];
    for (arguments, expected) in cases {
        let output = fixture.home.run(arguments, "");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains(expected), "{arguments:?}: {}", output.stderr);
        assert_eq!(output.stdout, "");
    }
}

#[test]
fn project_prompts_come_first_for_clients_of_the_project_only() {
    let fixture = Fixture::new();
    fixture.home.write(".adjutant/prompts/hello.md", "from the user");
    fixture.home.write("work/.git/HEAD", "");
    fixture.home.write("work/.adjutant/prompts/hello.md", "from the project");
    fixture.home.write("work/deep/down/file", "");
    fixture.home.write("elsewhere/file", "");
    let expand = json!({"name": "expand_prompt", "arguments": {"command": "hello", "input": ""}});
    for (folder, expected) in
        [("work/deep/down", "from the project"), ("elsewhere", "from the user"), (".", "from the user")]
    {
        for server in [["connect", "prompts"], ["mcp", "prompts"]] {
            let mut peer =
                Peer::start(fixture.home.adjutant(server).current_dir(fixture.home.path().join(folder)));
            let answer = peer.call(1, "tools/call", expand.clone());
            let prompt = answer["result"]["structuredContent"]["prompt"].as_str().unwrap();
            assert!(prompt.starts_with(expected), "{folder}, {server:?}: {answer}");
        }
    }
}

#[test]
fn a_taken_port_is_named() {
    let fixture = Fixture::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for arguments in [vec!["serve", "--http", &address], vec!["serve", "--background", "--http", &address]] {
        let output = fixture.home.run(arguments, "");
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stderr.contains(&format!("cannot listen on {address}")), "{}", output.stderr);
        assert!(output.stderr.contains("hint: "), "{}", output.stderr);
    }
    assert!(fixture.status().is_none());

    // A hub at the port is named as one.
    let other = Fixture::new();
    let _hub = ForegroundHub::start(&other, &["--http", "127.0.0.1:0"]);
    let status = other.status().unwrap();
    let output = fixture.home.run(["serve", "--http", status["status"]["http"].as_str().unwrap()], "");
    assert!(output.stderr.contains("hint: the hub of another home listens there"), "{}", output.stderr);

    // Also one with TLS, of which nothing but its own home knows the certificate.
    let other = Fixture::new();
    let folder = other.home.path().join(".adjutant");
    std::fs::create_dir_all(&folder).unwrap();
    let day = |days: i64| Timestamp::now() + SignedDuration::from_hours(24 * days);
    signed(&folder, "hub", "localhost", "hub", [day(-1), day(90)]);
    let tls = "[http]\ntls_certificate = \"hub.pem\"\ntls_key = \"hub.key\"\ntls_names = [\"localhost\"]\n";
    other.home.write(".adjutant/config.toml", tls);
    let _hub = ForegroundHub::start(&other, &["--http", "127.0.0.1:0"]);
    let status = other.status().unwrap();
    let output = fixture.home.run(["serve", "--http", status["status"]["http"].as_str().unwrap()], "");
    assert!(output.stderr.contains("hint: the hub of another home listens there"), "{}", output.stderr);
}

#[test]
fn a_user_who_starts_a_hub_learns_that_the_configured_port_is_taken() {
    let fixture = Fixture::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    fixture.home.write(".adjutant/config.toml", format!("[http]\naddress = \"{address}\"\n"));
    for arguments in [vec!["serve", "--background"], vec!["serve"]] {
        let output = fixture.home.run(arguments, "");
        assert_eq!(output.status.code(), Some(1), "{output}");
        assert!(output.stderr.contains(&format!("error: cannot listen on {address}: ")), "{output}");
        let remedy = "\nhint: end the program that listens there, or choose another `address` below [http]";
        assert!(output.stderr.contains(remedy), "{output}");
        assert!(fixture.status().is_none());
    }
}

#[test]
fn a_taken_port_of_the_configuration_leaves_agents_their_hub() {
    let fixture = Fixture::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    fixture.home.write(".adjutant/config.toml", format!("[http]\naddress = \"{address}\"\n"));
    // A client starts the hub.
    let mut peer = Peer::start(&mut fixture.home.adjutant(["connect", "prompts"]));
    peer.initialize("2025-11-25");
    let _stop = crate::support::StopHubOnDrop(&fixture.home);
    let status = fixture.status().unwrap()["status"].clone();
    let fault = format!("cannot listen on {address}");
    assert_eq!(status["http"], Value::Null);
    assert!(status["http_fault"].as_str().unwrap().starts_with(&fault), "{status}");
    // What its agents start may not act for the user.
    drop(peer);
    wait_for("the end of the client", || (fixture.status()?["status"]["clients"] == json!([])).then_some(()));
    let run = |words: &[&str]| fixture.home.run(words, "");
    assert!(run(&["status"]).stdout.contains(&format!("\nhttp     off: {fault}")));
    assert!(run(&["open"]).stderr.contains(&format!("without the console ({fault}")), "{}", run(&["open"]));
    let log = std::fs::read_to_string(fixture.home.path().join(".adjutant/logs/hub.log")).unwrap();
    assert!(log.contains("WARN") && log.contains("the hub serves without HTTP"), "{log}");
    let report: Value = serde_json::from_str(&run(&["doctor", "--json"]).stdout).unwrap();
    let port = report["items"].as_array().unwrap().iter().find(|check| check["id"] == "port").unwrap();
    assert_eq!(port["status"], "fail");
    assert!(port["detail"].as_str().unwrap().contains(&fault), "{port}");
    // After the port is free, a restart suffices.
    drop(taken);
    assert!(run(&["restart"]).status.success());
    assert_eq!(fixture.status().unwrap()["status"]["http"], address.to_string());
}

#[test]
fn a_restart_checks_the_configuration_before_it_ends_the_hub() {
    let fixture = Fixture::new();
    let configure = |http: &str| fixture.home.write(".adjutant/config.toml", format!("[http]\n{http}\n"));
    configure("address = \"127.0.0.1:0\"");
    fixture.start();
    let pid = fixture.pid();
    for (http, reason) in [
        ("address = \"0.0.0.0:0\"", "other machines can reach 0.0.0.0:0"),
        (
            "tls_certificate = \"no.pem\"\ntls_key = \"no.key\"\ntls_names = [\"a.example\"]",
            "TLS cannot be served",
        ),
    ] {
        configure(http);
        let refused = fixture.home.run(["restart"], "");
        let message = format!("error: the hub still runs, because it could not start again: {reason}");
        assert!(!refused.status.success() && refused.stderr.starts_with(&message), "{}", refused.stderr);
        assert!(refused.stderr.contains("\nhint: "), "{}", refused.stderr);
        assert_eq!(fixture.pid(), pid);
    }
    configure("address = \"127.0.0.1:0\"");
    assert!(fixture.home.run(["restart"], "").status.success());
    assert_ne!(fixture.pid(), pid);
}

#[test]
fn open_prints_a_login_link_of_this_hub() {
    let fixture = Fixture::new();
    let hub = ForegroundHub::start(&fixture, &["--http", "127.0.0.1:0"]);
    let status = fixture.status().unwrap();
    let address = status["status"]["http"].as_str().unwrap();
    assert!(hub.banner.contains(&format!("http://{address}/mcp")), "{}", hub.banner);
    let output = fixture.home.run(["open", "--json"], "");
    let link: Value = serde_json::from_str(&output.stdout).unwrap();
    assert!(link["link"].as_str().unwrap().starts_with(&format!("http://{address}/login/")), "{link}");
    assert_eq!(fixture.home.run(["open", "--print"], "").stdout.lines().count(), 1);
}

#[test]
fn open_starts_the_hub_of_a_new_home() {
    let fixture = Fixture::new();
    let _stop = crate::support::StopHubOnDrop(&fixture.home);
    // Without a terminal the link is refused, but by a hub.
    let opened = fixture.home.run(["open", "--print"], "");
    assert!(fixture.status().is_some(), "{opened}");
}

#[test]
fn the_hub_takes_the_pid_of_a_client_from_the_kernel() {
    let fixture = Fixture::new();
    fixture.start();
    let mut stream = UnixStream::connect(fixture.socket()).unwrap();
    stream.write_all(b"{\"adjutant\":\"0\",\"hello\":1,\"toolset\":\"prompts\",\"pid\":1}\n").unwrap();
    let mut welcome = String::new();
    BufReader::new(stream.try_clone().unwrap()).read_line(&mut welcome).unwrap();
    let end = Instant::now() + DEADLINE;
    let client = loop {
        let status = fixture.status().unwrap();
        match status["status"]["clients"].as_array().unwrap().as_slice() {
            [client] => break client.clone(),
            _ => assert!(Instant::now() < end, "{status}"),
        }
    };
    assert_eq!(client["pid"], std::process::id());
}

#[test]
fn a_second_signal_ends_a_hub_at_once() {
    let fixture = Fixture::new();
    fixture.home.write(".adjutant/config.toml", "grace_seconds = 600\n[http]\naddress = \"off\"\n");
    let mut hub = ForegroundHub::start(&fixture, &[]);
    let pid = Pid::from_child(&hub.child);
    // A connection without a hello does not delay the shutdown; a client that reads nothing does.
    let mut unread_client = UnixStream::connect(fixture.socket()).unwrap();
    unread_client.write_all(b"{\"adjutant\":\"0\",\"hello\":1,\"toolset\":\"prompts\"}\n").unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "expand_prompt", "arguments": {"command": "research", "input": "x".repeat(3_000_000)}}});
    unread_client.write_all(format!("{call}\n").as_bytes()).unwrap();
    let mut answer = BufReader::new(unread_client.try_clone().unwrap());
    answer.read_line(&mut String::new()).unwrap();
    answer.read_exact(&mut [0; 1]).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    let mut reply = String::new();
    while !reply.contains("stopping") {
        assert_ne!(hub.stderr.read_line(&mut reply).unwrap(), 0, "the hub ended: {reply}");
    }
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    let (status, _) = hub.end();
    assert_eq!(status.code(), Some(130));
    assert!(!fixture.socket().exists());
}

#[test]
fn the_demo_fills_an_empty_home_only() {
    let fixture = Fixture::new();
    let first = ForegroundHub::start(&fixture, &["--demo"]);
    let example = fixture.folder().join("prompts/standup.md");
    assert!(std::fs::read_to_string(&example).unwrap().contains("{{input}}"));
    let output = fixture.home.run(["prompts", "list"], "");
    assert!(output.stdout.contains("standup") && output.stdout.contains("research"), "{}", output.stdout);
    let pending = fixture.home.run(["questions", "list"], "").stdout;
    assert!(pending.contains("Charge shipping before or after the discount?"), "{pending}");
    let tasks = fixture.home.run(["tasks", "list"], "").stdout;
    assert!(tasks.contains("test-writer") && tasks.contains("succeeded"), "{tasks}");
    drop(first);
    std::fs::remove_file(&example).unwrap();
    let second = ForegroundHub::start(&fixture, &["--demo"]);
    assert!(!example.exists());
    drop(second);
}

#[test]
fn the_banner_names_the_home_in_the_command_that_opens_the_console_unless_it_is_the_default() {
    let fixture = Fixture::new();
    let demo = fixture.home.path().join("demo").display().to_string();
    let http = ["--http", "127.0.0.1:0"];
    for (home, command) in
        [(&["--home", &demo][..], "adjutant --home ~/demo open"), (&[][..], "adjutant open")]
    {
        let hub = ForegroundHub::start(&fixture, &[home, &http].concat());
        assert!(hub.banner.contains(&format!("({command} logs a browser in)")), "{}", hub.banner);
    }
}

#[test]
fn the_demo_starts_while_another_hub_has_the_default_port() {
    let fixture = Fixture::new();
    // It is in use in either case, by this test or by another program.
    let _taken = std::net::TcpListener::bind("127.0.0.1:7437");
    let demo = fixture.home.path().join("demo").display().to_string();
    let hub = ForegroundHub::start(&fixture, &["--home", &demo, "--demo", "--auth", "none"]);
    assert!(!hub.banner.contains(":7437"), "{}", hub.banner);
    let address = hub.banner.split("http://").nth(1).unwrap_or_else(|| panic!("{}", hub.banner));
    let address = address.split(['/', ' ', '\n']).next().unwrap();
    // Its console shows commands for its home.
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET /questions HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.contains("<code>adjutant --home ~&#x2f;demo passphrase</code>"), "{page}");
}

#[test]
fn one_command_removes_the_demo_and_nothing_else() {
    let fixture = Fixture::new();
    let hub = ForegroundHub::start(&fixture, &["--demo"]);
    fixture.home.write(".adjutant/prompts/mine.md", "Mine.");
    fixture.home.write(".adjutant/agents/translator.yaml", "description: changed\npersona: I am mine.\n");
    let run = |words: &[&str]| fixture.home.run(words, "");
    assert!(run(&["users", "add", "Ann", "--id", "ann"]).status.success());
    assert!(run(&["users", "list"]).stdout.contains("Robin Example"));
    let removed = run(&["remove-demo", "--json"]);
    let removed: serde_json::Value =
        serde_json::from_str(&removed.stdout).unwrap_or_else(|_| panic!("{removed}"));
    assert_eq!(removed, serde_json::json!({"rows": 14, "files": 2}));
    let users = run(&["users", "list"]).stdout;
    assert!(users.contains("Ann") && !users.contains("Robin"), "{users}");
    for list in [
        &["questions", "list"][..],
        &["questions", "list", "--decided"],
        &["tasks", "list"],
        &["events", "list", "ann"],
    ] {
        let listed = run(list).stdout;
        assert!(listed.lines().count() <= 1, "{list:?}: {listed}");
    }
    let kept = |path: &str| fixture.folder().join(path).exists();
    assert!(kept("prompts/mine.md") && kept("agents/translator.yaml"));
    assert!(!kept("prompts/standup.md") && !kept("corner-shop"));
    assert!(run(&["remove-demo"]).stderr.contains("there is no example data"));
    drop(hub);
}

/// In a container the session may have begun outside: its leader has no process number inside.
#[test]
fn a_hub_in_a_container_accepts_the_user() {
    let fixture = Fixture::new();
    let script = r#"
        "$1" serve --http 127.0.0.1:0 & hub=$!
        until "$1" status 2>status.err; do kill -0 $hub || exit 1; done
        "$1" open --print; status=$?
        kill $hub; wait $hub
        exit $status"#;
    let given = fixture.home.adjutant(["serve"]);
    let within = |as_root: &[&str], words: &[&str]| {
        let mut command = std::process::Command::new("unshare");
        command
            .args(as_root)
            .args(["--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(words)
            .env_clear();
        command.envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(fixture.home.path()).stdin(Stdio::null()).output().unwrap()
    };
    // Some machines let only root make a container, and some not even root.
    let ways: [&[&str]; 2] = [&[], &["--user", "--map-root-user"]];
    let Some(way) = ways.into_iter().find(|way| within(way, &["true"]).status.success()) else {
        eprintln!("no container can be made here");
        return;
    };
    let output = within(way, &["sh", "-c", script, "sh", given.get_program().to_str().unwrap()]);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("/login/"), "{stdout}{stderr}");
}
