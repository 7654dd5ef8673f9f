//! A hub, its user on the control API, and clients that ask.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::process::Pid;
use serde_json::{Value, json};

use crate::support::serving::Serving;
use crate::support::{DEADLINE, Home, Peer};

/// A hub whose answers leave at once.
pub(super) struct Hub {
    pub(super) home: Home,
    pub(super) serving: Serving,
}

impl Hub {
    pub(super) fn new() -> Self {
        Self::with("undo_milliseconds = 0")
    }

    /// A hub with these lines in `[questions]` of its `config.toml`.
    pub(super) fn with(settings: &str) -> Self {
        let home = Home::new();
        home.write(".adjutant/config.toml", format!("[questions]\n{settings}\n"));
        let serving = Serving::open_hub(&home);
        Self { home, serving }
    }

    /// A hub on a database that others share; an answer can be taken back for `undo` milliseconds.
    pub(super) fn on(database: &str, undo: u32) -> Self {
        Self::configured(database, &format!("undo_milliseconds = {undo}\n"))
    }

    /// A hub on a database that others share, with these settings of `[questions]`, and further sections.
    pub(super) fn configured(database: &str, settings: &str) -> Self {
        let home = Home::new();
        let settings = format!("database = {database:?}\n[questions]\n{settings}");
        home.write(".adjutant/config.toml", settings);
        let serving = Serving::open_hub(&home);
        Self { home, serving }
    }

    /// Kills the hub, and starts another in the same home.
    pub(super) fn kill_and_restart(&mut self) {
        self.serving.kill();
        self.serving = Serving::open_hub(&self.home);
    }

    pub(super) fn user(&self) -> User {
        User::connect(&self.home)
    }

    /// A client of the hub's socket, below a separate shell: the process that starts a relay counts as an agent, and
    /// the test has to stay a user.
    pub(super) fn client(&self, server: &str) -> Peer {
        self.client_in(server, self.home.path())
    }

    /// A client of the hub's socket that works in `folder`.
    pub(super) fn client_in(&self, server: &str, folder: &Path) -> Peer {
        let command = format!("{} connect {server}; :", env!("CARGO_BIN_EXE_adjutant"));
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &command]).env_clear().env("HOME", self.home.path()).env("PATH", "/usr/bin:/bin");
        Peer::start(shell.current_dir(folder))
    }

    /// Sends a request to a path below `/mcp`; returns the status and the body.
    pub(super) fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, Value) {
        let (status, text) = self.send_request("POST", path, headers, body);
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub(super) fn send_request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String) {
        let mut stream = self.open(method, path, headers, body);
        let status = status(&mut stream);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
        (status, text)
    }

    /// Does a client's handshake over HTTP at `/mcp` and returns what names its session.
    pub(super) fn session(&self, revision: &str, capabilities: &Value) -> String {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        }});
        let accept = [("accept", "application/json, text/event-stream")];
        let head = head(&mut self.open("POST", "/mcp", &accept, &hello.to_string()));
        let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        id.unwrap_or_else(|| panic!("no session: {head}")).to_owned()
    }

    /// Posts to a session and opens the event stream that it is answered by.
    pub(super) fn stream(&self, session: &str, body: &str) -> Events {
        let headers = [("mcp-session-id", session), ("accept", "text/event-stream, application/json")];
        let mut stream = self.open("POST", "/mcp", &headers, body);
        assert_eq!(status(&mut stream), 200);
        Events(stream)
    }

    /// Opens the event stream of `path` and reads its head; `headers` may replace the Accept header.
    pub(super) fn events(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        let mut headers = headers.to_vec();
        if !headers.iter().any(|(name, _)| *name == "accept") {
            headers.push(("accept", "text/event-stream"));
        }
        let mut stream = self.open("GET", path, &headers, "");
        assert_eq!(status(&mut stream), 200);
        Events(stream)
    }

    fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> BufReader<std::net::TcpStream> {
        let root = self.serving.url("");
        let host = root.strip_prefix("http://").unwrap();
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        // HTTP/1.0 ends with the connection, so a whole body needs no reading of chunks.
        let mut text = format!("{method} {path} HTTP/1.0\r\nhost: {host}\r\n");
        if !body.is_empty() {
            text += &format!("content-length: {}\r\n", body.len());
            if !headers.iter().any(|(name, _)| *name == "content-type") {
                text += "content-type: application/json\r\n";
            }
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        stream.write_all((text + "\r\n" + body).as_bytes()).unwrap();
        BufReader::new(stream)
    }
}

fn status(stream: &mut impl BufRead) -> u16 {
    head(stream).split(' ').nth(1).unwrap().parse().unwrap()
}

fn head(stream: &mut impl BufRead) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).unwrap() > 0, "the head ended early: {head:?}");
    }
    head
}

/// An open event stream.
pub(super) struct Events(BufReader<std::net::TcpStream>);

impl Events {
    /// The id of the first event, which may have no message.
    pub(super) fn id(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
            if let Some(id) = line.trim_end().strip_prefix("id: ") {
                return id.to_owned();
            }
        }
    }

    /// The next event with a response; `None` at the end of the stream.
    pub(super) fn next_response(&mut self) -> Option<(String, Value)> {
        let mut id = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", value)) => value.clone_into(&mut id),
                Some(("data", value)) => {
                    let message: Value = serde_json::from_str(value).unwrap();
                    if message.get("method").is_none() {
                        return Some((id, message));
                    }
                }
                _ => {}
            }
        }
    }

    /// Reads on to the end of the stream.
    pub(super) fn assert_ended(&mut self) {
        std::io::Read::read_to_string(&mut self.0, &mut String::new()).unwrap();
    }

    /// The next event's id and its message.
    pub(super) fn next(&mut self) -> (String, Value) {
        let (mut id, mut data) = (String::new(), None);
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
            match line.trim_end().split_once(": ") {
                Some(("id", value)) => value.clone_into(&mut id),
                Some(("data", value)) => data = Some(serde_json::from_str(value).unwrap()),
                _ if line.trim().is_empty() => {
                    if let Some(data) = data {
                        return (id, data);
                    }
                }
                _ => {}
            }
        }
    }
}

/// A user's connection to the control API.
pub(crate) struct User(BufReader<UnixStream>);

impl User {
    pub(crate) fn connect(home: &Home) -> Self {
        let path: PathBuf = home.path().join(".adjutant/hub.sock");
        let end = Instant::now() + DEADLINE;
        let stream = loop {
            match UnixStream::connect(&path) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < end, "no hub answers: {error}"),
            }
        };
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut user = Self(BufReader::new(stream));
        let hello = json!({"adjutant": env!("CARGO_PKG_VERSION"), "hello": 1, "user": true});
        let welcome = user.request(&hello);
        assert!(welcome.get("error").is_none_or(Value::is_null), "{welcome}");
        user
    }

    /// Sends a line and returns the hub's next one.
    pub(crate) fn request(&mut self, line: &Value) -> Value {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
        self.receive()
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the hub hung up");
        serde_json::from_str(&line).unwrap()
    }

    /// A connection that follows the questions.
    pub(crate) fn follow(home: &Home) -> Self {
        let mut user = Self::connect(home);
        user.0.get_mut().write_all(b"{\"questions\":\"follow\"}\n").unwrap();
        user
    }

    /// Waits until this many callers wait for a question with this title, and returns it.
    pub(super) fn wait_for_deliveries(&mut self, title: &str, deliveries: u32) -> Value {
        loop {
            let notified = self.receive();
            let question = &notified["part"]["question"];
            if question["title"] == json!(title) && question["deliveries"] == json!(deliveries) {
                return question.clone();
            }
        }
    }

    /// Waits until a question with this title has this presence of its asker, and returns it.
    pub(crate) fn wait_for_presence(&mut self, title: &str, waits: &str) -> Value {
        loop {
            let notified = self.receive();
            let question = &notified["part"]["question"];
            if question["title"] == json!(title) && question["presence"] == json!(waits) {
                return question.clone();
            }
        }
    }

    /// Waits until a question has ended, and returns the kind of its outcome.
    pub(super) fn wait_for_outcome(&mut self, question: &Value) -> Value {
        loop {
            let notified = self.receive();
            let closed = &notified["part"]["closed"];
            if closed["ticket"] == question["ticket"] {
                return closed["how"]["kind"].clone();
            }
        }
    }

    /// Does an act and returns its last answer. Each question was shown with one request.
    pub(crate) fn act(&mut self, mut act: Value) -> Value {
        if let Some(answer) = act.get_mut("answer") {
            answer["shown"] = json!(1);
        }
        let answer = self.request(&json!({"questions": act}));
        answer.get("last").unwrap_or_else(|| panic!("refused: {answer}")).clone()
    }

    /// Does an act on the whole Inbox; returns its last answer, or the rejection.
    pub(super) fn act_on_inbox(&mut self, act: Value) -> Value {
        let answer = self.request(&json!({"inbox": act}));
        answer.get("last").cloned().unwrap_or(answer)
    }

    /// Waits for the first question with this title, on a new connection.
    pub(crate) fn wait_for_question(home: &Home, title: &str) -> Value {
        let mut user = Self::connect(home);
        let mut answer = user.request(&json!({"questions": "follow"}));
        loop {
            let question = &answer["part"]["question"];
            if question["title"] == json!(title) {
                return question.clone();
            }
            answer = user.receive();
        }
    }

    /// Returns the pending questions.
    pub(crate) fn pending(home: &Home) -> Vec<Value> {
        let mut user = Self::connect(home);
        let mut answer = user.request(&json!({"questions": "follow"}));
        let mut questions = Vec::new();
        loop {
            let part = &answer["part"];
            if part.get("current").is_some() {
                return questions;
            }
            let closed = &part["closed"]["ticket"];
            questions.retain(|known: &Value| known["ticket"] != *closed);
            questions.extend(part.get("question").cloned());
            answer = user.receive();
        }
    }

    /// Chooses an option of a question with one choice.
    pub(crate) fn choose(&mut self, question: &Value, value: &str) -> Value {
        let answer = json!([["answer", {"choices": [value]}]]);
        self.act(json!({"answer": {"ticket": question["ticket"], "answer": answer, "note": null, "passphrase": null}}))
    }
}

/// The params of the contract's example, with another title.
pub(crate) fn example(title: &str) -> Value {
    json!({
        "workspacePath": "/path/to/workspace",
        "title": title,
        "message": "Deploy now?",
        "options": [{"label": "Yes", "value": "yes"}, {"label": "No", "value": "no"}],
    })
}

/// The contract's request.
pub(super) fn request(id: &str, title: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "triggerPopup", "params": example(title), "id": id})
}

/// The relay below the shell of a client of the hub.
pub(crate) fn relay_of(peer: &Peer) -> Pid {
    let shell = peer.child.id();
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
    Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
}
