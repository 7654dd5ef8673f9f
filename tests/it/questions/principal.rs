//! Proof of the user: the ways in which an agent tries to answer its own question from a shell, and the user's own
//! ways.
//!
//! A program of the agent is the test's process or below it; the user's programs are those that the test starts while
//! the agent runs in another session.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;

use serde_json::{Value, json};

use super::fixtures::{example, request};
use crate::support::process_table::eventually;
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
    fixture.home.write("try", ANSWER);
    let output = by_shell(fixture, script);
    tmux("kill-server");
    output
}

fn over_http(fixture: &Fixture) -> String {
    let hub = Serving::hub(&fixture.home);
    let address = hub.url("").trim_start_matches("http://").to_owned();
    let body = request("1", "Deploy?").to_string();
    let mut stream = TcpStream::connect(&address).unwrap();
    let mut head =
        format!("POST /mcp/popup HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    write!(head, "authorization: Bearer {}\r\ncontent-length: {}\r\n\r\n", hub.token(), body.len()).unwrap();
    stream.write_all((head + &body).as_bytes()).unwrap();
    fixture.wait_for_question();
    let output = fixture.attempt(ANSWER);
    assert_eq!(fixture.pending(), 1, "{output}");
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
    let mut agent = Peer::start(&mut fixture.shell(r#""$BIN" connect popup; :"#));
    ask(&mut agent);
    fixture.wait_for_question();
    let output = fixture.attempt(ANSWER);
    assert_eq!(fixture.pending(), 1, "{output}");
    output
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
    let output = [ANSWER.to_owned(), format!("( {ANSWER} & )")].map(|script| fixture.attempt(&script));
    assert_eq!(fixture.pending(), 1, "{output:?}");
    assert!(output[0].contains(REFUSED), "{output:?}");
    output[1].clone()
}

fn from_a_task(fixture: &Fixture) -> String {
    let tmux = |rest: &str| fixture.shell(&format!("tmux -L adj -f /dev/null {rest}")).status().unwrap();
    assert!(tmux("new-session -d 'sleep 1000'").success(), "install tmux");
    fixture.home.write("try", ANSWER);
    let home = fixture.home.path().display();
    let runner = format!(
        "cat >/dev/null; env -u ADJUTANT_RUN TMUX_TMPDIR={home} tmux -L adj new-window 'cd {home}; sh try'; cat {home}/go"
    );
    let runner = fixture.home.write("runner.sh", runner);
    fixture.home.write(
        ".adjutant/config.toml",
        format!(
            "[http]\naddress = \"off\"\n[[runners]]\nname = \"fake\"\ncommand = [\"sh\", \"{}\"]\nstdin = \"prompt\"\n\
             levels = [\"workspace-write\"]\n",
            runner.display()
        ),
    );
    fixture.home.write(
        ".adjutant/agents/doer.yaml",
        "persona: You do.\ndescription: Does it\nrunner: fake\npermission: workspace-write\n",
    );
    let _hub = Serving::socket_hub(&fixture.home);
    let mut asking =
        Peer::start(&mut fixture.home.adjutant(["ask", "--title", "Deploy?", "--option", "yes"]));
    fixture.wait_for_question();
    let mut delegate = fixture.shell(r#""$BIN" delegate doer try --background >task"#);
    assert!(delegate.status().unwrap().success());
    let output = fixture.log();
    assert_eq!(fixture.pending(), 1, "{output}");
    std::fs::write(fixture.home.path().join("go"), "").unwrap();
    tmux("kill-server");
    asking.child.kill().unwrap();
    asking.child.wait().unwrap();
    output
}

/// An attempt that must be rejected.
type Attempt = (u32, fn(&Fixture) -> String);

const ATTEMPTS: [Attempt; 12] = [
    (3, |fixture| by_shell(fixture, ANSWER)),
    (5, |fixture| by_shell(fixture, &format!("script -qec '{ANSWER}' /dev/null >shown"))),
    (6, |fixture| by_shell(fixture, &format!("setsid -w sh -c '{ANSWER}'"))),
    (10, |fixture| by_shell(fixture, &format!("( {ANSWER} & )"))),
    (11, |fixture| by_shell(fixture, &format!("setsid sh -c '( {ANSWER} & )' &"))),
    (12, |fixture| in_tmux(fixture, r#"tmux -L adj new-window "cd $HOME; sh try""#)),
    (20, over_http),
    (21, as_script),
    (22, behind_a_wrapper),
    (25, from_a_task),
    (27, |fixture| {
        by_shell(fixture, &format!("env -i BIN=\"$BIN\" HOME=\"$HOME\" setsid sh -c '{ANSWER}' &"))
    }),
    // Last, because this process stays a subreaper.
    (23, as_subreaper),
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
fn each_documented_way_has_a_test_or_names_the_level_that_stops_it() {
    let page = include_str!("../../../SECURITY.md");
    for number in (1..=27).filter(|number| ATTEMPTS.iter().all(|(way, _)| way != number)) {
        let row = page.lines().find(|line| line.starts_with(&format!("| {number} |")));
        assert!(
            row.is_some_and(|row| row.split('|').nth(3).is_some_and(|held| !held.trim().is_empty())),
            "{number}"
        );
    }
}

/// An agent in a separate session, as in another terminal.
fn agent_elsewhere(fixture: &Fixture) -> Peer {
    let mut agent = Command::new("setsid");
    agent.args(["sh", "-c", r#""$0" connect questions; :"#, env!("CARGO_BIN_EXE_adjutant")]);
    agent.env_clear().env("HOME", fixture.home.path()).env("PATH", std::env::var_os("PATH").unwrap());
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
        let _agent = agent_elsewhere(&fixture);
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
fn a_passphrase_gives_a_ticket_to_one_terminal_only() {
    let fixture = Fixture::new();
    let _hub = Serving::socket_hub(&fixture.home);
    let mut set = Terminal::start(&fixture.home, &["passphrase"], 100, 30, &[]);
    for prompt in ["New passphrase:", "Repeat the passphrase:"] {
        set.shows(prompt);
        set.send("correct horse\r");
    }
    set.shows("the approval passphrase is set");
    let _agent = agent_elsewhere(&fixture);

    // Neither the ancestors nor a ticket of another terminal are a proof now.
    let mut other = Terminal::start(&fixture.home, &["passphrase", "--prove"], 100, 30, &[]);
    other.shows("Approval passphrase:");
    other.send("correct horse\r");
    other.shows("answer questions for an hour");
    let refused = fixture.home.run(["inbox", "--plain"], "q yes\n");
    assert!(refused.stdout.contains("has not given the approval passphrase"), "{}", refused.stdout);
    assert_eq!(fixture.home.run(["open", "--print"], "").status.code(), Some(1));

    let mut lines = Terminal::start(&fixture.home, &["inbox", "--plain"], 100, 40, &[]);
    lines.shows("QUESTION q");
    lines.send("q yes\r");
    lines.shows("has not given the approval passphrase");
    lines.send("wrong horse\r");
    lines.shows("that is not the approval passphrase");
    lines.send("correct horse\r");
    lines.shows("DONE q");
    // The undo in the same terminal needs no passphrase, and neither does the next answer.
    lines.send("q /undo\r");
    lines.wait("the question again", |screen| screen.matches("QUESTION q").count() == 2);
    lines.send("q no\r");
    lines.wait("the second answer", |screen| screen.matches("DONE q").count() == 2);
}
