//! Supervised runs: the test acts as the hub, writes the order and reads the events. Survivors are counted from the
//! table of processes, by the mark that every process of a run carries.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::process_table::{
    eventually, processes_with_argument, processes_with_variable, wait_until_some,
};
use crate::support::{DEADLINE, Home, wait};

const RUNNER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/runner.sh");

/// A run's order, and the home it happens in.
struct Order {
    home: Home,
    json: Value,
    input: Vec<u8>,
}

impl Order {
    /// The fake runner in a mode.
    fn new(arguments: &[&str]) -> Self {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let home = Home::new();
        let workdir = home.path().join("work");
        std::fs::create_dir(&workdir).unwrap();
        let found = workdir.metadata().unwrap();
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let argv: Vec<&str> = [RUNNER].into_iter().chain(arguments.iter().copied()).collect();
        let json = json!({
            "argv": argv,
            "workdir": {"path": workdir, "device": found.dev(), "inode": found.ino()},
            "env": [["PATH", "/usr/local/bin:/usr/bin:/bin"], ["TEST_HOME", home.path()]],
            "stdin": null,
            "wall_ms": null,
            "idle_ms": null,
            "first_output_ms": null,
            "grace_ms": 1500,
            "spool": home.path().join("spool/run"),
            "cap": 1 << 20,
            "on_hub_exit": "kill",
            "mark": format!("test-{}-{run}-{}", std::process::id(), home.path().display()),
        });
        Self { home, json, input: Vec::new() }
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.json[name] = value.into();
        self
    }

    fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self.json["stdin"] = json!(self.input.len());
        self
    }

    fn start(self) -> Run {
        self.start_with(&["supervise"])
    }

    fn start_with(self, arguments: &[&str]) -> Run {
        let mut child =
            self.home.adjutant(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lifeline = child.stdin.take().unwrap();
        lifeline.write_all(format!("{}\n", self.json).as_bytes()).unwrap();
        lifeline.write_all(&self.input).unwrap();
        let events = events(child.stdout.take().unwrap());
        Run {
            mark: self.json["mark"].as_str().unwrap().to_owned(),
            spool: self.home.path().join("spool/run"),
            home: self.home,
            child,
            lifeline: Some(lifeline),
            events,
        }
    }

    /// Runs to the end; returns the lines and the outcome.
    fn run(self) -> (Vec<Value>, Value) {
        self.start().read_to_end()
    }
}

fn events(output: impl Read + Send + 'static) -> Receiver<Value> {
    let (send, events) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let Ok(line) = line else { break };
            let event = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if send.send(event).is_err() {
                break;
            }
        }
    });
    events
}

/// A supervisor at work.
struct Run {
    home: Home,
    mark: String,
    spool: PathBuf,
    child: Child,
    lifeline: Option<ChildStdin>,
    events: Receiver<Value>,
}

impl Run {
    fn event(&self) -> Value {
        self.events.recv_timeout(DEADLINE).expect("an event in time")
    }

    /// Waits for a line with this text.
    fn line(&self, text: &str) {
        while self.event()["text"] != *text {}
    }

    fn cancel(&mut self) {
        self.lifeline.as_mut().unwrap().write_all(b"\"cancel\"\n").unwrap();
    }

    fn read_to_end(mut self) -> (Vec<Value>, Value) {
        let (lines, outcome) = read_to_outcome(&self.events);
        self.assert_clean(&outcome);
        (lines, outcome)
    }

    /// Asserts that the supervisor ended, nothing of the run is left, and the disk has the same outcome.
    fn assert_clean(&mut self, outcome: &Value) {
        assert_eq!(survivors_with_mark(&self.mark), Vec::<String>::new(), "{outcome}");
        assert_eq!(outcome["processes_left"], 0, "{outcome}");
        wait(&mut self.child, DEADLINE);
        assert_eq!(&self.outcome_on_disk(), outcome);
    }

    fn record(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.spool.join("run.json")).unwrap()).unwrap()
    }

    fn outcome_on_disk(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.spool.join("outcome.json")).unwrap()).unwrap()
    }

    /// Starts `adjutant supervise --resume`, as a later hub does.
    fn resume(&self) -> (Child, Receiver<Value>) {
        let arguments = ["supervise".as_ref(), "--resume".as_ref(), self.spool.as_os_str()];
        let mut child =
            self.home.adjutant(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let events = events(child.stdout.take().unwrap());
        (child, events)
    }
}

fn read_to_outcome(events: &Receiver<Value>) -> (Vec<Value>, Value) {
    let mut lines = Vec::new();
    loop {
        let mut event = events.recv_timeout(DEADLINE).expect("an event in time");
        match event["event"].as_str().unwrap() {
            "started" => {}
            "line" => lines.push(event),
            "ended" => return (lines, event["outcome"].take()),
            other => panic!("{other}: {event}"),
        }
    }
}

/// Sends a signal to a process by its number in a record.
fn send(signal: Signal, number: &Value) {
    let pid = i32::try_from(number.as_i64().unwrap()).ok().and_then(Pid::from_raw);
    kill_process(pid.unwrap(), signal).unwrap();
}

fn kill(number: &Value) {
    send(Signal::KILL, number);
}

/// Every live process with the mark.
fn survivors_with_mark(mark: &str) -> Vec<String> {
    processes_with_variable(&format!("ADJUTANT_RUN={mark}"))
}

/// Every live process with this home's variable.
fn survivors_in(home: &Home) -> Vec<String> {
    processes_with_variable(&format!("TEST_HOME={}", home.path().display()))
}

fn texts(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["text"].as_str().unwrap()).collect()
}

#[test]
fn a_run_that_ends_by_itself_has_a_clean_outcome() {
    let (lines, outcome) = Order::new(&["ok"]).run();
    assert_eq!(texts(&lines), ["working", "result"]);
    assert_eq!(outcome["exit"], json!({"code": 0}));
    assert_eq!(outcome["cause"], "exited");
    assert_eq!(outcome["stdout"]["seen"], 15);
    assert_eq!(outcome["stderr"]["kept"], 10);
}

#[test]
fn each_end_of_a_runner_is_reported() {
    for (mode, exit) in [
        ("empty", json!({"code": 0})),
        ("fail-after-result", json!({"code": 3})),
        ("usage-limit", json!({"code": 1})),
        ("crash", json!({"signal": 11})),
    ] {
        let (_, outcome) = Order::new(&[mode]).run();
        assert_eq!(outcome["exit"], exit, "{mode}");
        assert_eq!(outcome["cause"], "exited", "{mode}");
    }
}

#[test]
fn a_run_completes_with_its_process_and_not_with_its_pipe() {
    let start = Instant::now();
    let (lines, outcome) = Order::new(&["leak"]).run();
    assert_eq!(texts(&lines), ["result"]);
    assert_eq!(outcome["exit"], json!({"code": 0}));
    assert!(start.elapsed() < DEADLINE / 2, "the leaked child was waited for");
}

#[test]
fn a_daemon_of_the_runner_is_ended() {
    let (lines, outcome) = Order::new(&["double-fork"]).run();
    assert_eq!(texts(&lines), ["result"]);
    assert_eq!(outcome["cause"], "exited");
}

#[test]
fn a_cancel_ends_processes_that_ignore_signals() {
    for arguments in [&["hang"][..], &["ignore-term"], &["double-fork", "stay"], &["silent"]] {
        let mut run = Order::new(arguments).with("grace_ms", 200).start();
        if arguments != ["silent"] {
            run.event();
            run.event();
        }
        let start = Instant::now();
        run.cancel();
        let (_, outcome) = run.read_to_end();
        assert_eq!(outcome["cause"], "cancelled", "{arguments:?}");
        assert!(start.elapsed() < Duration::from_secs(5), "{arguments:?} took {:?}", start.elapsed());
    }
}

#[test]
fn a_runner_that_handles_the_signal_is_cancelled_before_the_grace_period() {
    let mut run = Order::new(&["slow"]).with("grace_ms", 60_000).start();
    run.line("working");
    run.cancel();
    let (_, outcome) = run.read_to_end();
    assert_eq!((&outcome["cause"], &outcome["exit"]), (&json!("cancelled"), &json!({"signal": 2})));
}

#[test]
fn descendants_in_other_groups_and_sessions_are_ended() {
    let mut run = Order::new(&["bomb", "5"]).with("grace_ms", 50).start();
    for _ in 0..32 {
        run.line("planted");
    }
    assert!(survivors_with_mark(&run.mark).len() >= 32);
    run.cancel();
    let (_, outcome) = run.read_to_end();
    assert_eq!(outcome["cause"], "cancelled");
}

#[test]
fn each_limit_ends_a_run() {
    for (arguments, name, limit) in [
        (&["drip", "0.02"][..], "wall_ms", "wall"),
        (&["hang"], "idle_ms", "idle"),
        (&["silent"], "first_output_ms", "first_output"),
        (&["ignore-term"], "wall_ms", "wall"),
    ] {
        let order = Order::new(arguments).with(name, 150).with("grace_ms", 100);
        let (_, outcome) = order.run();
        assert_eq!(outcome["cause"], json!({"timed_out": limit}), "{arguments:?}");
        assert!(outcome["wall_us"].as_u64().unwrap() >= 150_000);
    }
}

#[test]
fn output_before_the_timeout_keeps_the_run() {
    let order = Order::new(&["ok"]).with("first_output_ms", 15_000).with("idle_ms", 15_000);
    let (_, outcome) = order.with("wall_ms", 15_000).run();
    assert_eq!(outcome["cause"], "exited");
}

#[test]
fn a_run_ends_with_its_hub() {
    for arguments in [&["ignore-term"][..], &["double-fork", "stay"], &["bomb", "3"]] {
        let mut run = Order::new(arguments).with("grace_ms", 60_000).start();
        run.event();
        run.event();
        drop(run.lifeline.take());
        let (_, outcome) = read_to_outcome(&run.events);
        run.assert_clean(&outcome);
        assert_eq!(outcome["cause"], "hub_gone", "{arguments:?}");
    }
}

#[test]
fn a_killed_hub_leaves_no_process() {
    // The shell acts as the hub: it holds the lifeline, and is killed.
    let order = Order::new(&["ignore-term"]);
    let mark = order.json["mark"].as_str().unwrap().to_owned();
    let file = order.home.write("order.json", format!("{}\n", order.json));
    let script =
        format!("(cat {}; exec sleep 300) | '{}' supervise", file.display(), env!("CARGO_BIN_EXE_adjutant"));
    let mut hub = Command::new("setsid").args(["sh", "-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
    let events = events(hub.stdout.take().unwrap());
    while events.recv_timeout(DEADLINE).unwrap()["text"] != "working" {}
    assert!(!survivors_with_mark(&mark).is_empty());
    // The whole process group of the hub, as a terminal or an out-of-memory killer ends it; not the supervisor, which
    // left it.
    let group = Pid::from_child(&hub);
    rustix::process::kill_process_group(group, Signal::KILL).unwrap();
    hub.wait().unwrap();
    eventually("survivors", || match survivors_with_mark(&mark) {
        none if none.is_empty() => Ok(()),
        some => Err(some),
    });
}

#[test]
fn a_kept_run_is_adopted_by_the_next_hub() {
    let mut run = Order::new(&["hang"]).with("on_hub_exit", "keep").with("wall_ms", 60_000).start();
    run.line("working");
    drop(run.lifeline.take());
    let (mut hub, events) = run.resume();
    assert_eq!(events.recv_timeout(DEADLINE).unwrap()["event"], "started");
    let first = events.recv_timeout(DEADLINE).unwrap();
    assert_eq!(first["text"], "working", "lines come from the first one on");
    hub.stdin.take().unwrap().write_all(b"\"cancel\"\n").unwrap();
    let (_, outcome) = read_to_outcome(&events);
    assert_eq!(outcome["cause"], "cancelled");
    assert!(wait(&mut hub, DEADLINE).success());
    run.assert_clean(&outcome);
}

/// The hub reads slower than the runner writes, so the supervisor is killed while it still forwards lines.
#[test]
fn a_supervisor_that_is_killed_after_the_end_of_its_run_loses_no_line() {
    for cap in [1 << 20, 16 << 20] {
        let order = Order::new(&["flood", "3"]).with("cap", cap);
        let spool = order.home.path().join("spool/run");
        let command = &mut order.home.adjutant(["supervise", "--start"]);
        let mut hub = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        hub.stdin.as_mut().unwrap().write_all(format!("{}\n", order.json).as_bytes()).unwrap();
        let outcome = spool.join("outcome.json");
        eventually("the outcome", || if outcome.exists() { Ok(()) } else { Err("not yet") });
        let record: Value = serde_json::from_slice(&std::fs::read(spool.join("run.json")).unwrap()).unwrap();
        kill(&record["supervisor"]);
        let (lines, outcome) = read_to_outcome(&events(hub.stdout.take().unwrap()));
        wait(&mut hub, DEADLINE);
        assert_eq!((&outcome["cause"], &outcome["exit"]), (&json!("exited"), &json!({"code": 0})));
        assert_eq!(lines.last().unwrap()["text"], "result");
        let length =
            |line: &Value| line["text"].as_str().unwrap().len() as u64 + 1 + line["missed"].as_u64().unwrap();
        let read: u64 = lines.iter().filter(|event| event["event"] == "line").map(length).sum();
        // The line before a gap has no end.
        let gaps = lines.iter().filter(|line| line["missed"].as_u64() > Some(0)).count() as u64;
        let seen = outcome["stdout"]["seen"].as_u64().unwrap();
        assert!((read - gaps..=read).contains(&seen), "{read} of {seen} bytes, {gaps} gaps");
    }
}

/// The hub died after it wrote the order, and its supervisor is slower than the next hub.
#[test]
fn a_run_that_the_next_hub_found_not_begun_cannot_begin_any_more() {
    let order = Order::new(&["touch", "made"]).with("on_hub_exit", "keep");
    let spool = order.home.path().join("spool/run");
    std::fs::create_dir(spool.parent().unwrap()).unwrap();
    for _ in 0..2 {
        let resumed = order.home.run(["supervise".as_ref(), "--resume".as_ref(), spool.as_os_str()], "");
        assert_eq!(resumed.stdout, "{\"event\":\"not_begun\"}\n", "{}", resumed.stderr);
    }
    let made = order.home.path().join("work/made");
    let mut run = order.start();
    assert_eq!(run.event()["event"], "refused");
    wait(&mut run.child, DEADLINE);
    assert!(!made.exists());
}

#[test]
fn a_kept_run_that_ends_without_a_hub_leaves_its_outcome() {
    let mut run = Order::new(&["echo-stdin"]).with("on_hub_exit", "keep").input("no hub\n").start();
    drop(run.lifeline.take());
    wait(&mut run.child, DEADLINE);
    let (mut hub, events) = run.resume();
    let (_, outcome) = read_to_outcome(&events);
    assert_eq!(outcome["cause"], "exited");
    wait(&mut hub, DEADLINE);
    run.assert_clean(&outcome);
    assert_eq!(std::fs::read_to_string(run.spool.join("stdout")).unwrap(), "no hub\n");
}

#[test]
fn a_killed_supervisor_leaves_no_run_to_adopt() {
    for arguments in [&["ignore-term"][..], &["double-fork", "stay"], &["bomb", "3"]] {
        let mut run = Order::new(arguments).with("on_hub_exit", "keep").with("wall_ms", 60_000).start();
        run.event();
        run.event();
        run.child.kill().unwrap();
        run.child.wait().unwrap();
        let (mut hub, events) = run.resume();
        let (_, outcome) = read_to_outcome(&events);
        wait(&mut hub, DEADLINE);
        assert_eq!((&outcome["cause"], &outcome["exit"]), (&json!("lost"), &json!("unknown")));
        run.assert_clean(&outcome);
    }
}

#[test]
fn a_killed_supervisor_leaves_no_chain_of_processes_that_start_each_other() {
    for _ in 0..5 {
        let order = Order::new(&["hop", "3000", "first"]).with("on_hub_exit", "keep").with("wall_ms", 60_000);
        let mut run = order.start();
        run.line("planted");
        run.child.kill().unwrap();
        run.child.wait().unwrap();
        let (mut hub, events) = run.resume();
        let (_, outcome) = read_to_outcome(&events);
        wait(&mut hub, DEADLINE);
        run.assert_clean(&outcome);
    }
}

/// Returns the greatest resident memory of a process so far, in KiB; 0 after its end.
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or(0, |kib| kib.trim_end_matches("kB").trim().parse().unwrap())
}

/// Runs to the end with a hub that reads no event; returns the order with its home, the supervisor and its stdin.
fn run_unread(order: Order) -> (Order, Child, ChildStdin) {
    let mut child =
        order.home.adjutant(["supervise"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lifeline = child.stdin.take().unwrap();
    lifeline.write_all(format!("{}\n", order.json).as_bytes()).unwrap();
    let outcome = order.home.path().join("spool/run/outcome.json");
    eventually("an outcome on disk", || if outcome.exists() { Ok(()) } else { Err(()) });
    (order, child, lifeline)
}

#[test]
fn a_slow_hub_costs_the_supervisor_no_memory() {
    let (_order, mut child, lifeline) = run_unread(Order::new(&["flood", "40"]).with("cap", 64 << 20));
    // The pipe is full before each read, so the supervisor never writes all that it has queued.
    let mut output = child.stdout.take().unwrap();
    let mut part = vec![0; 40 << 10];
    for _ in 0..800 {
        eventually("a full pipe", || {
            let queued = rustix::io::ioctl_fionread(&output).unwrap();
            if queued >= 48 << 10 { Ok(()) } else { Err(queued) }
        });
        output.read_exact(&mut part).unwrap();
    }
    let most = peak_memory(child.id());
    drop((output, lifeline));
    wait(&mut child, DEADLINE);
    assert!(most > 0 && most < 32 << 10, "{most} KiB");
}

#[test]
fn a_flood_of_output_is_bounded_in_memory_and_on_disk() {
    let run = Order::new(&["flood", "64"]).start();
    // A hub that does not read: its pipe is full at once, and the runner must not notice.
    let mut most = 0;
    let mut lines = 0;
    let outcome = loop {
        most = most.max(peak_memory(run.child.id()));
        let mut event = run.event();
        if event["event"] == "ended" {
            break event["outcome"].take();
        }
        lines += 1;
    };
    assert!(lines > 1000, "{lines}");
    assert!(most > 0 && most < 40 << 10, "{most} KiB");
    let found = outcome["stdout"]["seen"].as_u64().unwrap();
    let kept = outcome["stdout"]["kept"].as_u64().unwrap();
    assert!(found > 64_000_000 && (512 << 10..=1 << 20).contains(&kept), "{outcome}");
    let on_disk: u64 = std::fs::read_dir(&run.spool)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_str().unwrap().starts_with("stdout"))
        .map(|entry| entry.metadata().unwrap().len())
        .sum();
    assert_eq!(on_disk, kept);
}

#[test]
fn a_hub_that_reads_no_events_does_not_block_the_run() {
    let (_order, mut child, _lifeline) = run_unread(Order::new(&["flood", "8"]));
    // A late read gets the head, a marked gap, and the tail.
    let (lines, outcome) = read_to_outcome(&events(child.stdout.take().unwrap()));
    wait(&mut child, DEADLINE);
    let missed: u64 = lines.iter().filter_map(|line| line["missed"].as_u64()).sum();
    let (found, kept) = (&outcome["stdout"]["seen"], &outcome["stdout"]["kept"]);
    assert_eq!(missed, found.as_u64().unwrap() - kept.as_u64().unwrap());
    assert_eq!(texts(&lines).last(), Some(&"result"));
}

#[test]
fn a_long_line_is_truncated_and_marked() {
    let (lines, outcome) = Order::new(&["long-line", "3"]).with("cap", 8 << 20).run();
    assert_eq!(lines[0]["text"].as_str().unwrap().len(), 1 << 20);
    assert_eq!(lines[0]["cut"], 3_000_000 - (1 << 20));
    assert_eq!(lines[1]["text"], "result");
    assert_eq!(outcome["stdout"]["kept"], 3_000_008);
}

#[test]
fn output_of_any_bytes_is_passed_on() {
    let (lines, outcome) = Order::new(&["invalid-utf8"]).run();
    assert_eq!(texts(&lines), ["caf\u{fffd} \u{fffd}\u{fffd} \u{fffd}", "€"]);
    assert_eq!(outcome["stdout"]["seen"], 15);
    let (lines, _) = Order::new(&["ansi"]).run();
    assert_eq!(texts(&lines), ["\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}", "result"]);
    let (lines, _) = Order::new(&["no-newline"]).run();
    assert_eq!(texts(&lines), ["first", "last"]);
}

#[test]
fn the_runner_gets_its_input_and_the_end_of_it() {
    let megabyte = vec![b'x'; 1 << 20];
    let (lines, _) = Order::new(&["read-stdin"]).input(megabyte.clone()).run();
    assert_eq!(texts(&lines), ["1048576 bytes"]);
    let (lines, _) = Order::new(&["burst"]).input(megabyte.clone()).run();
    assert_eq!(texts(&lines)[1], "1048576 bytes", "output was read while input was written");
    let (lines, outcome) = Order::new(&["close-stdin"]).input(megabyte).run();
    assert_eq!((texts(&lines), &outcome["cause"]), (vec!["result"], &json!("exited")));
    for order in [Order::new(&["read-stdin"]), Order::new(&["read-stdin"]).input("")] {
        assert_eq!(texts(&order.run().0), ["0 bytes"]);
    }
}

#[test]
fn the_runner_gets_its_arguments_byte_for_byte() {
    let arguments = ["", " ", "-x", "--", "a b", "'\"\\$`*", "\u{20ac}", "line\nbreak", "--help"];
    let words: Vec<&str> = ["arguments"].into_iter().chain(arguments).collect();
    let mut order = Order::new(&words);
    // A byte that is not UTF-8 is encoded as a zero and two digits.
    order.json["argv"].as_array_mut().unwrap().push(json!("caf\u{0}e9"));
    let mut run = order.start();
    let (_, outcome) = read_to_outcome(&run.events);
    run.assert_clean(&outcome);
    let expected: String = arguments.iter().flat_map(|argument| ["[", argument, "]\n"]).collect();
    let mut expected = expected.into_bytes();
    expected.extend(b"[caf\xe9]\n");
    assert_eq!(std::fs::read(run.spool.join("stdout")).unwrap(), expected);
}

#[test]
fn the_runner_gets_exactly_the_given_environment() {
    let order = Order::new(&["environment"]);
    let mark = order.json["mark"].as_str().unwrap().to_owned();
    let env = json!([["PATH", "/usr/bin:/bin"], ["WORD", "a b"], ["EMPTY", ""]]);
    let (lines, _) = order.with("env", env).run();
    let own = |line: &&str| !["_=", "PWD=", "OLDPWD=", "SHLVL="].iter().any(|name| line.starts_with(name));
    let lines: Vec<&str> = texts(&lines).into_iter().filter(own).collect();
    assert_eq!(lines, [&format!("ADJUTANT_RUN={mark}"), "EMPTY=", "PATH=/usr/bin:/bin", "WORD=a b"]);
}

#[test]
fn the_runner_starts_in_the_checked_folder() {
    let order = Order::new(&["where"]);
    let workdir = std::fs::canonicalize(order.home.path().join("work")).unwrap();
    let (lines, _) = order.run();
    assert_eq!(texts(&lines), [workdir.to_str().unwrap()]);
}

/// The reason of a rejection by the supervisor, after which nothing is left.
fn rejection(order: Order) -> Value {
    let mut run = order.start();
    let mut event = run.event();
    assert_eq!(event["event"], "refused", "{event}");
    wait(&mut run.child, DEADLINE);
    assert_eq!(survivors_with_mark(&run.mark), Vec::<String>::new());
    event["error"].take()
}

#[test]
fn a_run_in_a_swapped_folder_is_rejected() {
    let order = Order::new(&["where"]);
    let workdir = order.home.path().join("work");
    std::fs::rename(&workdir, order.home.path().join("moved")).unwrap();
    std::os::unix::fs::symlink("/", &workdir).unwrap();
    assert!(rejection(order)["workdir"].is_string());
    let order = Order::new(&["where"]);
    std::fs::remove_dir(order.home.path().join("work")).unwrap();
    assert!(rejection(order)["workdir"].is_string());
}

#[test]
fn a_run_of_a_missing_program_is_rejected() {
    for program in ["no-such-runner", "/no/such/runner", "./runner", "", "/tmp"] {
        let refused = rejection(Order::new(&[]).with("argv", json!([program])));
        assert_eq!(refused, json!({"not_found": {"program": program}}));
    }
    assert!(rejection(Order::new(&[]).with("argv", json!([])))["argv"].is_string());
}

#[test]
fn an_argument_too_long_for_the_system_is_rejected() {
    let long = "x".repeat(200_000);
    assert!(rejection(Order::new(&["arguments", &long]))["spawn"].is_string());
}

#[test]
fn a_program_that_cannot_be_executed_is_reported() {
    let order = Order::new(&[]);
    let program = order.home.write_program("broken", "#!/no/such/interpreter\n");
    let mut run = order.with("argv", json!([program])).start();
    let (_, outcome) = read_to_outcome(&run.events);
    run.assert_clean(&outcome);
    assert_eq!(outcome["exit"], "not_started");
    let output = std::fs::read_to_string(run.spool.join("stderr")).unwrap();
    assert!(output.contains("cannot be executed"), "{output}");
}

#[test]
fn a_spool_folder_is_private_and_used_once() {
    let order = Order::new(&["ok"]);
    let json = order.json.clone();
    let mut run = order.start();
    let (_, outcome) = read_to_outcome(&run.events);
    run.assert_clean(&outcome);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&run.spool), 0o700);
    for entry in std::fs::read_dir(&run.spool).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    let repeated = Order { home: run.home, json, input: Vec::new() };
    assert!(rejection(repeated)["spool"].is_string());
}

#[test]
fn many_simultaneous_runs_end_cleanly() {
    let runs: Vec<Run> = (0..40).map(|_| Order::new(&["hang"]).with("grace_ms", 50).start()).collect();
    for run in &runs {
        run.line("working");
    }
    for mut run in runs {
        run.cancel();
        let (_, outcome) = run.read_to_end();
        assert_eq!(outcome["cause"], "cancelled");
    }
}

#[test]
fn an_invalid_order_starts_no_run() {
    let home = Home::new();
    for order in ["", "no order\n", "{}\n", "{\"argv\": [\"/bin/true\"]}\n"] {
        let ended = home.run(["supervise"], order);
        assert_eq!(ended.status.code(), Some(1), "{order}");
        assert!(ended.stdout.is_empty() && ended.stderr.starts_with("error: "), "{}", ended.stderr);
    }
}

/// The hub's part: `supervise --start` starts the run as the hub does.
#[test]
fn the_hub_starts_follows_and_cancels_a_run() {
    let run = Order::new(&["echo-stdin"]).input("one\ntwo\n").start_with(&["supervise", "--start"]);
    let (lines, outcome) = read_to_outcome(&run.events);
    assert_eq!(texts(&lines), ["one", "two"]);
    assert_eq!((&outcome["cause"], &outcome["exit"]), (&json!("exited"), &json!({"code": 0})));
    assert_eq!(run.outcome_on_disk(), outcome);
    let mut run = Order::new(&["ignore-term"]).with("grace_ms", 50).start_with(&["supervise", "--start"]);
    run.line("working");
    run.cancel();
    let (_, outcome) = read_to_outcome(&run.events);
    assert_eq!((&outcome["cause"], &outcome["processes_left"]), (&json!("cancelled"), &json!(0)));
    assert_eq!(survivors_in(&run.home), Vec::<String>::new());
}

#[test]
fn a_killed_hub_leaves_no_process_of_its_run() {
    for arguments in [&["ignore-term"][..], &["double-fork", "stay"], &["bomb", "3"]] {
        let mut run = Order::new(arguments).start_with(&["supervise", "--start"]);
        run.event();
        run.event();
        assert!(!survivors_in(&run.home).is_empty());
        run.child.kill().unwrap();
        run.child.wait().unwrap();
        eventually("survivors", || match survivors_in(&run.home) {
            none if none.is_empty() => Ok(()),
            some => Err(some),
        });
        eventually("an outcome", || run.spool.join("outcome.json").metadata().map(drop));
        assert_eq!(run.outcome_on_disk()["cause"], "hub_gone");
    }
}

#[test]
fn the_hub_reports_a_killed_supervisor() {
    for arguments in [&["ignore-term"][..], &["double-fork", "stay"], &["bomb", "3"]] {
        let run = Order::new(arguments).start_with(&["supervise", "--start"]);
        run.event();
        run.event();
        kill(&run.record()["supervisor"]);
        let (_, outcome) = read_to_outcome(&run.events);
        assert_eq!((&outcome["cause"], &outcome["processes_left"]), (&json!("lost"), &json!(0)));
        assert_eq!(outcome["is_counted"], true, "{outcome}");
        assert_eq!(survivors_in(&run.home), Vec::<String>::new(), "{arguments:?}");
    }
}

/// A daemon in a session of its own, without any variable, that ignores signals; the argument identifies it.
fn bare_daemon(order: Order) -> (Order, String) {
    let token = format!("bare-{}", order.home.path().display());
    let daemon = "trap '' INT TERM HUP; while :; do sleep 1; done";
    let script = format!("(env -i setsid sh -c \"{daemon}\" {token} &); echo working; exec sleep 300");
    (order.with("argv", json!(["/bin/sh", "-c", script])), token)
}

#[test]
fn a_daemon_without_variables_ends_with_a_killed_supervisor() {
    for arguments in [&["supervise", "--start"][..], &["supervise", "--guard"]] {
        let (order, token) = bare_daemon(Order::new(&[]).with("on_hub_exit", "keep"));
        let spool = order.json["spool"].as_str().unwrap().to_owned();
        let spool: &[&str] = if arguments.contains(&"--guard") { &[&spool] } else { &[] };
        let run = order.start_with(&[arguments, spool].concat());
        run.line("working");
        wait_until_some("the daemon", || processes_with_argument(&token));
        kill(&run.record()["supervisor"]);
        // Without its hub the run is read by the next one, which waits for the guard.
        let next = (!spool.is_empty()).then(|| run.resume());
        let (_, outcome) = read_to_outcome(next.as_ref().map_or(&run.events, |(_, events)| events));
        let facts = (&outcome["cause"], &outcome["processes_left"], &outcome["is_counted"]);
        assert_eq!(facts, (&json!("lost"), &json!(0), &json!(true)), "{arguments:?}");
        assert_eq!(processes_with_argument(&token), Vec::<String>::new(), "{arguments:?}");
        if let Some((mut hub, _)) = next {
            wait(&mut hub, DEADLINE);
        }
    }
}

#[test]
fn processes_of_a_killed_supervisor_and_its_killed_guard_are_not_counted() {
    let run = Order::new(&["ignore-term"]).start_with(&["supervise", "--start"]);
    run.event();
    run.event();
    kill(&run.record()["guard"][0]);
    kill(&run.record()["supervisor"]);
    let (_, outcome) = read_to_outcome(&run.events);
    assert_eq!((&outcome["cause"], &outcome["is_counted"]), (&json!("lost"), &json!(false)), "{outcome}");
    assert_eq!(survivors_in(&run.home), Vec::<String>::new());
}

/// As when the supervisor is killed between the start of the runner and its record.
#[test]
fn a_run_without_a_record_is_counted_by_its_guard() {
    let run = Order::new(&["ignore-term"]).start_with(&["supervise", "--start"]);
    run.line("working");
    let supervisor = run.record()["supervisor"].clone();
    std::fs::remove_file(run.spool.join("run.json")).unwrap();
    kill(&supervisor);
    let (_, outcome) = read_to_outcome(&run.events);
    let facts = (&outcome["cause"], &outcome["processes_left"], &outcome["is_counted"]);
    assert_eq!(facts, (&json!("lost"), &json!(0), &json!(true)), "{outcome}");
    assert_eq!(survivors_in(&run.home), Vec::<String>::new());
}

/// After the end of the guard the parent of a supervisor is a process of the system, which no hub may kill.
#[test]
fn a_supervisor_takes_only_the_guard_that_started_it_for_its_guard() {
    for (guard, is_recorded) in [(std::process::id(), true), (1, false)] {
        let mut run = Order::new(&["slow"]).start_with(&["supervise", "--guarded", &guard.to_string()]);
        run.line("working");
        let recorded = run.record()["guard"][0].clone();
        assert_eq!(recorded, if is_recorded { json!(guard) } else { Value::Null });
        run.cancel();
        run.read_to_end();
    }
}

/// It is stopped again as soon as it was continued.
#[test]
fn a_supervisor_that_never_ends_its_cancelled_run_is_killed() {
    let mut run = Order::new(&["ignore-term"]).start_with(&["supervise", "--start"]);
    run.line("working");
    let supervisor = run.record()["supervisor"].clone();
    let pid = i32::try_from(supervisor.as_i64().unwrap()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let stopper = std::thread::spawn(move || {
        while kill_process(pid, Signal::STOP).is_ok() {
            std::thread::park_timeout(Duration::from_millis(1));
        }
    });
    run.cancel();
    // The hub waits half a minute for it.
    let end = Instant::now() + 3 * DEADLINE;
    let outcome = loop {
        match run.events.recv_timeout(DEADLINE) {
            Ok(mut event) if event["event"] == "ended" => break event["outcome"].take(),
            Ok(_) | Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
            Err(error) => panic!("{error}"),
        }
        assert!(Instant::now() < end, "the supervisor lives");
    };
    stopper.join().unwrap();
    let facts = (&outcome["cause"], &outcome["processes_left"], &outcome["is_counted"]);
    assert_eq!(facts, (&json!("lost"), &json!(0), &json!(true)), "{outcome}");
    assert_eq!(survivors_in(&run.home), Vec::<String>::new());
}

#[test]
fn a_supervisor_or_guard_that_was_stopped_does_not_keep_its_run_from_its_end() {
    let start = |wall: Value| {
        let order = Order::new(&["ignore-term"]).with("grace_ms", 50).with("wall_ms", wall);
        let run = order.start_with(&["supervise", "--start"]);
        run.line("working");
        run
    };
    let ends = |run: Run, cause: Value| {
        let (_, outcome) = read_to_outcome(&run.events);
        let facts = (&outcome["cause"], &outcome["processes_left"], &outcome["is_counted"]);
        assert_eq!(facts, (&cause, &json!(0), &json!(true)), "{outcome}");
        assert_eq!(survivors_in(&run.home), Vec::<String>::new());
    };
    let mut run = start(Value::Null);
    send(Signal::STOP, &run.record()["supervisor"]);
    run.cancel();
    ends(run, json!("cancelled"));

    let mut run = start(Value::Null);
    send(Signal::STOP, &run.record()["guard"][0]);
    kill(&run.record()["supervisor"]);
    run.cancel();
    ends(run, json!("lost"));

    let run = start(json!(700));
    send(Signal::STOP, &run.record()["supervisor"]);
    ends(run, json!({"timed_out": "wall"}));
}

#[test]
fn a_supervisor_that_was_stopped_continues_when_the_next_hub_comes() {
    let mut run = Order::new(&["hang"]).with("on_hub_exit", "keep").with("wall_ms", 60_000).start();
    run.line("working");
    kill_process(Pid::from_child(&run.child), Signal::STOP).unwrap();
    drop(run.lifeline.take());
    let (mut hub, events) = run.resume();
    assert_eq!(events.recv_timeout(DEADLINE).unwrap()["event"], "started");
    hub.stdin.take().unwrap().write_all(b"\"cancel\"\n").unwrap();
    let (_, outcome) = read_to_outcome(&events);
    assert_eq!(outcome["cause"], "cancelled");
    assert!(wait(&mut hub, DEADLINE).success());
    run.assert_clean(&outcome);
}

/// As on a full disk: no file can have a byte.
#[test]
fn a_run_that_cannot_be_recorded_is_refused_when_it_has_no_process() {
    for _ in 0..10 {
        let order = Order::new(&["touch", "made"]);
        let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" supervise";
        let mut supervisor = Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_adjutant")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lifeline = supervisor.stdin.take().unwrap();
        lifeline.write_all(format!("{}\n", order.json).as_bytes()).unwrap();
        let refused = events(supervisor.stdout.take().unwrap()).recv_timeout(DEADLINE).unwrap();
        let left = survivors_with_mark(order.json["mark"].as_str().unwrap());
        assert_eq!((&refused["event"], left), (&json!("refused"), Vec::new()), "{refused}");
        wait(&mut supervisor, DEADLINE);
        assert!(!order.home.path().join("work/made").exists());
        assert!(!order.home.path().join("spool/run").exists(), "the folder can be used again");
    }
}

#[test]
fn the_hub_reports_why_a_run_cannot_start() {
    for (name, value, message) in [
        ("argv", json!(["no-such-runner"]), "the program `no-such-runner` was not found"),
        ("argv", json!([]), "the command line is empty"),
        ("argv", json!(["/bin/echo", "a\u{0}00b"]), "the command line holds a zero byte"),
        ("env", json!([["A=B", "c"]]), "the command line has an environment"),
        ("workdir", json!({"path": "relative", "device": 0, "inode": 0}), "the working directory"),
        (
            "workdir",
            json!({"path": "/no/such", "device": 0, "inode": 0}),
            "the working directory cannot be read",
        ),
    ] {
        let order = Order::new(&[]).with(name, value);
        let ended = order.home.run(["supervise", "--start"], format!("{}\n", order.json));
        assert_eq!(ended.status.code(), Some(1), "{message}");
        assert!(ended.stderr.starts_with(&format!("error: {message}")), "{}", ended.stderr);
    }
}
