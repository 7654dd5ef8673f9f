//! A hub with HTTP, and a client that sends exact bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{DEADLINE, Home, wait};

/// A running hub.
pub(crate) struct Hub {
    pub(crate) home: Home,
    pub(super) address: SocketAddr,
    child: Child,
    lines: Receiver<String>,
}

impl Hub {
    /// A hub without authentication, with these lines in `[http]` of its `config.toml`.
    pub(super) fn open(settings: &str) -> Self {
        Self::start(Home::new(), settings, &["--auth", "none"])
    }

    /// A hub that requires its token, and has its socket too.
    pub(crate) fn locked() -> Self {
        Self::begin(Home::new(), "", &[])
    }

    /// A hub that asks for its token, with these lines in its `config.toml`.
    pub(super) fn locked_with(settings: &str) -> Self {
        Self::locked_in(Home::new(), settings)
    }

    /// The same, with the files of `home`.
    pub(super) fn locked_in(home: Home, settings: &str) -> Self {
        Self::begin(home, settings, &[])
    }

    /// The path of a link that logs a browser in.
    pub(super) fn login_link(&self) -> String {
        let link = self.home.run(["open", "--print"], "").stdout;
        link.trim().splitn(4, '/').nth(3).map(|path| format!("/{path}")).unwrap_or_default()
    }

    /// Logs a browser in and returns its cookie.
    pub(super) fn log_in(&self) -> String {
        let answer = self.send_request("GET", &self.login_link(), &[], "");
        let cookie = answer.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
        assert!(cookie.contains('='), "{answer:?}");
        cookie
    }

    pub(super) fn start(home: Home, settings: &str, arguments: &[&str]) -> Self {
        Self::begin(home, settings, &[&["--socket", "off"], arguments].concat())
    }

    /// A hub without authentication, with its socket too.
    pub(crate) fn with_socket(home: Home) -> Self {
        Self::begin(home, "", &["--auth", "none"])
    }

    fn begin(home: Home, settings: &str, arguments: &[&str]) -> Self {
        home.write(".adjutant/config.toml", format!("[http]\n{settings}\n"));
        home.write(
            ".adjutant/prompts/greet.md",
            "---\ndescription: Says hello.\n---\nSay hello to {{input}}.\n",
        );
        let mut child = home
            .adjutant(["serve", "--http", "127.0.0.1:0"].iter().chain(arguments))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines() {
                let Ok(line) = line else { break };
                let _ = send.send(line);
            }
        });
        let mut text = Vec::new();
        let address: SocketAddr = loop {
            let line =
                lines.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("the hub does not serve: {text:?}"));
            let found =
                line.split_whitespace().find_map(|word| word.strip_suffix("/mcp")?.strip_prefix("http://"));
            assert!(!line.contains("/login/"), "a link that logs in is never printed: {line}");
            if let Some(address) = found {
                break address.parse().unwrap();
            }
            text.push(line);
        };
        Self { home, address, child, lines }
    }

    /// The content of the token file.
    pub(super) fn token(&self) -> String {
        std::fs::read_to_string(self.home.path().join(".adjutant/token")).unwrap().trim().to_owned()
    }

    /// Sends bytes on a new connection and returns the answer.
    pub(super) fn send_bytes(&self, bytes: impl AsRef<[u8]>) -> Answer {
        Stream::open(self.address, bytes.as_ref()).whole()
    }

    /// Sends a request; Host is the hub's unless `headers` names one.
    pub(super) fn send_request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        self.send_bytes(self.encode_request(method, path, headers, body))
    }

    /// Posts a stateless request of the newest revision, with the headers that mirror it, and returns its answer when
    /// the head has arrived.
    pub(crate) fn modern(&self, path: &str, message: &Value) -> Stream {
        let headers = mirrored(message);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.stream("POST", path, &[&MCP[..], &headers].concat(), &message.to_string())
    }

    /// The number of open sockets of its process.
    pub(crate) fn sockets(&self) -> usize {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        let links = files.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
        links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
    }

    /// Opens an event stream and returns it when its head has arrived.
    pub(super) fn stream(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Stream {
        Stream::open(self.address, self.encode_request(method, path, headers, body).as_bytes())
    }

    fn encode_request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            text += &format!("content-length: {}\r\n", body.len());
        }
        text + "\r\n" + body
    }

    /// Posts a JSON-RPC message to `/mcp/prompts` as an MCP client does.
    pub(super) fn post(&self, headers: &[(&str, &str)], message: &Value) -> Answer {
        self.post_to("/mcp/prompts", headers, message)
    }

    pub(crate) fn post_to(&self, path: &str, headers: &[(&str, &str)], message: &Value) -> Answer {
        self.send_request("POST", path, &[&MCP[..], headers].concat(), &message.to_string())
    }

    /// Does the handshake of a revision; returns the session's id and the answer.
    pub(super) fn initialize(&self, revision: &str) -> (String, Answer) {
        let answer = self.post(&[], &initialize(revision));
        assert_eq!(answer.status, 200, "{answer:?}");
        let session = answer.header("mcp-session-id").to_owned();
        let reply = self.post(
            &[("mcp-session-id", &session)],
            &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        );
        assert_eq!(reply.status, 202, "{reply:?}");
        (session, answer)
    }

    /// Sends SIGTERM and waits for the end.
    pub(super) fn stop(mut self) -> ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        wait(&mut self.child, DEADLINE)
    }

    /// The hub's stderr so far, after its banner's address.
    pub(super) fn log(&self) -> String {
        self.lines.try_iter().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The headers of every message of an MCP client.
pub(super) const MCP: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

/// The headers of 2026-07-28 that repeat members of the body.
fn mirrored(message: &Value) -> Vec<(&'static str, String)> {
    let params = &message["params"];
    let mut headers = vec![
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", message["method"].as_str().unwrap().to_owned()),
    ];
    let name = ["name", "uri", "taskId"].iter().find_map(|name| params[*name].as_str());
    headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
    headers
}

/// An `initialize` request.
pub(crate) fn initialize(revision: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The head as it came.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The value of a header, empty without one.
    pub(crate) fn header(&self, name: &str) -> &str {
        header(&self.head, name).unwrap_or_default()
    }

    /// The body as JSON, or the messages of its events.
    pub(crate) fn messages(&self) -> Vec<Value> {
        if self.header("content-type").starts_with("text/event-stream") {
            let data = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
            return data.map(str::trim).filter(|data| !data.is_empty()).map(parse).collect();
        }
        vec![parse(&self.body)]
    }

    /// The only message.
    pub(crate) fn message(&self) -> Value {
        let mut messages = self.messages();
        assert_eq!(messages.len(), 1, "{self:?}");
        messages.remove(0)
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not JSON ({error}): {text:?}"))
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// An answer that is still arriving.
pub(crate) struct Stream {
    reader: BufReader<TcpStream>,
    pub(crate) status: u16,
    head: String,
}

impl Stream {
    /// Sends bytes and reads the head of the answer.
    pub(super) fn open(address: SocketAddr, bytes: &[u8]) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        // A server that refuses early may close before it has read everything.
        let _ = stream.write_all(bytes);
        Self::read_head(stream)
    }

    /// Reads the head of the answer to a request that was sent.
    pub(crate) fn read_head(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = reader.read_line(&mut head).unwrap();
            assert!(read > 0, "the connection ended within the head: {head:?}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { reader, status, head }
    }

    /// The value of a header, empty without one.
    pub(super) fn header(&self, name: &str) -> &str {
        header(&self.head, name).unwrap_or_default()
    }

    /// Reads the answer to its end.
    pub(crate) fn whole(mut self) -> Answer {
        let mut bytes = Vec::new();
        if header(&self.head, "transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                bytes.extend(chunk);
            }
        } else {
            let length =
                header(&self.head, "content-length").map_or(u64::MAX, |length| length.parse().unwrap());
            self.reader.by_ref().take(length).read_to_end(&mut bytes).unwrap();
        }
        Answer { status: self.status, head: self.head, body: String::from_utf8(bytes).unwrap() }
    }

    /// The next message among the events; `None` at the end of the stream.
    pub(super) fn next(&mut self) -> Option<Value> {
        let end = Instant::now() + DEADLINE;
        loop {
            assert!(Instant::now() < end, "no event within {DEADLINE:?}");
            let text = String::from_utf8(self.chunk()?).unwrap();
            let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
            if let Some(data) = data.into_iter().find(|data| !data.is_empty()) {
                return Some(parse(data));
            }
        }
    }

    /// Reads on to the end of the stream.
    pub(super) fn assert_ended(&mut self) {
        while self.chunk().is_some() {}
    }

    fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut size = String::new();
        self.reader.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        let mut bytes = vec![0; size + 2];
        self.reader.read_exact(&mut bytes).unwrap();
        bytes.truncate(size);
        (size > 0).then_some(bytes)
    }
}
