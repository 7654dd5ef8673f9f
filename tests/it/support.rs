//! Support of all tests: a hermetic home, the binary as a child, and a line client with deadlines.

pub(crate) mod certificates;
pub(crate) mod chromium;
pub(crate) mod desktop;
pub(crate) mod http_server;
pub(crate) mod model;
pub(crate) mod model_endpoint;
pub(crate) mod nats;
pub(crate) mod ntfy;
pub(crate) mod openid_issuer;
pub(crate) mod postgres;
pub(crate) mod process_table;
pub(crate) mod real_clients;
pub(crate) mod schemas;
pub(crate) mod serving;
pub(crate) mod task_fixture;
pub(crate) mod terminal;

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Longest single wait before the test fails.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// A separate home in a temporary folder, removed with the value.
pub struct Home {
    folder: tempfile::TempDir,
}

/// A process of the test that ends at this moment may still write, and then one removal fails.
impl Drop for Home {
    fn drop(&mut self) {
        let end = Instant::now() + DEADLINE;
        while let Err(error) = std::fs::remove_dir_all(self.path())
            && error.kind() != ErrorKind::NotFound
        {
            if Instant::now() > end {
                assert!(std::thread::panicking(), "the test leaves {}: {error}", self.path().display());
                return;
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
}

impl Home {
    pub fn new() -> Self {
        Self { folder: tempfile::Builder::new().prefix("adj").tempdir().unwrap() }
    }

    /// `$HOME`; the hub's own folder is `.adjutant` below it.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The last two parts of the path of `$HOME`.
    pub fn short_path(&self) -> String {
        let parts: Vec<_> = self.path().iter().map(|part| part.to_str().unwrap()).collect();
        parts[parts.len() - 2..].join("/")
    }

    /// Writes a file below `$HOME`, making its folders, and returns its path.
    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Writes an executable file below `$HOME` and returns its path.
    pub fn write_program(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write(relative, content);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// `adjutant` with `arguments`, the environment cleared but for what a client like Codex passes.
    pub fn adjutant<S: AsRef<std::ffi::OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            // No test may notify the desktop of its user: a session bus would be looked up here.
            .env("XDG_RUNTIME_DIR", self.path())
            .current_dir(self.path());
        command
    }

    /// Runs `adjutant` to its end with `input` on stdin.
    pub fn run<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: impl AsRef<[u8]>,
    ) -> Finished {
        let arguments: Vec<S> = arguments.into_iter().collect();
        let mut child = self
            .adjutant(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref().to_vec();
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let stdout = collect(child.stdout.take().unwrap());
        let stderr = collect(child.stderr.take().unwrap());
        let status = wait(&mut child, DEADLINE);
        writer.join().unwrap();
        let finished = Finished {
            status,
            stdout: stdout.recv_timeout(DEADLINE).unwrap(),
            stderr: stderr.recv_timeout(DEADLINE).unwrap(),
        };
        schemas::check(&arguments, &finished);
        finished
    }
}

/// Ends the background hub of a home, with the value.
pub struct StopHubOnDrop<'a>(pub &'a Home);

impl Drop for StopHubOnDrop<'_> {
    fn drop(&mut self) {
        let output = self.0.run(["status", "--json"], "");
        let status: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
        let pid = status["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// The result of a finished run.
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// stdout as one JSON value a line.
    pub fn lines(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("not JSON ({e}): {line:?}")))
            .collect()
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receive
}

/// Waits for a child's end; past the deadline it is killed and the test fails.
pub fn wait(child: &mut Child, deadline: Duration) -> ExitStatus {
    let end = Instant::now() + deadline;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the process did not end within {deadline:?}");
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Waits until `look` returns a value, with a check every few milliseconds.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE * 2;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// A child that speaks newline-delimited JSON-RPC on its stdin and stdout.
pub struct Peer {
    pub child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Kept open and never read.
    _unread: Option<ChildStdout>,
    stderr: Receiver<String>,
}

impl Peer {
    pub fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (send, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let Ok(line) = line else { break };
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let stderr = collect(child.stderr.take().unwrap());
        Self { stdin: child.stdin.take(), child, lines, _unread: None, stderr }
    }

    /// The same, but the test never reads the child's output.
    pub fn start_unread(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (_, lines) = channel();
        let stderr = collect(child.stderr.take().unwrap());
        Self { stdin: child.stdin.take(), _unread: child.stdout.take(), child, lines, stderr }
    }

    /// The child's stdin, for a test that writes from another thread.
    pub fn take_stdin(&mut self) -> ChildStdin {
        self.stdin.take().expect("stdin is open")
    }

    /// The child's resident memory.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// `adjutant mcp prompts` over one folder.
    pub fn prompts(home: &Home, folder: &Path) -> Self {
        let arguments = ["mcp", "prompts", "--prompts-dir", folder.to_str().unwrap()];
        Self::start(&mut home.adjutant(arguments))
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes.as_ref()).unwrap();
        stdin.flush().unwrap();
    }

    /// Writes one message as a line.
    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n"));
    }

    /// The next line, byte for byte.
    pub fn line(&self) -> String {
        match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => panic!("no line within {DEADLINE:?}"),
            Err(RecvTimeoutError::Disconnected) => panic!("stdout ended; stderr: {}", self.stderr_now()),
        }
    }

    /// The next line as JSON.
    pub fn receive(&self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("not JSON ({e}): {line:?}"))
    }

    /// Asserts that the output has ended without another line.
    pub fn assert_ended(&self) {
        match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => panic!("one line too many: {line}"),
            Err(RecvTimeoutError::Disconnected) => {}
            Err(RecvTimeoutError::Timeout) => panic!("stdout is still open after {DEADLINE:?}"),
        }
    }

    /// Sends a request and returns the answer to it; notifications and other answers in between are dropped.
    pub fn call(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let id = id.into();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message.get("id") == Some(&id) && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// The handshake of one legacy revision; returns the `initialize` answer.
    pub fn initialize(&mut self, revision: &str) -> Value {
        let params = json!({
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = self.call("init", "initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// Ends the input.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Closes the input, waits for the child to end, and returns its stderr.
    pub fn finish(mut self) -> (ExitStatus, String) {
        self.close();
        let status = wait(&mut self.child, DEADLINE);
        (status, self.stderr_now())
    }

    fn stderr_now(&self) -> String {
        self.stderr.recv_timeout(Duration::from_secs(5)).unwrap_or_default()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The `_meta` of a call that belongs to a trace.
pub fn traced_meta() -> Value {
    json!({"traceparent": TRACEPARENT, "tracestate": "vendor=1", "baggage": "who=ann"})
}

pub const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The `_meta` of a client of the stateless revision.
pub fn stateless_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}
