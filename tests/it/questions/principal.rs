//! Proof of the user: the ways in which an agent tries to answer its own question from a shell, and the user's own
//! ways.
//!
//! A program of the agent is the test's process or below it; the user's programs are those that the test starts while
//! the agent runs in another session.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::fixtures::{example, request};
use crate::support::process_table::{eventually, processes_with_argument};
use crate::support::serving::Serving;
use crate::support::terminal::Terminal;
use crate::support::{Home, Peer, StopHubOnDrop};

/// The hub's message when it rejects.
const REFUSED: &str = "only the user may do this";

/// Answers the only question, and keeps the output.
const ANSWER: &str = r#"{ "$BIN" inbox --plain <answer >output 2>&1; : >ended; }"#;

/// A hub with a token, and the shells of a test.
struct Fixture {
    home: Home,
}

impl Fixture {
    fn new() -> Self {
        let home = Home::new();
        home.write("answer", "q yes\n");
        home.write("try", ANSWER);
        // It opens right before the answer is tried, in a process that was started earlier.
        assert!(Command::new("mkfifo").arg(home.path().join("go")).status().unwrap().success());
        Self { home }
    }

    fn shell(&self, script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env_clear().current_dir(self.home.path());
        shell.env("HOME", self.home.path()).env("PATH", std::env::var_os("PATH").unwrap());
        shell.env("BIN", env!("CARGO_BIN_EXE_adjutant")).env("TMUX_TMPDIR", self.home.path());
        shell.env("XDG_RUNTIME_DIR", self.home.path());
        shell
    }

    fn relay(&self) -> Peer {
        Peer::start(&mut self.home.adjutant(["connect", "questions"]))
    }

    /// Runs a script that ends in [`ANSWER`], and returns its output.
    fn attempt(&self, script: &str) -> String {
        let status = self.shell(script).status().unwrap();
        assert!(status.success(), "{script}");
        self.log()
    }

    fn log(&self) -> String {
        let ended = self.home.path().join("ended");
        eventually("the attempt ends", || if ended.exists() { Ok(()) } else { Err("it runs") });
        std::fs::remove_file(ended).unwrap();
        std::fs::read_to_string(self.home.path().join("output")).unwrap()
    }

    fn pending(&self) -> u64 {
        let status = self.home.run(["status", "--json"], "");
        let status: Value = serde_json::from_str(&status.stdout).unwrap_or_default();
        status["status"]["waiting"]["questions"].as_u64().unwrap_or_default()
    }

    fn wait_for_question(&self) {
        eventually(
            "the question is pending",
            || if self.pending() == 1 { Ok(()) } else { Err(self.pending()) },
        );
    }
}

fn ask(agent: &mut Peer) {
    agent.initialize("2025-11-25");
    agent.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "triggerPopup", "arguments": example("Deploy?")}}));
}

/// Asks through a relay, and answers by this script.
fn by_shell(fixture: &Fixture, script: &str) -> String {
    let _hub = Serving::socket_hub(&fixture.home);
    let mut agent = fixture.relay();
    ask(&mut agent);
    fixture.wait_for_question();
    let output = fixture.attempt(script);
    assert_eq!(fixture.pending(), 1, "{output}");
    output
}

fn in_tmux(fixture: &Fixture, script: &str) -> String {
    let tmux = |rest: &str| fixture.shell(&format!("tmux -L adj -f /dev/null {rest}")).status().unwrap();
    assert!(tmux("new-session -d 'sleep 1000'").success(), "install tmux");
    let output = by_shell(fixture, script);
    tmux("kill-server");
    output
}

/// Asks over HTTP; the connection stays open.
fn asked_over_http(fixture: &Fixture) -> (Serving, TcpStream) {
    let hub = Serving::hub(&fixture.home);
    fixture.home.write("root", hub.url(""));
    let address = hub.url("").trim_start_matches("http://").to_owned();
    let body = request("1", "Deploy?").to_string();
    let mut stream = TcpStream::connect(&address).unwrap();
    let mut head =
        format!("POST /mcp/popup HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    write!(head, "authorization: Bearer {}\r\ncontent-length: {}\r\n\r\n", hub.token(), body.len()).unwrap();
    stream.write_all((head + &body).as_bytes()).unwrap();
    fixture.wait_for_question();
    (hub, stream)
}

fn over_http(fixture: &Fixture) -> String {
    let (_hub, _stream) = asked_over_http(fixture);
    let output = fixture.attempt(ANSWER);
    assert_eq!(fixture.pending(), 1, "{output}");
    output
}

/// Asks over HTTP by processes that have left their parents and end. `script` calls `post`.
fn ask_and_leave(fixture: &Fixture, hub: &Serving, script: &str) {
    let url = hub.url("/mcp/popup");
    let post = format!(
        "post() {{ curl -s -m 2 -H 'authorization: Bearer {}' -H 'content-type: application/json' \"$@\" {url}; }}\n",
        hub.token()
    );
    fixture.home.write("ask", post + script);
    assert!(fixture.shell("( setsid sh ask >asked & )").status().unwrap().success());
    fixture.wait_for_question();
    eventually("the process ends", || {
        let left = processes_with_argument(&url);
        if left.is_empty() { Ok(()) } else { Err(left) }
    });
}

/// Asks by a single request.
fn post_question(title: &str) -> String {
    format!("post -d '{}'", request("1", title))
}

fn over_http_and_gone(fixture: &Fixture) -> String {
    let hub = Serving::hub(&fixture.home);
    ask_and_leave(fixture, &hub, &post_question("Deploy?"));
    let output = fixture.attempt(ANSWER);
    assert_eq!(fixture.pending(), 1, "{output}");
    output
}

/// Asks in a session, of which each request comes from a new process.
fn over_http_in_a_session_and_gone(fixture: &Fixture) -> String {
    let hub = Serving::hub(&fixture.home);
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "triggerPopup", "arguments": example("Deploy?")}});
    let script = format!(
        "post -D head -d '{initialize}'; id=$(grep -i '^mcp-session-id:' head | tr -d '\\r')\npost -H \"$id\" -d '{call}'"
    );
    ask_and_leave(fixture, &hub, &script);
    let output = fixture.attempt(ANSWER);
    assert_eq!(fixture.pending(), 1, "{output}");
    output
}

/// Asks over HTTP by a process whose open files only a process that may trace it can read.
fn hidden_over_http(fixture: &Fixture) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_adjutant"));
    let hub = if rustix::process::geteuid().is_root() {
        // Root may trace everything, so the hub gives that up.
        let mut hub = fixture.home.client(Path::new("setpriv"));
        hub.args(["--bounding-set", "-sys_ptrace"]).arg(program);
        Serving::hub_after(hub, &fixture.home)
    } else {
        Serving::hub(&fixture.home)
    };
    let client = r#"
import ctypes, json, sys, http.client
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
host, token, body = sys.argv[1:]
client = http.client.HTTPConnection(host)
client.request("POST", "/mcp/popup", body, {"Content-Type": "application/json", "Authorization": "Bearer " + token})
client.getresponse().read()
sys.stdin.read()
"#;
    let address = hub.url("").trim_start_matches("http://").to_owned();
    let mut client = Command::new("python3")
        .args(["-c", client, &address, &hub.token(), &request("1", "Deploy?").to_string()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    fixture.wait_for_question();
    let output = fixture.attempt(ANSWER);
    assert_eq!(fixture.pending(), 1, "{output}");
    client.kill().unwrap();
    client.wait().unwrap();
    assert!(output.contains("whose process cannot be traced"), "{output}");
    output
}

/// Asks by an agent in a terminal, which starts its relay in a session without one, and tries from its own.
fn with_a_relay_in_a_session_of_its_own(fixture: &Fixture) -> String {
    let _hub = Serving::socket_hub(&fixture.home);
    let agent = r#"
mkfifo pipe; exec 3<>pipe; cat question >&3
setsid sh -c '"$BIN" connect popup --no-start <pipe >replies; :' 3<&- &
read line <go; sh try
"#;
    fixture.home.write("agent", agent);
    fixture.home.write("question", format!("{}\n", request("1", "Deploy?")));
    // The shell puts the agent into a group of its own, as for a user.
    let mut terminal =
        fixture.shell(r#"script -qec "set -m; sh agent; :" /dev/null >shown"#).spawn().unwrap();
    fixture.wait_for_question();
    std::fs::write(fixture.home.path().join("go"), "\n").unwrap();
    let output = fixture.log();
    assert_eq!(fixture.pending(), 1, "{output}");
    terminal.wait().unwrap();
    output
}

fn as_script(fixture: &Fixture) -> String {
    let _hub = Serving::socket_hub(&fixture.home);
    let mut stream = UnixStream::connect(fixture.home.path().join(".adjutant/hub.sock")).unwrap();
    let hello = json!({"adjutant": "0", "hello": 1, "toolset": "questions", "script": true});
    writeln!(stream, "{hello}\n{}", request("1", "Deploy?")).unwrap();
    fixture.wait_for_question();
    let output = fixture.attempt(ANSWER);
    assert_eq!(fixture.pending(), 1, "{output}");
    output
}

fn behind_a_wrapper(fixture: &Fixture) -> String {
    let _hub = Serving::socket_hub(&fixture.home);
    let mut agent = Peer::start(&mut fixture.shell(r#""$BIN" connect popup --no-start; :"#));
    ask(&mut agent);
    fixture.wait_for_question();
    let output = fixture.attempt(ANSWER);
    assert_eq!(fixture.pending(), 1, "{output}");
    output
}

/// Opens a terminal by a process that lost its parents, below an adopter that is older than the agent.
fn below_an_adopter(fixture: &Fixture) -> String {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let _hub = Serving::socket_hub(&fixture.home);
    let try_in_terminal = r#"read line <go; ( setsid script -qec "sh try" /dev/null >shown & )"#;
    let _agent = agent_elsewhere(fixture, try_in_terminal);
    std::fs::write(fixture.home.path().join("go"), "\n").unwrap();
    let output = fixture.log();
    assert_eq!(fixture.pending(), 1, "{output}");
    output
}

/// Reads the link that `adjutant open` passes to the program that opens a browser, and uses it first: below the agent,
/// and by a process that has left it.
fn by_the_link_of_the_browser(fixture: &Fixture) -> String {
    let hub = Serving::hub(&fixture.home);
    fixture.home.write("root", hub.url(""));
    let browser = "#!/bin/sh\nread line <go\ncurl -s -o /dev/null -w '%{http_code}' \"$1\" >browser\n";
    fixture.home.write_program("bin/xdg-open", browser);
    let steal = r#"
until link=$(cat /proc/[0-9]*/cmdline 2>proc | tr '\0' '\n' | grep -m 1 "^$(cat root)/login/"); do :; done
fetch="curl -s -o /dev/null -w '%{http_code} ' $link"
sh -c "$fetch" >output
( setsid sh -c "$fetch >>output; : >ended" & )
"#;
    let _agent = agent_elsewhere(fixture, steal);
    let mut open = fixture.shell(r#"PATH="$HOME/bin:$PATH"; "$BIN" open"#).spawn().unwrap();
    let output = fixture.log();
    std::fs::write(fixture.home.path().join("go"), "\n").unwrap();
    assert!(open.wait().unwrap().success());
    let browser = std::fs::read_to_string(fixture.home.path().join("browser")).unwrap();
    assert_eq!(browser, "303", "the browser logs in with the link: {output}");
    forbidden(&output)
}

fn as_subreaper(fixture: &Fixture) -> String {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    fixture.home.write(".adjutant/config.toml", "[http]\naddress = \"off\"\n");
    let _ends = StopHubOnDrop(&fixture.home);
    let mut agent = fixture.relay();
    ask(&mut agent);
    fixture.wait_for_question();
    // Its hub no longer tracks it, but an adopter keeps it as a descendant, and so it keeps processes that left their
    // parents.
    let doctor = fixture.home.run(["doctor"], "");
    assert!(doctor.stdout.contains("which started it and keeps its processes"), "{}", doctor.stdout);
    let output = [ANSWER.to_owned(), format!("( {ANSWER} & )")].map(|script| fixture.attempt(&script));
    assert_eq!(fixture.pending(), 1, "{output:?}");
    assert!(output[0].contains(REFUSED), "{output:?}");
    output[1].clone()
}

/// Sends a user's acts over the socket itself.
fn over_the_socket(fixture: &Fixture) -> String {
    let _hub = Serving::socket_hub(&fixture.home);
    let mut agent = fixture.relay();
    ask(&mut agent);
    fixture.wait_for_question();
    let mut stream = UnixStream::connect(fixture.home.path().join(".adjutant/hub.sock")).unwrap();
    let hello = json!({"adjutant": env!("CARGO_PKG_VERSION"), "hello": 1, "user": true});
    let list = json!({"questions": {"list": {"decided": false, "text": "", "limit": 9}}});
    // The hub may have hung up by then.
    let _ = writeln!(stream, "{hello}\n{list}");
    let mut output = String::new();
    // A hub that hangs up before it has read the list resets the connection, after its answer.
    if let Err(error) = stream.read_to_string(&mut output) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    assert_eq!(fixture.pending(), 1, "{output}");
    output
}

fn after_its_relay(fixture: &Fixture) -> String {
    let _hub = Serving::socket_hub(&fixture.home);
    let mut agent = fixture.relay();
    ask(&mut agent);
    fixture.wait_for_question();
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    eventually("the hub notices the end of the relay", || {
        let status = fixture.home.run(["status", "--json"], "").stdout;
        let status: Value = serde_json::from_str(&status).unwrap_or_default();
        let clients = status["status"]["clients"].as_array().map_or(usize::MAX, Vec::len);
        if clients == 0 { Ok(()) } else { Err(clients) }
    });
    let output = fixture.attempt(ANSWER);
    assert_eq!(fixture.pending(), 1, "{output}");
    output
}

/// Computes the console's cookie from the agents' token, as the hub once made it, and writes down the status of a page.
const OPENSSL_COOKIE: &str = r#"
token=$(cat "$HOME/.adjutant/token"); root=$(cat "$HOME/root")
mac() { key=$1; shift; printf '%s\0' "$@" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -r | cut -d' ' -f1; }
digest=$(printf %s "$token" | openssl dgst -sha256 -r | cut -d' ' -f1)
number=$(printf %064d 0)
for key in "$(mac "$digest" 'adjutant console')" "$digest"; do
    cookie=99999999999.$number.$(mac "$key" login 99999999999 "$number")
    curl -s -o /dev/null -w '%{http_code} ' -H "cookie: adjutant_login=$cookie" "$root/questions"
done >"$HOME/output" 2>&1; : >"$HOME/ended""#;

/// The same in Python.
const PYTHON_COOKIE: &str = r#"
cat >try.py <<'END'
import hashlib, hmac, urllib.error, urllib.request
token, root = open(".adjutant/token").read().strip(), open("root").read().strip()
def mac(key, *parts):
    return hmac.new(key, b"".join(part.encode() + b"\0" for part in parts), hashlib.sha256)
digest, number = hashlib.sha256(token.encode()).digest(), "0" * 64
for key in (mac(digest, "adjutant console").digest(), digest):
    cookie = f"adjutant_login=99999999999.{number}." + mac(key, "login", "99999999999", number).hexdigest()
    try:
        print(urllib.request.urlopen(urllib.request.Request(root + "/questions", headers={"cookie": cookie})).status)
    except urllib.error.HTTPError as error:
        print(error.code)
END
python3 try.py >output 2>&1; : >ended"#;

/// Returns that the hub refused if every page was forbidden.
fn forbidden(output: &str) -> String {
    let codes: Vec<&str> = output.split_whitespace().collect();
    if codes == ["401", "401"] { REFUSED.to_owned() } else { output.to_owned() }
}

fn by_a_cookie(fixture: &Fixture, script: &str) -> String {
    let hub = Serving::hub(&fixture.home);
    fixture.home.write("root", hub.url(""));
    let mut agent = fixture.relay();
    ask(&mut agent);
    fixture.wait_for_question();
    forbidden(&fixture.attempt(script))
}

/// Reads the stderr of `adjutant mcp popup --http` for a link to its console, and asks for one.
fn by_the_link_on_stderr(fixture: &Fixture) -> String {
    let stderr = fixture.home.path().join("stderr");
    let mut server = fixture.home.adjutant(["mcp", "popup", "--http", "127.0.0.1:0"]);
    let mut server = server
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&stderr).unwrap())
        .spawn()
        .unwrap();
    let written = |wanted: &str| {
        let read = || std::fs::read_to_string(&stderr).unwrap();
        eventually(wanted, || if read().contains(wanted) { Ok(()) } else { Err(read()) });
        read()
    };
    let text = written("/mcp");
    let address = text.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let body = request("1", "Deploy?").to_string();
    let mut stream = TcpStream::connect(&address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let text = written("/questions;");
    assert!(!text.contains("/login/"), "{text}");
    let open = fixture.home.run(["open", "--print", &address], "");
    server.kill().unwrap();
    server.wait().unwrap();
    format!("{}{}", open.stdout, open.stderr)
}

/// Starts an attempt from within a delegated task, with the user's question pending. `run` is a line of its runner.
fn from_a_task(fixture: &Fixture, run: &str) -> String {
    fixture.home.write("try", ANSWER);
    fixture.home.write("cookie", OPENSSL_COOKIE);
    let home = fixture.home.path().display();
    let bin = env!("CARGO_BIN_EXE_adjutant");
    let runner =
        format!("cat >/dev/null; export HOME={home} BIN={bin} TMUX_TMPDIR={home}; cd {home}; {run}\ncat go");
    let runner = fixture.home.write("runner.sh", runner);
    fixture.home.write(
        ".adjutant/config.toml",
        format!(
            "[tasks]\nsandbox = \"none\"\n[[runners]]\nname = \"fake\"\ncommand = [\"sh\", \"{}\"]\nstdin = \"prompt\"\n\
             levels = [\"workspace-write\"]\n",
            runner.display()
        ),
    );
    fixture.home.write(
        ".adjutant/agents/doer.yaml",
        "persona: You do.\ndescription: Does it\nrunner: fake\npermission: workspace-write\n",
    );
    let hub = Serving::hub(&fixture.home);
    fixture.home.write("root", hub.url(""));
    let mut asking =
        Peer::start(&mut fixture.home.adjutant(["ask", "--title", "Deploy?", "--option", "yes"]));
    fixture.wait_for_question();
    let mut delegate = fixture.shell(r#""$BIN" delegate doer try --background >task"#);
    assert!(delegate.status().unwrap().success());
    let output = fixture.log();
    assert_eq!(fixture.pending(), 1, "{output}");
    std::fs::write(fixture.home.path().join("go"), "").unwrap();
    asking.child.kill().unwrap();
    asking.child.wait().unwrap();
    output
}

fn from_a_task_in_tmux(fixture: &Fixture) -> String {
    let tmux = |rest: &str| fixture.shell(&format!("tmux -L adj -f /dev/null {rest}")).status().unwrap();
    assert!(tmux("new-session -d 'sleep 1000'").success(), "install tmux");
    let output = from_a_task(fixture, "env -u ADJUTANT_RUN tmux -L adj new-window 'cd $HOME; sh try'");
    tmux("kill-server");
    output
}

/// From within a task: plainly, by a link to the console, and in a session of its own without the task's variables.
fn from_a_task_directly(fixture: &Fixture) -> String {
    let run = r#"rm -f output; ("$BIN" inbox --plain <answer; "$BIN" open --print) >plain 2>&1;
env -i BIN="$BIN" HOME="$HOME" setsid sh try &"#;
    let output = from_a_task(fixture, run);
    let plain = std::fs::read_to_string(fixture.home.path().join("plain")).unwrap();
    assert_eq!(plain.matches(REFUSED).count(), 2, "{plain}");
    assert!(!plain.contains("DONE") && !plain.contains("http://"), "{plain}");
    output
}

/// Opens a terminal as another user. Root alone can take any number; a range of subordinate users gives others the same.
const OTHER_USER: &str = r#"
import os, pty
is_root = os.geteuid() == 0
if is_root:
    os.setreuid(100000, 0)
pid, terminal = pty.fork()
if pid == 0:
    if is_root:
        os.setreuid(0, 0)
    os.execvp("sh", ["sh", "try"])
try:
    while os.read(terminal, 1024):
        pass
except OSError:
    pass
"#;

/// An attempt that must be rejected.
type Attempt = (u32, fn(&Fixture) -> String);

const ATTEMPTS: [Attempt; 31] = [
    (3, |fixture| by_shell(fixture, ANSWER)),
    (5, |fixture| by_shell(fixture, &format!("script -qec '{ANSWER}' /dev/null >shown"))),
    (6, |fixture| by_shell(fixture, &format!("setsid -w sh -c '{ANSWER}'"))),
    (6, with_a_relay_in_a_session_of_its_own),
    (7, over_the_socket),
    (8, |fixture| by_shell(fixture, &format!("unshare -pf --user sh -c '{ANSWER}'"))),
    (9, after_its_relay),
    (10, |fixture| by_shell(fixture, &format!("( {ANSWER} & )"))),
    (11, |fixture| by_shell(fixture, &format!("setsid sh -c '( {ANSWER} & )' &"))),
    (12, |fixture| in_tmux(fixture, r#"tmux -L adj new-window "cd $HOME; sh try""#)),
    // What opened the terminal has a parent, and only that one has lost its own.
    (10, |fixture| by_shell(fixture, r#"( ( script -qec "sh try" /dev/null >shown ) & )"#)),
    (11, |fixture| {
        by_shell(fixture, r#"setsid -f script -qec "script -qec 'sh try' /dev/null" /dev/null >shown"#)
    }),
    (12, |fixture| in_tmux(fixture, r#"tmux -L adj new-window "cd $HOME; script -qec 'sh try' /dev/null""#)),
    (17, |fixture| by_a_cookie(fixture, PYTHON_COOKIE)),
    (18, |fixture| by_a_cookie(fixture, OPENSSL_COOKIE)),
    (19, |fixture| {
        let (_hub, _stream) = asked_over_http(fixture);
        forbidden(&fixture.attempt(OPENSSL_COOKIE))
    }),
    (20, over_http),
    (20, over_http_and_gone),
    (20, over_http_in_a_session_and_gone),
    (20, hidden_over_http),
    (21, as_script),
    (22, behind_a_wrapper),
    (24, by_the_link_on_stderr),
    (25, from_a_task_in_tmux),
    (26, |fixture| forbidden(&from_a_task(fixture, "sh cookie"))),
    (27, from_a_task_directly),
    (27, |fixture| {
        by_shell(fixture, &format!("env -i BIN=\"$BIN\" HOME=\"$HOME\" setsid sh -c '{ANSWER}' &"))
    }),
    (28, by_the_link_of_the_browser),
    (29, |fixture| {
        fixture.home.write("other.py", OTHER_USER);
        by_shell(fixture, "( python3 other.py & )")
    }),
    // Last, because this process stays a subreaper.
    (23, as_subreaper),
    (30, below_an_adopter),
];

#[test]
fn an_agent_cannot_answer_its_question_by_any_way_that_the_kernel_shows() {
    let mut answered = String::new();
    for (number, attempt) in ATTEMPTS {
        let output = attempt(&Fixture::new());
        // Rejected at the handshake, or at the answer.
        if !output.contains(REFUSED) || output.contains("DONE") {
            writeln!(answered, "way {number}: {output}").unwrap();
        }
    }
    assert_eq!(answered, "");
}

#[test]
fn a_process_without_a_proof_cannot_silence_the_questions() {
    let away = r#"( { "$BIN" availability away >output 2>&1; : >ended; } & )"#;
    let output = by_shell(&Fixture::new(), away);
    assert!(output.contains(REFUSED), "{output}");
}

#[test]
fn a_terminal_without_a_proof_is_warned_before_anything_is_typed() {
    let fixture = Fixture::new();
    let passphrase = r#"script -qec "\"$BIN\" passphrase" /dev/null >>output"#;
    let look = format!(r#""$BIN" inbox --plain </dev/null >output 2>&1; {passphrase}; : >ended"#);
    fixture.home.write("look", look);
    let output = in_tmux(&fixture, r#"tmux -L adj new-window "cd $HOME; sh look""#);
    let warning =
        format!("INBOX an answer from here needs a proof: {REFUSED}, and this terminal was opened after");
    assert!(output.starts_with(&warning), "{output}");
    assert!(output.matches(REFUSED).count() == 2 && !output.contains("New passphrase"), "{output}");
}

#[test]
fn each_documented_way_has_a_test_or_names_the_level_that_stops_it() {
    let page = include_str!("../../../SECURITY.md");
    for number in (1..=30).filter(|number| ATTEMPTS.iter().all(|(way, _)| way != number)) {
        let row = page.lines().find(|line| line.starts_with(&format!("| {number} |")));
        assert!(
            row.is_some_and(|row| row.split('|').nth(3).is_some_and(|held| !held.trim().is_empty())),
            "{number}"
        );
    }
}

/// An agent in a separate session, as in another terminal, which asks and runs a script.
fn agent_elsewhere(fixture: &Fixture, script: &str) -> Peer {
    let script = format!("exec 3<&0; \"$BIN\" connect questions --no-start <&3 & {script}\nwait");
    let mut agent = Command::new("setsid");
    agent.args(["sh", "-c", &script]).env_clear().env("BIN", env!("CARGO_BIN_EXE_adjutant"));
    agent.env("HOME", fixture.home.path()).env("PATH", std::env::var_os("PATH").unwrap());
    let mut agent = Peer::start(agent.current_dir(fixture.home.path()));
    ask(&mut agent);
    fixture.wait_for_question();
    agent
}

#[test]
fn a_user_without_an_agent_among_the_ancestors_needs_no_passphrase() {
    for in_terminal in [false, true] {
        let fixture = Fixture::new();
        let _hub = Serving::socket_hub(&fixture.home);
        let _agent = agent_elsewhere(&fixture, "");
        if in_terminal {
            let mut lines = Terminal::start(&fixture.home, &["inbox", "--plain"], 100, 30, &[]);
            lines.shows("QUESTION q");
            lines.send("q yes\r");
            lines.shows("DONE q");
        } else {
            let answered = fixture.home.run(["inbox", "--plain"], "q yes\n");
            assert!(answered.stdout.contains("DONE q"), "{}{}", answered.stdout, answered.stderr);
        }
    }
}

#[test]
fn a_script_may_answer_after_it_ran_the_doctor() {
    let fixture = Fixture::new();
    let _hub = Serving::hub(&fixture.home);
    let _agent = agent_elsewhere(&fixture, "");
    let output = fixture.attempt(&format!("\"$BIN\" doctor >checked; {ANSWER}"));
    let checked = std::fs::read_to_string(fixture.home.path().join("checked")).unwrap();
    assert!(checked.contains("/mcp speaks 2025-11-25"), "{checked}");
    assert!(output.contains("DONE q"), "{output}");
}

#[test]
fn an_agent_that_calls_itself_a_check_remains_an_agent() {
    let fixture = Fixture::new();
    let hub = Serving::hub(&fixture.home);
    let url = hub.url("/mcp/popup");
    let ask = format!(
        "curl -s -m 2 -H 'adjutant-check: doctor' -H 'authorization: Bearer {}' -H 'content-type: application/json' \
         -d '{}' {url}; {ANSWER}",
        hub.token(),
        request("1", "Deploy?"),
    );
    let output = fixture.attempt(&ask);
    assert_eq!(fixture.pending(), 1, "{output}");
    assert!(output.contains("counts as an agent"), "{output}");
}

fn set_passphrase(fixture: &Fixture) {
    let mut set = Terminal::start(&fixture.home, &["passphrase"], 100, 30, &[]);
    for prompt in ["New passphrase (at least 8 characters):", "Repeat the passphrase:"] {
        set.shows(prompt);
        set.send("correct horse\r");
    }
    set.shows("the approval passphrase is set");
}

#[test]
fn a_ticket_ends_when_an_agent_comes_that_may_be_anywhere() {
    let fixture = Fixture::new();
    let hub = Serving::hub(&fixture.home);
    set_passphrase(&fixture);
    let _agent = agent_elsewhere(&fixture, "");
    let mut lines = Terminal::start(&fixture.home, &["inbox", "--plain"], 100, 60, &[]);
    let mut answer = |number: usize| {
        let shown = lines.wait("a question", |screen| screen.matches("QUESTION q").count() == number);
        let question = shown.rsplit("QUESTION ").next().unwrap().split(' ').next().unwrap();
        lines.send(&format!("{question} yes\r"));
        lines.wait("no proof", |screen| {
            screen.matches("has not given the approval passphrase").count() == number
        });
        lines.send("correct horse\r");
        lines.wait("the answer", |screen| screen.matches("DONE q").count() == number);
    };
    answer(1);
    eventually("the answer is final", || if fixture.pending() == 0 { Ok(()) } else { Err(()) });
    ask_and_leave(&fixture, &hub, &post_question("And now?"));
    answer(2);
}

#[test]
fn a_passphrase_gives_a_ticket_to_one_terminal_only() {
    let fixture = Fixture::new();
    let _hub = Serving::socket_hub(&fixture.home);
    set_passphrase(&fixture);
    let _agent = agent_elsewhere(&fixture, "");

    // Neither the ancestors nor a ticket of another terminal are a proof now.
    let mut other = Terminal::start(&fixture.home, &["passphrase", "--prove"], 100, 30, &[]);
    other.shows("Approval passphrase:");
    other.send("correct horse\r");
    other.shows("answer questions for an hour");
    let refused = fixture.home.run(["inbox", "--plain"], "q yes\n");
    assert!(refused.stdout.contains("has not given the approval passphrase"), "{}", refused.stdout);
    let refused = fixture.home.run(["open", "--print"], "");
    assert_eq!(refused.status.code(), Some(1));
    // The message names the remedy, and the doctor has none.
    assert!(refused.stderr.trim_end().ends_with("; give it with `adjutant passphrase --prove`"), "{refused}");

    let mut lines = Terminal::start(&fixture.home, &["inbox", "--plain"], 100, 40, &[]);
    lines.shows("QUESTION q");
    lines.send("q yes\r");
    lines.shows("has not given the approval passphrase");
    lines.send("wrong horse\r");
    lines.shows("wrong approval passphrase");
    lines.send("correct horse\r");
    lines.shows("DONE q");
    // The undo in the same terminal needs no passphrase, and neither does the next answer.
    lines.send("q /undo\r");
    lines.wait("the question again", |screen| screen.matches("QUESTION q").count() == 2);
    lines.send("q no\r");
    lines.wait("the second answer", |screen| screen.matches("DONE q").count() == 2);
}

#[test]
fn an_inbox_that_asks_for_the_passphrase_names_no_other_next_step() {
    let fixture = Fixture::new();
    let _hub = Serving::socket_hub(&fixture.home);
    set_passphrase(&fixture);
    let _agent = agent_elsewhere(&fixture, "");
    let mut screen = Terminal::start(&fixture.home, &["inbox"], 100, 30, &[]);
    screen.shows("1 question");
    screen.send("\r");
    screen.shows("Enter sends");
    screen.send("1\r");
    let asked = screen.shows("has not given the approval passphrase");
    assert!(asked.contains("Enter sends the answer") && !asked.contains("--prove"), "{asked}");
    let mut lines = Terminal::start(&fixture.home, &["inbox", "--plain"], 100, 30, &[]);
    lines.shows("QUESTION q");
    lines.send("q yes\r");
    let asked = lines.shows("type it, it is not shown");
    assert!(!asked.contains("--prove"), "{asked}");
}
