//! `adjutant delegate` and `adjutant tasks …`: a user delegates, follows and cancels tasks; the hub rejects an agent
//! that does the same.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::support::{DEADLINE, Finished, Home, wait, wait_for};

/// Runs the command in the task.
const RUNNER: &str = r#"
prompt=$(cat)
task=${prompt##*Task: }
case $task in
hang) sleep 300 & echo "working $!"; wait ;;
stubborn) trap '' TERM INT HUP; echo "working $$"; while :; do sleep 1; done ;;
fail) echo "it broke" >&2; exit 7 ;;
until\ *) echo "working $$"; while [ ! -e "${task#until }" ]; do sleep 0.05; done; echo "it is there" ;;
run\ *) sh -c "${task#run }" 2>&1 ;;
answer\ *) echo "${task#answer }" | head -n 1 ;;
esac
"#;

struct Fixture {
    home: Home,
}

impl Fixture {
    fn new() -> Self {
        let home = Home::new();
        let runner = home.write("bin/runner.sh", RUNNER);
        let config = format!(
            "grace_seconds = 2\n[http]\naddress = \"off\"\n\
             [tasks]\nsandbox = \"none\"\n[[runners]]\nname = \"fake\"\ncommand = [\"sh\", \"{}\"]\nstdin = \"prompt\"\n\
             levels = [\"read-only\", \"workspace-write\"]\n",
            runner.display()
        );
        home.write(".adjutant/config.toml", config);
        home.write(
            ".adjutant/agents/doer.yaml",
            "persona: You do.\ndescription: Does it\nrunner: fake\npermission: workspace-write\n",
        );
        home.write("work/README.md", "An empty project.\n");
        Self { home }
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        self.home.run(arguments, "")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        serde_json::from_str(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {} {}", output.stdout, output.stderr))
    }

    /// Delegates a task in the background; returns its id.
    fn background(&self, task: &str) -> String {
        let output = self.run(&["delegate", "doer", task, "--background"]);
        assert!(output.status.success(), "{}", output.stderr);
        output.stdout.trim().to_owned()
    }

    /// Sends a hello and these lines to the control API, and returns its answers.
    fn control_requests(&self, lines: &[&str]) -> Vec<Value> {
        let mut stream = UnixStream::connect(self.home.path().join(".adjutant/hub.sock")).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let hello = r#"{"adjutant":"0","hello":1,"user":true,"pid":1}"#;
        // In one write: the hub may close after any line, and a later write would fail.
        let all = [&[hello], lines].concat().join("\n");
        stream.write_all(format!("{all}\n").as_bytes()).unwrap();
        let answer = BufReader::new(stream).lines().take(lines.len() + 1).map_while(Result::ok);
        answer.map(|line| serde_json::from_str(&line).unwrap()).collect()
    }

    /// Starts a command and returns the lines of its stderr, or of its stdout.
    fn start(&self, arguments: &[&str], of_stdout: bool) -> (Child, Receiver<String>) {
        let mut command = self.home.adjutant(arguments);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stream: Box<dyn Read + Send> = if of_stdout {
            Box::new(child.stdout.take().unwrap())
        } else {
            Box::new(child.stderr.take().unwrap())
        };
        (child, lines(stream))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let output = self.run(&["status", "--json"]);
        let status: Option<Value> = serde_json::from_str(&output.stdout).ok();
        let pid = status.and_then(|status| i32::try_from(status["pid"].as_i64()?).ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
            let end = Instant::now() + DEADLINE;
            while test_kill_process(pid).is_ok() && Instant::now() < end {
                std::thread::park_timeout(std::time::Duration::from_millis(2));
            }
        }
    }
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}

/// The first line with this text.
fn line_with(lines: &Receiver<String>, words: &str) -> String {
    let end = Instant::now() + DEADLINE;
    let mut found = Vec::new();
    while let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
        if line.contains(words) {
            return line;
        }
        found.push(line);
    }
    panic!("no line with `{words}`: {found:#?}");
}

/// The process number in a runner's `working` line.
fn runner_pid(line: &str) -> Pid {
    let number = line.rsplit(' ').next().unwrap().parse().unwrap();
    Pid::from_raw(number).unwrap()
}

#[test]
fn delegate_prints_the_result_to_stdout_and_progress_to_stderr() {
    let fixture = Fixture::new();
    let done = fixture.run(&["delegate", "doer", "answer forty-two", "--workdir", "work"]);
    assert_eq!((done.status.code(), done.stdout.as_str()), (Some(0), "forty-two\n"), "{}", done.stderr);
    for words in ["running (fake)", "fake starts", "unverified", "0 processes left"] {
        assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
    }
    let piped = fixture.home.run(["delegate", "doer", "-"], "answer from stdin");
    assert_eq!((piped.status.code(), piped.stdout.as_str()), (Some(0), "from stdin\n"), "{}", piped.stderr);
    let failed = fixture.run(&["delegate", "doer", "fail"]);
    assert_eq!((failed.status.code(), failed.stdout.as_str()), (Some(1), ""));
    assert!(
        failed.stderr.contains("error: The agent did not finish (crashed): exit code 7"),
        "{}",
        failed.stderr
    );
    let checked =
        fixture.run(&["delegate", "doer", "answer x", "--check", "true", "--check", "sh -c 'exit 3'"]);
    assert_eq!((checked.status.code(), checked.stdout.as_str()), (Some(1), "x\n"));
    assert!(checked.stderr.contains("not every check passed"), "{}", checked.stderr);
    let listed = fixture.run(&["tasks", "list"]).stdout;
    assert!(listed.contains("  succeeded, checks failed  "), "{listed}");
    let schema = fixture.home.write("schema.json", r#"{"type":"object","required":["n"]}"#);
    let schema = schema.to_str().unwrap();
    let shaped = fixture.run(&["delegate", "doer", "answer {\"n\": 1}", "--schema", schema]);
    assert_eq!(serde_json::from_str::<Value>(&shaped.stdout).unwrap()["n"], 1, "{}", shaped.stderr);
}

#[test]
fn delegate_explains_why_a_task_is_rejected() {
    let fixture = Fixture::new();
    let cases: &[(&[&str], i32, &[&str])] = &[
        (
            &["delegate", "doar", "x"],
            1,
            &["unknown agent `doar`; did you mean `doer`?", "hint: `adjutant agents list`"],
        ),
        (&["delegate", "doer", "  "], 1, &["the task is empty"]),
        (&["delegate", "doer", "x", "--workdir", "nowhere"], 1, &["cannot work in nowhere"]),
        (&["delegate", "doer", "x", "--workdir", "/"], 1, &["must not be `/`"]),
        (&["delegate", "doer", "x", "--isolation", "worktree"], 1, &["needs a git repository"]),
        (&["delegate", "doer", "x", "--permission", "full"], 1, &["allows `workspace-write`, not `full`"]),
        (&["delegate", "doer", "x", "--timeout", "soon"], 2, &["use a time such as 30s, 5m, 2h or 1d"]),
        (&["delegate", "doer", "x", "--check", "a | b"], 2, &["no shell runs it"]),
        (&["delegate", "doer", "x", "--schema", "nowhere"], 1, &["nowhere: it cannot be read: No such file"]),
        (
            &["tasks", "show", "zzzz"],
            1,
            &["no task has an id that begins with `zzzz`", "hint: `adjutant tasks list`"],
        ),
        (&["tasks", "wait", "zzzz"], 1, &["no task has an id"]),
        (&["tasks", "list", "--state", "runing"], 2, &["similar value exists: 'running'"]),
        (&["tasks", "cancel"], 2, &["required arguments"]),
    ];
    for (arguments, code, words) in cases {
        let output = fixture.run(arguments);
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {}", output.stderr);
        for words in *words {
            assert!(output.stderr.contains(words), "{arguments:?}: {}", output.stderr);
        }
        assert_eq!(output.stdout, "", "{arguments:?}");
    }
}

#[test]
fn a_background_task_is_found_by_the_beginning_of_its_id() {
    let fixture = Fixture::new();
    let id = fixture.background("until go");
    let begin = &id[..8];
    let shown = fixture.json(&["tasks", "show", begin, "--json"]);
    assert_eq!((&shown["id"], &shown["asked_by"]), (&Value::from(id.as_str()), &Value::from("user")));
    let late = fixture.run(&["tasks", "wait", begin, "--timeout", "1s"]);
    assert_eq!(late.status.code(), Some(1));
    assert!(late.stderr.contains("has not ended in time: it is running"), "{}", late.stderr);
    let listed = fixture.run(&["tasks", "list"]);
    assert!(
        listed.stdout.starts_with("ID        STATUS   AGENT  TASK      ASKED BY  WHEN\n"),
        "{}",
        listed.stdout
    );
    assert!(
        listed.stdout.contains(&format!("{begin}  running  doer   until go  user      ")),
        "{}",
        listed.stdout
    );
    fixture.background(&format!("answer {}", "long ".repeat(50)));
    let narrow = fixture.home.adjutant(["tasks", "list"]).env("COLUMNS", "80").output().unwrap();
    let narrow = String::from_utf8(narrow.stdout).unwrap();
    assert!(narrow.lines().count() == 3 && narrow.contains('…'), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    fixture.home.write("go", "");
    let done = fixture.run(&["tasks", "wait", begin]);
    assert_eq!(
        (done.status.code(), done.stdout.lines().last()),
        (Some(0), Some("it is there")),
        "{}",
        done.stderr
    );
    let shown = fixture.run(&["tasks", "show", begin]).stdout;
    for words in
        [id.as_str(), "status    succeeded", "agent     doer on fake", "report    fake", "it is there"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let listed = fixture.json(&["tasks", "list", "until", "--state", "succeeded", "--json"]);
    assert_eq!((&listed["total"], &listed["items"][0]["id"]), (&Value::from(1), &Value::from(id.as_str())));
    // A mistyped id gets the nearest one as a hint.
    let near = fixture.run(&["tasks", "show", &id[..18]]);
    assert!(near.status.success());
    let swapped = format!("{}u", &id[..19]);
    let near = fixture.run(&["tasks", "show", &swapped]);
    assert!(near.stderr.contains(&format!("did you mean `{id}`?")), "{}", near.stderr);
}

#[test]
fn tasks_logs_follows_a_run_to_its_end() {
    let fixture = Fixture::new();
    let id = fixture.background("until go");
    let (mut child, lines) = fixture.start(&["tasks", "logs", "-f", &id], true);
    assert!(line_with(&lines, "working").contains("Z  agent | working"));
    assert!(child.try_wait().unwrap().is_none());
    fixture.home.write("go", "");
    line_with(&lines, "it is there");
    assert!(wait(&mut child, DEADLINE).success());
    let events: Vec<Value> = fixture.run(&["tasks", "logs", &id, "--json"]).lines();
    assert_eq!(events[0]["what"]["kind"], "started");
    assert_eq!(events.iter().map(|event| event["seq"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn lines_of_an_agent_cannot_look_like_lines_of_the_hub() {
    let fixture = Fixture::new();
    let forged = "hub | task 1: verified by 3 checks";
    let task = format!("run printf '\\033]0;title\\007\\033[2J{forged}\\nfree \\342\\200\\256txt\\n'");
    let is_marked = |output: &str| {
        // The text of the task has a mark of its own.
        let lines = output.lines().filter(|line| line.contains(forged) && !line.starts_with("task | "));
        let lines: Vec<&str> = lines.collect();
        assert!(!lines.is_empty(), "{output}");
        assert!(lines.iter().all(|line| line.contains(&format!("agent | {forged}"))), "{output}");
        assert!(!output.contains(['\u{202e}', '\u{1b}', '\u{7}']), "{output}");
    };
    // A program that reads stdout alone gets the words of the agent alone.
    let done = fixture.run(&["delegate", "doer", &task]);
    assert_eq!(done.stdout, format!("{forged}\nfree ⟨U+202E⟩txt\n"), "{}", done.stderr);
    is_marked(&done.stderr);
    assert!(done.stderr.contains("\nhub | fake starts\n"), "{}", done.stderr);
    let listed = fixture.json(&["tasks", "list", "--json"]);
    let id = listed["items"][0]["id"].as_str().unwrap();
    let logs = fixture.run(&["tasks", "logs", id]).stdout;
    is_marked(&logs);
    assert!(logs.contains("Z  hub | fake starts\n"), "{logs}");
    is_marked(&fixture.run(&["tasks", "show", id]).stdout);
    // Both streams in one pipe or file, as in the log of a CI job.
    let both = std::fs::File::create(fixture.home.path().join("both")).unwrap();
    let mut command = fixture.home.adjutant(["tasks", "wait", id]);
    let status = command.stdout(both.try_clone().unwrap()).stderr(both).status().unwrap();
    assert!(status.success());
    let both = std::fs::read_to_string(fixture.home.path().join("both")).unwrap();
    is_marked(&both);
    assert!(both.contains(&format!("hub | task {}: fake; ", &id[..8])), "{both}");
    // The JSON has the exact text, and shows the character.
    for words in [&["tasks", "show", id, "--json"][..], &["tasks", "logs", id, "--json"]] {
        let json = fixture.run(words).stdout;
        assert!(json.contains("free \\u202etxt") && !json.contains('\u{202e}'), "{json}");
    }
}

#[test]
fn an_interrupt_cancels_the_task_and_waits_until_no_process_is_left() {
    let fixture = Fixture::new();
    let (mut child, lines) = fixture.start(&["delegate", "doer", "hang"], false);
    let sleeper = runner_pid(&line_with(&lines, "working"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    line_with(&lines, "error: The task was cancelled; no process of it is left.");
    assert!(test_kill_process(sleeper).is_err());
    assert_eq!(wait(&mut child, DEADLINE).code(), Some(1));
    let listed = fixture.json(&["tasks", "list", "--json"]);
    assert_eq!(listed["items"][0]["status"], "cancelled");
}

#[test]
fn a_second_interrupt_ends_the_command_and_the_hub_finishes_the_cancel() {
    let fixture = Fixture::new();
    let (mut child, lines) = fixture.start(&["delegate", "doer", "stubborn"], false);
    let runner = runner_pid(&line_with(&lines, "working"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    line_with(&lines, "cancelling");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    line_with(&lines, "while it is being cancelled");
    assert_eq!(wait(&mut child, DEADLINE).code(), Some(1));
    let id = fixture.json(&["tasks", "list", "--json"])["items"][0]["id"].as_str().unwrap().to_owned();
    let cancelled = fixture.run(&["tasks", "cancel", &id]);
    assert!(cancelled.status.success(), "{}", cancelled.stderr);
    assert!(test_kill_process(runner).is_err());
}

#[test]
fn two_signals_at_once_cancel_the_task_too() {
    let fixture = Fixture::new();
    let (mut child, lines) = fixture.start(&["delegate", "doer", "hang"], false);
    line_with(&lines, "working");
    for signal in [Signal::TERM, Signal::INT] {
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    assert_eq!(wait(&mut child, DEADLINE).code(), Some(1));
    wait_for("the cancellation", || {
        let listed = fixture.json(&["tasks", "list", "--json"]);
        (listed["items"][0]["status"] == "cancelled").then_some(())
    });
}

#[test]
fn a_hang_up_of_the_terminal_leaves_the_task_running() {
    let fixture = Fixture::new();
    let (mut child, lines) = fixture.start(&["delegate", "doer", "until go"], false);
    line_with(&lines, "working");
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    line_with(&lines, "it continues");
    assert_eq!(wait(&mut child, DEADLINE).code(), Some(1));
    let id = fixture.json(&["tasks", "list", "--json"])["items"][0]["id"].as_str().unwrap().to_owned();
    fixture.home.write("go", "");
    assert!(fixture.run(&["tasks", "wait", &id]).status.success());
}

#[test]
fn a_terminal_shows_progress_in_one_line_and_control_c_cancels() {
    let fixture = Fixture::new();
    let size = PtySize { rows: 24, cols: 100, pixel_width: 0, pixel_height: 0 };
    let pty = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_adjutant"));
    command.args(["delegate", "doer", "hang"]);
    command.env_clear();
    command.env("HOME", fixture.home.path());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("TERM", "xterm");
    command.env("NO_COLOR", "1");
    command.cwd(fixture.home.path());
    let mut child = pty.slave.spawn_command(command).unwrap();
    drop(pty.slave);
    let mut reader = pty.master.try_clone_reader().unwrap();
    let mut writer = pty.master.take_writer().unwrap();
    let (send, chunks) = channel();
    std::thread::spawn(move || {
        let mut chunk = [0; 4096];
        while let Ok(length @ 1..) = reader.read(&mut chunk) {
            if send.send(chunk[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    let end = Instant::now() + DEADLINE;
    let mut screen = vt100::Parser::new(24.try_into().unwrap(), 100.try_into().unwrap(), 0);
    let mut all = String::new();
    let mut asked = false;
    while let Ok(chunk) = chunks.recv_timeout(end.saturating_duration_since(Instant::now())) {
        screen.process(&chunk);
        all.push_str(&String::from_utf8_lossy(&chunk));
        if !asked && screen.screen().contents().contains("working") {
            writer.write_all(b"\x03").unwrap();
            asked = true;
        }
    }
    let code = child.wait().unwrap().exit_code();
    let screen = screen.screen().contents();
    assert!(asked, "{screen}");
    assert_eq!(code, 1, "{screen}");
    assert!(screen.contains("error: The task was cancelled; no process of it is left."), "{screen}");
    assert!(all.contains("s agent | working"), "how long it has worked: {all:?}");
    // NO_COLOR is respected.
    assert!(!all.contains("\x1b[3") && !all.contains("\x1b[1;3"), "{all:?}");
}

#[test]
fn the_control_api_rejects_a_running_agent() {
    let fixture = Fixture::new();
    let other = fixture.background("until go");
    let program = env!("CARGO_BIN_EXE_adjutant");
    let attempts = [
        format!("tasks cancel {other}"),
        "tasks list".to_owned(),
        "delegate doer more".to_owned(),
        "agents trust doer".to_owned(),
        "open --print".to_owned(),
    ];
    for attempt in attempts {
        // As the runner's child, and as a process that has left its session and its parents.
        for form in [
            format!("run {program} {attempt}"),
            format!(
                "run (setsid env -u ADJUTANT_RUN {program} {attempt} > output 2>&1; echo > ended) & until [ -e ended ]; do sleep 0.05; done; rm ended; cat output"
            ),
        ] {
            let output = fixture.run(&["delegate", "doer", &form]);
            let text = format!("{}{}", output.stdout, output.stderr);
            assert!(text.contains("only the user may do this"), "{form}: {text}");
            assert!(text.contains("belongs to a task of an agent"), "{form}: {text}");
        }
    }
    fixture.home.write("go", "");
    assert!(fixture.run(&["tasks", "wait", &other]).status.success());
}

#[test]
fn the_control_api_rejects_a_connected_agent() {
    let fixture = Fixture::new();
    let other = fixture.background("until go");
    // An agent: it starts a relay as its MCP server, receives its answer, and then uses its shell.
    let agent = r#"
mkfifo in out
"$1" connect agents < in > out & relay=$!
exec 3> in 4< out
echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"sly","version":"1"}}}' >&3
read -r answer <&4
sh -c '"$0" tasks cancel "$1"' "$1" "$2"
"$1" open --print
exec 3>&-
wait $relay
"$1" tasks list
"#;
    let mut command = std::process::Command::new("sh");
    command.args(["-c", agent, "agent", env!("CARGO_BIN_EXE_adjutant"), &other]);
    command
        .env_clear()
        .env("HOME", fixture.home.path())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let output = command.current_dir(fixture.home.path()).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.matches("only the user may do this").count(), 2, "{text}");
    assert_eq!(text.matches("counts as an agent").count(), 2, "{text}");
    // After its relay has ended, the process no longer counts as an agent.
    assert!(String::from_utf8_lossy(&output.stdout).contains("running"), "{text}");
    // A user at the same time was never rejected.
    fixture.home.write("go", "");
    assert!(fixture.run(&["tasks", "wait", &other]).status.success());
}

#[test]
fn the_control_api_accepts_a_process_whose_relay_has_ended() {
    let fixture = Fixture::new();
    assert!(fixture.run(&["serve", "--background"]).status.success());
    let hub = || {
        let stream = UnixStream::connect(fixture.home.path().join(".adjutant/hub.sock")).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    };
    let greet = |mut stream: UnixStream, wish: &str| {
        stream.write_all(format!("{{\"adjutant\":\"0\",\"hello\":1,{wish}}}\n").as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut answer = String::new();
        stream.read_line(&mut answer).unwrap();
        (stream, answer)
    };
    // This process is both: first its own relay, then the user's program, as in `… | adjutant connect` in a shell and
    // the next command in it.
    for _ in 0..100 {
        let (mut relay, welcome) = greet(hub(), r#""toolset":"all""#);
        assert!(!welcome.contains("error"), "{welcome}");
        let user = hub();
        relay.get_ref().shutdown(Shutdown::Write).unwrap();
        assert_eq!(relay.read_to_end(&mut Vec::new()).unwrap(), 0);
        let (_, welcome) = greet(user, r#""user":true"#);
        assert!(!welcome.contains("error"), "{welcome}");
    }
}

#[test]
fn a_runner_that_the_hub_does_not_know_is_refused_until_a_reload() {
    let fixture = Fixture::new();
    let agent = "persona: You do.\ndescription: Does it\nrunner: other\npermission: full\n";
    fixture.home.write(".adjutant/agents/new.yaml", agent);
    let refused = fixture.run(&["delegate", "new", "answer x"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        refused.stderr.contains("other is not known here; if config.toml has it, `adjutant reload`"),
        "{}",
        refused.stderr
    );
    let config = std::fs::read_to_string(fixture.home.path().join(".adjutant/config.toml")).unwrap();
    let (before, fake) = config.split_once("[[runners]]").unwrap();
    let other = fake.replace("\"fake\"", "\"other\"").replace("\"workspace-write\"", "\"full\"");
    let config = format!("{before}[[runners]]{fake}[[runners]]{other}");
    fixture.home.write(".adjutant/config.toml", &config);
    let reloaded = fixture.run(&["reload"]);
    assert!(reloaded.status.success(), "{}", reloaded.stderr);
    assert_eq!(reloaded.stderr, "the hub has applied config.toml\n");
    let done = fixture.run(&["delegate", "new", "answer x"]);
    assert_eq!((done.status.code(), done.stdout.as_str()), (Some(0), "x\n"), "{}", done.stderr);
    assert!(done.stderr.contains("hub | other starts"), "{}", done.stderr);

    // SIGHUP does the same.
    let third = other.replace("\"other\"", "\"third\"");
    fixture.home.write(".adjutant/config.toml", format!("{config}[[runners]]{third}"));
    fixture.home.write(".adjutant/agents/new.yaml", agent.replace("other", "third"));
    let pid = fixture.json(&["status", "--json"])["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    kill_process(pid.and_then(Pid::from_raw).unwrap(), Signal::HUP).unwrap();
    wait_for("the reload", || fixture.run(&["delegate", "new", "answer y"]).status.success().then_some(()));
}

#[test]
fn stop_names_the_running_tasks_and_waits_for_them_or_cancels_them() {
    let fixture = Fixture::new();
    let running = |id: &str| {
        wait_for("the run", || {
            (fixture.json(&["tasks", "show", id, "--json"])["status"] == "running").then_some(())
        });
    };
    let id = fixture.background("until go");
    running(&id);
    let refused = fixture.run(&["stop"]);
    assert_eq!(refused.status.code(), Some(1));
    for words in [
        format!("task {} runs: doer: until go", &id[..8]),
        "error: the hub does not end, because tasks run".to_owned(),
        "hint: --wait ends the hub after them, --cancel cancels them".to_owned(),
    ] {
        assert!(refused.stderr.contains(&words), "{words}: {}", refused.stderr);
    }
    let (mut child, _lines) = fixture.start(&["stop", "--wait"], false);
    wait_for("the refusal of new tasks", || {
        fixture
            .run(&["delegate", "doer", "answer x", "--background"])
            .stderr
            .contains("the hub stops")
            .then_some(())
    });
    assert!(child.try_wait().unwrap().is_none());
    fixture.home.write("go", "");
    assert!(wait(&mut child, DEADLINE).success());
    assert!(!fixture.run(&["status"]).status.success());
    // A user's command starts the next hub.
    let done = fixture.run(&["tasks", "wait", &id]);
    assert!(done.status.success() && done.stdout.ends_with("it is there\n"), "{}", done.stderr);
    let id = fixture.background("hang");
    running(&id);
    let before = fixture.json(&["status", "--json"])["pid"].clone();
    let restarted = fixture.run(&["restart", "--cancel"]);
    assert!(restarted.status.success(), "{}", restarted.stderr);
    assert_ne!(fixture.json(&["status", "--json"])["pid"], before);
    let shown = fixture.json(&["tasks", "show", &id, "--json"]);
    assert_eq!(
        (&shown["status"], &shown["outcome"]["run_report"]["processes_left"]),
        (&json!("cancelled"), &json!(0))
    );
}

#[test]
fn an_ambiguous_id_prefix_lists_the_matching_tasks() {
    let fixture = Fixture::new();
    let first = fixture.background("answer x");
    let order = json!({"agent": "doer", "task": "answer x", "workdir": fixture.home.path()});
    let order = json!({"tasks": {"delegate": order}}).to_string();
    // One more task than there are letters: two ids have the same beginning.
    let answer = fixture.control_requests(&vec![order.as_str(); 32]);
    let ids = answer[1..].iter().map(|answer| answer["last"]["id"].as_str().unwrap().to_owned());
    let mut ids: Vec<String> = ids.chain([first]).collect();
    ids.sort();
    let pair = ids.windows(2).find(|pair| pair[0][..1] == pair[1][..1]).unwrap();
    let answer = fixture.run(&["tasks", "show", &pair[0][..1]]);
    assert_eq!(answer.status.code(), Some(1));
    let words = format!("several tasks have ids that begin with `{}`: ", &pair[0][..1]);
    assert!(
        answer.stderr.contains(&words) && answer.stderr.contains("hint: enter more of the id"),
        "{}",
        answer.stderr
    );
}

#[test]
fn the_control_api_answers_each_line_and_closes_on_an_unknown_act() {
    let fixture = Fixture::new();
    fixture.background("answer x");
    let list = r#"{"tasks":{"list":{"limit":1}}}"#;
    // Simultaneous acts run one after the other.
    let answer = fixture.control_requests(&[list, list]);
    assert_eq!(answer[0]["hello"], 1);
    assert_eq!(
        (&answer[1]["last"]["total"], &answer[2]["last"]["total"]),
        (&Value::from(1), &Value::from(1))
    );
    for wrong in ["", "{}", "[]", "list", r#"{"tasks":"lists"}"#, r#"{"deeds":{"list":{}}}"#, "{\"tasks\""] {
        let answer = fixture.control_requests(&[wrong, list]);
        let message = answer[1]["rejected"]["message"].as_str().unwrap();
        assert!(message.starts_with("this hub does not know the request"), "{wrong}: {message}");
        assert_eq!(answer.len(), 2, "{wrong}: {answer:?}");
    }
    let unknown = fixture.control_requests(&[r#"{"tasks":{"show":{"id":"zz"}}}"#, list]);
    assert!(unknown[1]["rejected"]["hints"][0].as_str().unwrap().contains("adjutant tasks list"));
    assert_eq!(unknown[2]["last"]["total"], 1, "a refused act does not end the connection");
}
