//! A hub, or the conformance fixture, that serves until the value is dropped.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::{DEADLINE, Home};

/// Returns the program of `tests/conformance`, which cargo builds with the tests.
pub(crate) fn conformance_server() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_adjutant")).with_file_name("examples").join("conformance-server")
}

/// A process of the binary that listens on a free port of loopback.
pub(crate) struct Serving {
    child: Child,
    /// The address that the process printed: `http://ADDRESS`, or the socket's path.
    root: String,
    token: String,
}

impl Serving {
    /// A hub with a token, as a user starts it.
    pub(crate) fn hub(home: &Home) -> Self {
        Self::hub_after(home.adjutant([""; 0]), home)
    }

    /// The same, by a command that starts it with more arguments.
    pub(crate) fn hub_after(mut command: Command, home: &Home) -> Self {
        Self::start(command.args(["serve", "--http", "127.0.0.1:0"]), home, "/mcp")
    }

    /// A hub with its socket only, without HTTP.
    pub(crate) fn socket_hub(home: &Home) -> Self {
        Self::start(&mut home.adjutant(["serve", "--http", "off"]), home, "/hub.sock")
    }

    /// A hub without authentication.
    pub(crate) fn open_hub(home: &Home) -> Self {
        Self::start(&mut home.adjutant(["serve", "--http", "127.0.0.1:0", "--auth", "none"]), home, "/mcp")
    }

    /// A hub without authentication, with the example data of `--demo`.
    pub(crate) fn demo_hub(home: &Home) -> Self {
        Self::demo_hub_of(home.adjutant([""; 0]), home)
    }

    /// The same, with this environment.
    pub(crate) fn demo_hub_of(mut command: Command, home: &Home) -> Self {
        let arguments = ["serve", "--http", "127.0.0.1:0", "--auth", "none", "--demo"];
        Self::start(command.args(arguments), home, "/mcp")
    }

    /// The conformance fixture on the product's HTTP layers.
    pub(crate) fn fixture(home: &Home) -> Self {
        Self::start(&mut home.client(&conformance_server()), home, "/mcp")
    }

    /// A hub without authentication, with this environment and home.
    pub(crate) fn open_hub_of(mut command: Command, home: &Home) -> Self {
        Self::start(command.args(["serve", "--http", "127.0.0.1:0", "--auth", "none"]), home, "/mcp")
    }

    /// A hub without authentication that `command` starts with more arguments; its home is the command's own.
    pub(crate) fn open_hub_after(mut command: Command) -> Self {
        Self::start(command.args(["--http", "127.0.0.1:0", "--auth", "none"]), &Home::new(), "/mcp")
    }

    /// A page of its console.
    pub(crate) fn page(&self, path: &str) -> String {
        self.send_request("GET", path, "", "")
    }

    /// Posts JSON to it, and returns the whole answer.
    pub(crate) fn post(&self, path: &str, body: &str) -> String {
        self.send_request("POST", path, "Content-Type: application/json\r\n", body)
    }

    /// Sends a request with these lines of headers, and returns the whole answer.
    pub(crate) fn send_request(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let address = self.root.trim_start_matches("http://");
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: {address}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it in order, as a user does, and waits until it has.
    pub(crate) fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        super::wait(&mut self.child, DEADLINE);
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts it and waits until it has printed an address that ends in `end_of_address`.
    fn start(command: &mut Command, home: &Home, end_of_address: &str) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            while stderr.read_line(&mut line).is_ok_and(|read| read > 0) {
                if send.send(std::mem::take(&mut line)).is_err() {
                    // The address is known. The rest is read so that the process never blocks.
                    let _ = std::io::copy(&mut stderr.by_ref(), &mut std::io::sink());
                }
            }
        });
        let end = Instant::now() + DEADLINE;
        let mut text = String::new();
        let root = loop {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    text.push_str(&line);
                    if let Some(root) =
                        line.split_whitespace().find_map(|word| word.strip_suffix(end_of_address))
                    {
                        break root.to_owned();
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("no address within {DEADLINE:?}: {text}"),
                Err(RecvTimeoutError::Disconnected) => panic!("it ended without serving: {text}"),
            }
        };
        let token = std::fs::read_to_string(home.path().join(".adjutant/token")).unwrap_or_default();
        Self { child, root, token: token.trim().to_owned() }
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }

    /// The token for `/mcp`; empty without authentication.
    pub(crate) fn token(&self) -> String {
        self.token.clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
