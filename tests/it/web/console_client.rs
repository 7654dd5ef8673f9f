//! A hub with a few prompts, and a plain HTTP client that shows the bytes of an answer.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::agent_fixtures;
use crate::http::client::{Answer, Stream as HttpStream};
use crate::support::{DEADLINE, Home, Peer, wait};

/// A hub without authentication, with prompts of every kind.
pub(crate) struct Console {
    pub(crate) home: Home,
    hub: Child,
    /// The one-time link that logs a browser in; empty without authentication.
    pub(crate) link: String,
    address: String,
}

impl Console {
    pub(crate) fn new() -> Self {
        Self::start("none")
    }

    /// A hub that requires a login.
    pub(crate) fn with_login() -> Self {
        Self::start("token")
    }

    /// Ends the hub at once, as a crash would.
    pub(crate) fn kill_hub(&mut self) {
        self.hub.kill().unwrap();
    }

    fn start(auth: &str) -> Self {
        let home = Home::new();
        let prompts = ".adjutant/prompts";
        home.write(
            &format!("{prompts}/research.md"),
            "---\ndescription: Research a topic and provide a concise summary with key sources.\naliases: [r]\n---\n\
             You are a focused researcher. Investigate the topic below and return:\n\
             - A 3-5 sentence summary\n- 3 key findings\n\nTopic:\n{{input}}",
        );
        home.write(
            &format!("{prompts}/review/pull-request.md"),
            "---\n\
             description: Review a pull request the way a reviewer does who is not tired yet.\n\
             aliases: [pr]\n\
             arguments:\n\
             \x20 - name: topic\n\
             \x20   description: What the change is about, in a few words.\n\
             \x20   required: true\n\
             \x20 - name: depth\n\
             \x20   description: How deep to look, 1 to 5.\n\
             \x20   type: integer\n\
             \x20   default: 2\n\
             \x20 - name: tone\n\
             \x20   enum: [kind, blunt]\n\
             \x20   default: kind\n\
             \x20 - name: tests\n\
             \x20   description: Ask for tests where there are none.\n\
             \x20   type: boolean\n\
             \x20   default: true\n\
             ---\n\n\
             Review the change about {{topic}} at depth {{depth}}. Be {{tone}}. Ask for tests: {{tests}}.\n\n{{input}}\n",
        );
        home.write(
            &format!("{prompts}/hidden.md"),
            "---\ndescription: Says more than it \u{202e}shows.\n---\nDo this.\u{200b}\u{e0041}\n\n{{input}}",
        );
        home.write(&format!("{prompts}/broken.md"), [0xff, 0xfe, 0x00]);
        agent_fixtures::write_agents(&home);
        let (hub, address) = Self::serve(&home, auth);
        let link = if auth == "token" { home.run(["open", "--print"], "").stdout } else { String::new() };
        Self { home, hub, link: link.trim().to_owned(), address }
    }

    /// Starts a hub; returns it with its address.
    fn serve(home: &Home, auth: &str) -> (Child, String) {
        let arguments = ["serve", "--http", "127.0.0.1:0", "--auth", auth];
        let mut hub = home
            .adjutant(arguments)
            .env("PATH", agent_fixtures::path(home))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = lines(BufReader::new(hub.stderr.take().unwrap()));
        let banner = output.wait_until("/mcp");
        let address = banner.split_whitespace().find_map(|word| word.strip_suffix("/mcp"));
        let address = address.and_then(|url| url.strip_prefix("http://")).unwrap().to_owned();
        // The rest is read so that the hub never blocks.
        std::thread::spawn(move || while output.lines.recv().is_ok() {});
        (hub, address)
    }

    /// Stops the hub, and starts another one in its home, without authentication.
    pub(crate) fn restart(&mut self) {
        self.stop();
        (self.hub, self.address) = Self::serve(&self.home, "none");
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Stops the hub, and waits until it has ended.
    pub(crate) fn stop(&mut self) {
        kill_process(Pid::from_child(&self.hub), Signal::TERM).unwrap();
        assert!(wait(&mut self.hub, DEADLINE).success(), "the hub did not end in order");
    }

    /// An agent that reaches this hub over its socket.
    pub(crate) fn connect_agent(&self) -> Peer {
        Peer::start(&mut self.home.adjutant(["connect"]))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send_request("GET", path, &[], "")
    }

    /// Changes the hub's database.
    pub(crate) fn sql(&self, statements: &str) {
        let mut child = Command::new("sqlite3")
            .args(["-bail", "-cmd", ".timeout 10000"])
            .arg(self.home.path().join(".adjutant/adjutant.db"))
            .stdin(Stdio::piped())
            .spawn()
            .expect("no sqlite3: apt-get install sqlite3");
        child.stdin.take().unwrap().write_all(statements.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }

    /// Sends a form, as a browser does.
    pub(crate) fn post(&self, path: &str, form: &str) -> Answer {
        self.send_request("POST", path, &[("content-type", "application/x-www-form-urlencoded")], form)
    }

    pub(crate) fn send_request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        HttpStream::read_head(self.send(method, path, headers, body)).whole()
    }

    /// Opens a stream of events.
    pub(crate) fn stream(&self, path: &str) -> Stream {
        lines(BufReader::new(self.send("GET", path, &[], "")))
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            request += &format!("content-length: {}\r\n", body.len());
        }
        stream.write_all(request.as_bytes()).unwrap();
        stream.write_all(b"\r\n").unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        stream
    }

    /// The page with the parts that differ from run to run replaced by names.
    pub(crate) fn redacted(&self, answer: &Answer) -> String {
        let text = split_style(&answer.body).map_or_else(|| answer.body.clone(), |(_, page)| page);
        let text = text.replace("&#x2f;", "/").replace("&#x27;", "'");
        let text = text.replace(&self.address, "[address]").replace(env!("CARGO_PKG_VERSION"), "[version]");
        let text = redact_between(&text, "/static/app-", ".js", "[hash]", 12);
        let text = redact_between(&text, "/static/inter-", ".woff2", "[hash]", 12);
        let text = redact_between(&text, "/static/icon-", ".svg", "[hash]", 12);
        let text = redact_between(&text, "/static/style-", ".css", "[hash]", 12);
        let text = redact_between(&text, "/static/manifest-", ".webmanifest", "[hash]", 12);
        let text = redact_between(&text, "title=\"sha256:", "\"", "[digest]", 64);
        let text = redact_between(&text, ">sha256:", "…</code>", "[digest]", 12);
        let text = redact_between(&text, "name=\"csrf\" value=\"", "\">", "[token]", 96);
        format!("{}\n\n{text}", answer.status)
    }
}

/// The style sheet of a page and the page without it; nothing for a part of a page.
pub(crate) fn split_style(page: &str) -> Option<(&str, String)> {
    let (head, rest) = page.split_once("<style>")?;
    let (sheet, rest) = rest.split_once("</style>\n")?;
    Some((sheet, format!("{head}{rest}")))
}

/// Replaces the text between two texts, everywhere, and asserts its length unless that may vary.
fn redact_between(text: &str, open: &str, close: &str, name: &str, length: usize) -> String {
    let mut parts = text.split(open);
    let mut redacted = parts.next().unwrap().to_owned();
    for part in parts {
        let (value, rest) = part.split_once(close).unwrap();
        assert!(length == 0 || value.len() == length, "{open}{value}{close}");
        redacted += &format!("{open}{name}{close}{rest}");
    }
    redacted
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.hub.kill();
        let _ = self.hub.wait();
    }
}

/// Text that arrives line by line: server-sent events with their head, or a hub's output.
pub(crate) struct Stream {
    lines: Receiver<String>,
}

fn lines(mut text: impl BufRead + Send + 'static) -> Stream {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        while text.read_line(&mut line).is_ok_and(|read| read > 0) {
            if send.send(std::mem::take(&mut line)).is_err() {
                break;
            }
        }
    });
    Stream { lines }
}

impl Stream {
    /// Reads up to a line that contains `wanted`, and returns all that was read.
    pub(crate) fn wait_until(&mut self, wanted: &str) -> String {
        let end = Instant::now() + DEADLINE;
        let mut read = String::new();
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => read += &line,
                Err(error) => panic!("no {wanted} in the stream ({error}): {read}"),
            }
            if read.lines().next_back().is_some_and(|line| line.contains(wanted)) {
                return read;
            }
        }
    }

    /// Asserts that the stream ends.
    pub(crate) fn assert_ended(&mut self) {
        let end = Instant::now() + DEADLINE;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => panic!("the stream is still open after {DEADLINE:?}"),
            }
        }
    }
}
