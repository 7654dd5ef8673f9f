//! Tasks on a hub outlive who asked for them, and the hub: through the socket and over HTTP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::delegation::Desk;
use crate::support::processes::{below, eventually, until_none};
use crate::support::{DEADLINE, Peer};

/// A client on the hub's socket.
fn client(desk: &Desk) -> Peer {
    let mut peer = desk.connect();
    peer.initialize("2025-11-25");
    peer
}

/// Asks until the newest task of this client is in a state; looking at the list fetches no result.
fn until(peer: &mut Peer, state: &str) -> Value {
    let end = Instant::now() + DEADLINE;
    loop {
        let listed = peer.tool(1_000, "task_list", json!({}))["structuredContent"].clone();
        if listed["tasks"][0]["status"] == state {
            return listed;
        }
        assert!(Instant::now() < end, "{state}: {listed:#}");
    }
}

#[test]
fn a_result_outlives_its_client_and_its_hub_until_a_client_fetches_it() {
    let desk = Desk::new();
    let mut hub = desk.hub();
    let mut first = client(&desk);
    let gate = desk.folder("gate");
    let task = desk.task(&format!("until-file {}", gate.display()));
    // The client waits for its answer, and goes without it.
    let params = json!({"name": "delegate_task", "arguments": task});
    first.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let mut second = client(&desk);
    until(&mut second, "running");
    drop(first);
    std::fs::write(&gate, "").unwrap();
    let listed = until(&mut second, "succeeded");
    let id = listed["tasks"][0]["task_id"].clone();
    assert_eq!(listed["unfetched"], json!([id]));
    // The hub is killed between the end and the fetch; the next one has the result.
    hub.kill();
    let _next = desk.hub();
    let mut third = client(&desk);
    assert_eq!(until(&mut third, "succeeded")["unfetched"], json!([id]));
    let told = third.tool(1, "task_get", json!({"task_id": id}))["structuredContent"].clone();
    assert_eq!(told["message"], "working\nresult", "{told:#}");
    assert_eq!(told["run_report"]["processes_left"], 0);
    assert_eq!(until(&mut third, "succeeded")["unfetched"], json!([]));
}

#[test]
fn the_runs_of_a_killed_hub_end_or_are_adopted_by_the_next_hub() {
    let desk = Desk::new();
    let gate = desk.folder("gate");
    desk.agent("keeper", "on_hub_exit: keep\n");
    let mut hub = desk.hub();
    let mut peer = client(&desk);
    let killed = peer.in_background(1, desk.task("ignore-term"));
    let mut task = desk.task(&format!("until-file {}", gate.display()));
    task["agent"] = json!("keeper");
    let kept = peer.in_background(2, task);
    for task in [&killed, &kept] {
        peer.until_it_says(3, task, "working");
    }
    hub.kill();
    let _next = desk.hub();
    let mut peer = client(&desk);
    let told = peer.tool(1, "task_wait", json!({"task_id": killed}))["structuredContent"].clone();
    assert_eq!(told["failure"]["class"], "hub_gone", "{told:#}");
    assert_eq!(told["run_report"]["processes_left"], 0);
    let told = peer.tool(2, "task_get", json!({"task_id": kept}))["structuredContent"].clone();
    assert_eq!(told["status"], "running", "{told:#}");
    std::fs::write(&gate, "").unwrap();
    let told = peer.tool(3, "task_wait", json!({"task_id": kept}))["structuredContent"].clone();
    assert_eq!(
        (&told["status"], &told["message"]),
        (&json!("succeeded"), &json!("working\nresult")),
        "{told:#}"
    );
    desk.no_survivors();
}

#[test]
fn a_hub_completes_two_hundred_queued_tasks() {
    let desk = Desk::new();
    let hub = desk.hub();
    let mut peer = client(&desk);
    for call in 0..4 {
        let tasks: Vec<Value> = (0..50).map(|_| desk.task("ok")).collect();
        let told = peer.tool(call, "delegate_many", json!({"tasks": tasks, "background": true}));
        assert_eq!(told["structuredContent"]["results"].as_array().unwrap().len(), 50, "{told:#}");
    }
    let end = Instant::now() + 3 * DEADLINE;
    loop {
        let ended = peer.tool(10, "task_list", json!({"state": "succeeded", "limit": 1}));
        if ended["structuredContent"]["total"] == 200 {
            break;
        }
        assert!(Instant::now() < end, "{ended:#}");
        // Another answer than the last one is awaited by waiting for a task that has not ended.
        let open = peer.tool(11, "task_list", json!({"state": "queued", "limit": 1}));
        if let Some(task) = open["structuredContent"]["tasks"][0]["task_id"].as_str() {
            peer.tool(12, "task_wait", json!({"task_id": task}));
        }
    }
    until_none("children of the hub", || below(hub.pid()));
    desk.no_survivors();
}

/// Writes what the agent of a task says to the hub in its turn.
fn to_the_hub(desk: &Desk, tool: &str, arguments: &Value) -> String {
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "child", "version": "1"}});
    let call = json!({"name": tool, "arguments": arguments});
    let lines = [
        json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": call}),
    ];
    let [hello, call] = lines.map(|line| line.to_string());
    desk.home.write("to-the-hub.ndjson", format!("{hello}\n{call}\n"));
    let file = desk.folder("to-the-hub.ndjson");
    format!("ask-the-hub {} {}", env!("CARGO_BIN_EXE_adjutant"), file.display())
}

#[test]
fn nested_delegations_are_limited_in_depth() {
    let desk = Desk::new();
    let _hub = desk.hub();
    // Every child delegates what it was delegated: the hub knows it by its process, whatever variables it drops.
    let task = format!(
        "ask-the-hub {} {}",
        env!("CARGO_BIN_EXE_adjutant"),
        desk.folder("to-the-hub.ndjson").display()
    );
    to_the_hub(&desk, "delegate_task", &desk.task(&task));
    let mut peer = client(&desk);
    let told = peer.delegated(1, desk.task(&task));
    assert_eq!(told["status"], "succeeded", "{told:#}");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("this task is 3 delegations deep, and 2 is the limit"), "{message}");
    desk.no_survivors();
}

#[test]
fn nested_delegations_are_limited_in_number() {
    let desk = Desk::new();
    desk.configure("max_descendants = 2", &["fake"]);
    let _hub = desk.hub();
    let three = json!({"tasks": [desk.task("ok"), desk.task("ok"), desk.task("ok")]});
    let task = to_the_hub(&desk, "delegate_many", &three);
    let mut peer = client(&desk);
    let told = peer.delegated(1, desk.task(&task));
    let message = told["message"].as_str().unwrap_or_else(|| panic!("{told:#}"));
    assert!(message.contains("has 2 tasks below it already, which is the limit"), "{message}");
    // What it was allowed has run, and belongs to the child: the client sees its own task alone.
    assert_eq!(until(&mut peer, "succeeded")["total"], 1);
}

/// Says something to the hub once there is a gate, and notes when the hub first answered.
const EARLY: &str = r#"#!/bin/sh
cat > /dev/null
echo working
while ! test -e "$HOME/gate"; do sleep 0.05; done
mkfifo "$TMPDIR/to-hub"
"$HOME/adjutant" connect agents --no-start < "$TMPDIR/to-hub" > "$TMPDIR/answers" &
exec 3> "$TMPDIR/to-hub"
head -n 1 "$HOME/to-the-hub.ndjson" >&3
while ! test -s "$TMPDIR/answers"; do sleep 0.05; done
echo yes > "$HOME/answered"
tail -n 1 "$HOME/to-the-hub.ndjson" >&3
while ! grep -q '"id":"call"' "$TMPDIR/answers"; do sleep 0.05; done
grep '"id":"call"' "$TMPDIR/answers"
"#;

/// Whoever keeps all writers from the database.
struct Lock(Child);

impl Lock {
    fn of(desk: &Desk) -> Self {
        let mut lock = Command::new("sqlite3")
            .arg(desk.folder(".adjutant/adjutant.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("no sqlite3: apt-get install sqlite3");
        lock.stdin.as_mut().unwrap().write_all(b"BEGIN IMMEDIATE; SELECT 'locked';\n").unwrap();
        BufReader::new(lock.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
        Self(lock)
    }

    fn release(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// A hub, and the file that it says in what happens.
struct Told {
    hub: Child,
    log: PathBuf,
}

impl Told {
    fn start(desk: &Desk, more: &[&str]) -> Self {
        let log = desk.folder("log");
        let mut command = desk.adjutant(&[&["serve", "--http", "off"], more].concat());
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        let hub = command.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
        let socket = desk.folder(".adjutant/hub.sock");
        eventually("it listens", || UnixStream::connect(&socket).map(drop));
        Self { hub, log }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        kill_process(Pid::from_child(&self.hub), Signal::TERM).unwrap();
        crate::support::wait(&mut self.hub, DEADLINE);
    }
}

#[test]
fn a_hub_without_runs_to_adopt_does_not_wait_for_the_database() {
    let desk = Desk::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let database = format!("postgres://ann@{}/tasks", silent.local_addr().unwrap());
    let hub = Told::start(&desk, &["--database", &database]);
    client(&desk);
    let said = hub.said();
    assert!(!said.contains("is taken for any other client"), "the doors waited: {said}");
}

fn rename(desk: &Desk, table: &str, name: &str) {
    let rename = format!("ALTER TABLE {table} RENAME TO {name}");
    let mut sqlite = Command::new("sqlite3");
    let sqlite = sqlite.args(["-cmd", ".timeout 10000"]).arg(desk.folder(".adjutant/adjutant.db"));
    assert!(sqlite.arg(rename).status().expect("no sqlite3: apt-get install sqlite3").success());
}

#[test]
fn a_run_that_cannot_be_adopted_at_once_is_adopted_later() {
    let desk = Desk::new();
    let gate = desk.folder("gate");
    desk.agent("keeper", "on_hub_exit: keep\n");
    let mut hub = desk.hub();
    let mut peer = client(&desk);
    let mut task = desk.task(&format!("until-file {}", gate.display()));
    task["agent"] = json!("keeper");
    let kept = peer.in_background(1, task);
    peer.until_it_says(2, &kept, "working");
    hub.kill();

    rename(&desk, "tasks", "tasks_elsewhere");
    let next = Told::start(&desk, &[]);
    eventually("the next hub cannot read them", || {
        let said = next.said();
        if said.matches("the tasks of the last hub cannot be read yet").count() > 2 {
            Ok(())
        } else {
            Err(said)
        }
    });
    let said = next.said();
    let seconds = said
        .lines()
        .filter_map(|line| line.split_once('.').filter(|_| line.contains("the queue cannot be read")));
    let mut seconds: Vec<_> = seconds.map(|(second, _)| second).collect();
    let looks = seconds.len();
    seconds.dedup();
    assert_eq!(
        seconds.len(),
        looks,
        "each look that fails is followed by one other, two seconds later:\n{said}"
    );
    rename(&desk, "tasks_elsewhere", "tasks");
    std::fs::write(&gate, "").unwrap();
    let told = client(&desk).tool(1, "task_wait", json!({"task_id": kept}))["structuredContent"].clone();
    assert_eq!(told["message"], "working\nresult", "{told:#}");
    desk.no_survivors();
}

/// The next hub cannot read yet whose runs go on; an agent of one that asks in this moment waits, and is not taken for a
/// client from outside, which may do more.
#[test]
fn an_agent_that_asks_before_its_run_is_adopted_waits_for_the_adoption() {
    let desk = Desk::new();
    desk.configure("max_descendants = 2", &["fake", "early"]);
    desk.program("early", EARLY);
    desk.agent("keeper", "runner: early\non_hub_exit: keep\n");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_adjutant"), desk.folder("adjutant")).unwrap();
    to_the_hub(
        &desk,
        "delegate_many",
        &json!({"tasks": [desk.task("ok"), desk.task("ok"), desk.task("ok")]}),
    );
    let mut hub = desk.hub();
    let mut peer = client(&desk);
    let mut task = desk.task("wait");
    task["agent"] = json!("keeper");
    let kept = peer.in_background(1, task);
    peer.until_it_says(2, &kept, "working");
    hub.kill();

    let lock = Lock::of(&desk);
    let _next = desk.hub();
    desk.home.write("gate", "");
    // As long as nobody may write, nobody is told anything; it is not waited for longer than it takes to see that.
    let end = Instant::now() + Duration::from_secs(1);
    while !desk.folder("answered").exists() && Instant::now() < end {
        std::thread::park_timeout(Duration::from_millis(10));
    }
    lock.release();
    let mut peer = client(&desk);
    let told = peer.tool(3, "task_wait", json!({"task_id": kept}))["structuredContent"].clone();
    let message = told["message"].as_str().unwrap_or_else(|| panic!("{told:#}"));
    assert!(message.contains("has 2 tasks below it already, which is the limit"), "{message}");
    desk.no_survivors();
}
