//! Tasks on a hub outlive their client and their hub, through the socket and over HTTP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::process_table::{descendants, eventually, runs_of_home, wait_until_none};
use crate::support::task_fixture::TaskFixture;
use crate::support::{DEADLINE, Peer};

/// A client on the hub's socket.
fn client(fixture: &TaskFixture) -> Peer {
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    peer
}

/// Asks until the newest task of this client is in a state; looking at the list fetches no result.
fn wait_for_state(peer: &mut Peer, state: &str) -> Value {
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
    let fixture = TaskFixture::new();
    let mut hub = fixture.hub();
    let mut first = client(&fixture);
    let gate = fixture.folder("gate");
    let task = fixture.task(&format!("until-file {}", gate.display()));
    // The client disconnects before its answer.
    let params = json!({"name": "delegate_task", "arguments": task});
    first.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let mut second = client(&fixture);
    wait_for_state(&mut second, "running");
    drop(first);
    std::fs::write(&gate, "").unwrap();
    let listed = wait_for_state(&mut second, "succeeded");
    let id = listed["tasks"][0]["task_id"].clone();
    assert_eq!(listed["unfetched"], json!([id]));
    // The hub is killed between the end and the fetch; the next one has the result.
    hub.kill();
    let _next = fixture.hub();
    let mut third = client(&fixture);
    assert_eq!(wait_for_state(&mut third, "succeeded")["unfetched"], json!([id]));
    let result = third.tool(1, "task_get", json!({"task_id": id}))["structuredContent"].clone();
    assert_eq!(result["message"], "working\nresult", "{result:#}");
    assert_eq!(result["run_report"]["processes_left"], 0);
    assert_eq!(wait_for_state(&mut third, "succeeded")["unfetched"], json!([]));
}

#[test]
fn the_files_of_a_run_stay_unless_it_succeeded() {
    let fixture = TaskFixture::new();
    let _hub = fixture.hub();
    let mut peer = client(&fixture);
    let folder = |task: &str| fixture.folder(&format!(".adjutant/spool/{task}/run-1/stdout"));
    let mut run =
        |id, mode| peer.delegate_and_wait(id, fixture.task(mode))["task_id"].as_str().unwrap().to_owned();
    let (succeeded, failed) = (run(1, "ok"), run(2, "crash"));
    eventually("the removal", || if folder(&succeeded).exists() { Err("not yet") } else { Ok(()) });
    assert_eq!(std::fs::read_to_string(folder(&failed)).unwrap(), "working\n");
}

#[test]
fn a_task_with_a_killed_supervisor_names_the_supervisor() {
    let fixture = TaskFixture::new();
    let _hub = fixture.hub();
    let mut peer = client(&fixture);
    let task = peer.delegate_in_background(1, fixture.task("ignore-term"));
    peer.wait_for_activity(2, &task, "working");
    let record = std::fs::read(fixture.folder(&format!(".adjutant/spool/{task}/run-1/run.json"))).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    let pid = i32::try_from(record["supervisor"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let result = peer.tool(3, "task_wait", json!({"task_id": task}))["structuredContent"].clone();
    let detail = "the supervisor of the run was killed, and the run was ended";
    assert_eq!(result["failure"], json!({"class": "supervisor_gone", "detail": detail}), "{result:#}");
    let report = &result["run_report"];
    assert_eq!((&report["processes_left"], &report["is_uncounted"]), (&json!(0), &Value::Null));
    fixture.assert_no_survivors();
}

#[test]
fn the_runs_of_a_killed_hub_end_or_are_adopted_by_the_next_hub() {
    let fixture = TaskFixture::new();
    let gate = fixture.folder("gate");
    fixture.agent("keeper", "on_hub_exit: keep\n");
    let mut hub = fixture.hub();
    let mut peer = client(&fixture);
    let killed = peer.delegate_in_background(1, fixture.task("ignore-term"));
    let mut task = fixture.task(&format!("until-file {}", gate.display()));
    task["agent"] = json!("keeper");
    let kept = peer.delegate_in_background(2, task);
    for task in [&killed, &kept] {
        peer.wait_for_activity(3, task, "working");
    }
    hub.kill();
    let _next = fixture.hub();
    let mut peer = client(&fixture);
    let result = peer.tool(1, "task_wait", json!({"task_id": killed}))["structuredContent"].clone();
    assert_eq!(result["failure"]["class"], "hub_gone", "{result:#}");
    assert_eq!(result["run_report"]["processes_left"], 0);
    let result = peer.tool(2, "task_get", json!({"task_id": kept}))["structuredContent"].clone();
    assert_eq!(result["status"], "running", "{result:#}");
    std::fs::write(&gate, "").unwrap();
    let result = peer.tool(3, "task_wait", json!({"task_id": kept}))["structuredContent"].clone();
    assert_eq!(
        (&result["status"], &result["message"]),
        (&json!("succeeded"), &json!("working\nresult")),
        "{result:#}"
    );
    fixture.assert_no_survivors();
}

/// Without its folder, a run looks as if the hub had been killed just before it started the supervisor.
#[test]
fn a_task_is_begun_again_only_if_its_runner_was_not_started() {
    let fixture = TaskFixture::new();
    let gate = fixture.folder("gate");
    let mut hub = fixture.hub();
    let mut peer = client(&fixture);
    let tasks = [1, 2].map(|call| {
        let task = fixture.task(&format!("until-file {}", gate.display()));
        let task = peer.delegate_in_background(call, task);
        peer.wait_for_activity(call, &task, "working");
        task
    });
    hub.kill();
    fixture.assert_no_survivors();
    std::fs::write(&gate, "").unwrap();
    std::fs::remove_dir_all(fixture.folder(&format!(".adjutant/spool/{}/run-1", tasks[0]))).unwrap();
    let _next = fixture.hub();
    let mut peer = client(&fixture);
    let [again, ended] = tasks.map(|task| {
        let wait = json!({"task_id": task});
        peer.tool(3, "task_wait", wait)["structuredContent"].clone()
    });
    assert_eq!(
        (&again["status"], &again["message"]),
        (&json!("succeeded"), &json!("working\nresult")),
        "{again:#}"
    );
    let attempts = &again["run_report"]["attempts"];
    assert_eq!((&attempts[0]["failure"]["class"], &attempts[1]["exit"]), (&json!("hub_gone"), &json!(0)));
    assert_eq!(ended["failure"]["class"], "hub_gone", "{ended:#}");
    assert_eq!(ended["run_report"]["attempts"].as_array().unwrap().len(), 1);
}

/// A missing table shows the moment between the removal of the worktree and the end of the task.
#[test]
fn the_work_in_a_removed_worktree_outlives_a_hub_that_is_killed_before_it_stores_the_outcome() {
    let fixture = TaskFixture::new();
    fixture.commit_all();
    fixture.agent("writer", "permission: workspace-write\nisolation: worktree\n");
    let (gate, begun) = (fixture.folder("gate"), fixture.folder("begun"));
    let mut hub = fixture.hub();
    let mut peer = client(&fixture);
    let mut task = fixture.task("touch made.txt");
    let (begins, waits) = (format!("touch {}", begun.display()), format!("test -e {}", gate.display()));
    let check = format!("{begins}; while ! {waits}; do sleep 0.05; done; test -e made.txt");
    (task["agent"], task["checks"]) = (json!("writer"), json!([["sh", "-c", check]]));
    let task = peer.delegate_in_background(1, task);
    eventually("the check", || if begun.exists() { Ok(()) } else { Err("not begun") });
    rename_table(&fixture, "task_results", "results_elsewhere");
    std::fs::write(&gate, "").unwrap();
    let tree = fixture.folder(&format!(".adjutant/spool/{task}/tree"));
    eventually("the cleanup", || if tree.exists() { Err("it is there") } else { Ok(()) });
    hub.kill();
    rename_table(&fixture, "results_elsewhere", "task_results");
    let _next = fixture.hub();
    let result = client(&fixture).tool(1, "task_wait", json!({"task_id": task}))["structuredContent"].clone();
    let (report, status) = (&result["run_report"], (&result["status"], &result["verdict"]));
    assert_eq!(status, (&json!("succeeded"), &json!("verified")), "{result:#}");
    assert!(report["repository"]["patch"].as_str().unwrap().contains("+++ b/made.txt"), "{result:#}");
    assert_eq!((&report["attempts"][0]["exit"], &report["files_unknown"]), (&json!(0), &Value::Null));
}

#[test]
fn a_hub_completes_two_hundred_queued_tasks() {
    let fixture = TaskFixture::new();
    let hub = fixture.hub();
    let mut peer = client(&fixture);
    for call in 0..4 {
        let tasks: Vec<Value> = (0..50).map(|_| fixture.task("ok")).collect();
        let answer = peer.tool(call, "delegate_many", json!({"tasks": tasks, "background": true}));
        assert_eq!(answer["structuredContent"]["results"].as_array().unwrap().len(), 50, "{answer:#}");
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
    wait_until_none("children of the hub", || descendants(hub.pid()));
    fixture.assert_no_survivors();
}

/// Returns a task whose agent calls a tool of the hub.
pub(super) fn ask_hub_task(fixture: &TaskFixture, tool: &str, arguments: &Value) -> String {
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "child", "version": "1"}});
    let call = json!({"name": tool, "arguments": arguments});
    let lines = [
        json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": call}),
    ];
    let [hello, call] = lines.map(|line| line.to_string());
    fixture.home.write("to-the-hub.ndjson", format!("{hello}\n{call}\n"));
    let file = fixture.folder("to-the-hub.ndjson");
    format!("ask-the-hub {} {}", env!("CARGO_BIN_EXE_adjutant"), file.display())
}

#[test]
fn nested_delegations_are_limited_in_depth() {
    let fixture = TaskFixture::new();
    let _hub = fixture.hub();
    // Every child delegates the same task again. The hub identifies it by its process, whatever variables it drops.
    let task = format!(
        "ask-the-hub {} {}",
        env!("CARGO_BIN_EXE_adjutant"),
        fixture.folder("to-the-hub.ndjson").display()
    );
    ask_hub_task(&fixture, "delegate_task", &fixture.task(&task));
    let mut peer = client(&fixture);
    let result = peer.delegate_and_wait(1, fixture.task(&task));
    assert_eq!(result["status"], "succeeded", "{result:#}");
    let message = result["message"].as_str().unwrap();
    assert!(message.contains("this task is 3 delegations deep, and 2 is the limit"), "{message}");
    fixture.assert_no_survivors();
}

#[test]
fn nested_delegations_are_limited_in_number() {
    let fixture = TaskFixture::new();
    fixture.configure("max_descendants = 2", &["fake"]);
    let _hub = fixture.hub();
    let three = json!({"tasks": [fixture.task("ok"), fixture.task("ok"), fixture.task("ok")]});
    let task = ask_hub_task(&fixture, "delegate_many", &three);
    let mut peer = client(&fixture);
    let result = peer.delegate_and_wait(1, fixture.task(&task));
    let message = result["message"].as_str().unwrap_or_else(|| panic!("{result:#}"));
    assert!(message.contains("has 2 tasks below it already, which is the limit"), "{message}");
    // The two allowed tasks have run and belong to the child: the client lists its own task only.
    assert_eq!(wait_for_state(&mut peer, "succeeded")["total"], 1);
}

#[test]
fn the_next_server_removes_the_temporary_files_of_killed_ones_and_follows_no_link() {
    let fixture = TaskFixture::new();
    let spools = || {
        let entries = std::fs::read_dir(fixture.folder("tmp")).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("adjutant-")).collect::<Vec<_>>()
    };
    let mut killed = fixture.connect_with_runner("fake");
    killed.initialize("2025-11-25");
    killed.delegate_and_wait(1, fixture.task("ok"));
    assert_eq!(spools().len(), 1);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert_eq!(spools().len(), 1, "a server that is killed removes nothing");
    fixture.home.write("private/task/notes", "kept\n");
    std::os::unix::fs::symlink(
        fixture.folder("private"),
        fixture.folder("tmp/adjutant-1000000000-0123456789abcdef"),
    )
    .unwrap();

    // What a killed hub was reading of a repository.
    fixture.home.write("tmp/adjutant-1000000001-0123456789abcdef/index", "names");

    let mut next = fixture.connect_with_runner("fake");
    next.initialize("2025-11-25");
    wait_until_none("the files of the killed processes", || {
        spools().into_iter().filter(|name| !name.starts_with("adjutant-1000000000-")).collect()
    });
    assert_eq!(std::fs::read_to_string(fixture.folder("private/task/notes")).unwrap(), "kept\n");
}

/// Says something to the hub once there is a gate, and notes when the hub first answered.
const EARLY_ASKER: &str = r#"#!/bin/sh
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

/// Keeps every writer from the database.
struct DatabaseLock(Child);

impl DatabaseLock {
    fn take(fixture: &TaskFixture) -> Self {
        let mut lock = Command::new("sqlite3")
            .arg(fixture.folder(".adjutant/adjutant.db"))
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

/// A hub, and the file with its log.
struct LoggedHub {
    hub: Child,
    log: PathBuf,
}

impl LoggedHub {
    fn start(fixture: &TaskFixture, more: &[&str]) -> Self {
        let log = fixture.folder("log");
        let mut command = fixture.adjutant(&[&["serve", "--http", "off"], more].concat());
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        let hub = command.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
        let socket = fixture.folder(".adjutant/hub.sock");
        eventually("it listens", || UnixStream::connect(&socket).map(drop));
        Self { hub, log }
    }

    fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for LoggedHub {
    fn drop(&mut self) {
        kill_process(Pid::from_child(&self.hub), Signal::TERM).unwrap();
        crate::support::wait(&mut self.hub, DEADLINE);
    }
}

#[test]
fn clients_do_not_give_up_while_the_runs_of_the_last_hub_are_not_known() {
    let fixture = TaskFixture::new();
    let gate = fixture.folder("gate");
    fixture.agent("keeper", "on_hub_exit: keep\n");
    let mut hub = fixture.hub();
    let mut peer = client(&fixture);
    let mut task = fixture.task(&format!("until-file {}", gate.display()));
    task["agent"] = json!("keeper");
    let kept = peer.delegate_in_background(1, task);
    peer.wait_for_activity(2, &kept, "working");
    hub.kill();
    let lock = DatabaseLock::take(&fixture);
    let next = LoggedHub::start(&fixture, &[]);
    let mut peer = client(&fixture);
    let words = "agents and answers of the last hub are not known until the database answers";
    assert!(next.logged().contains(words), "{}", next.logged());
    lock.release();
    std::fs::write(&gate, "").unwrap();
    let result = peer.tool(3, "task_wait", json!({"task_id": kept}))["structuredContent"].clone();
    assert_eq!(result["message"], "working\nresult", "{result:#}");
}

fn rename_table(fixture: &TaskFixture, table: &str, name: &str) {
    change_database(fixture, &format!("ALTER TABLE {table} RENAME TO {name}"));
}

fn change_database(fixture: &TaskFixture, statements: &str) {
    let mut sqlite = Command::new("sqlite3");
    let sqlite = sqlite.args(["-cmd", ".timeout 10000"]).arg(fixture.folder(".adjutant/adjutant.db"));
    assert!(sqlite.arg(statements).status().expect("no sqlite3: apt-get install sqlite3").success());
}

#[test]
fn an_outcome_that_cannot_be_stored_at_once_is_stored_later() {
    let fixture = TaskFixture::new();
    let gate = fixture.folder("gate");
    let hub = LoggedHub::start(&fixture, &[]);
    let mut peer = client(&fixture);
    let task = peer.delegate_in_background(1, fixture.task(&format!("until-file {}", gate.display())));
    peer.wait_for_activity(2, &task, "working");
    rename_table(&fixture, "task_results", "results_elsewhere");
    std::fs::write(&gate, "").unwrap();
    eventually("the first try", || {
        if hub.logged().contains("an outcome could not be written yet") { Ok(()) } else { Err(hub.logged()) }
    });
    rename_table(&fixture, "results_elsewhere", "task_results");
    let result = peer.tool(3, "task_wait", json!({"task_id": task}))["structuredContent"].clone();
    assert_eq!(
        (&result["status"], &result["message"]),
        (&json!("succeeded"), &json!("working\nresult")),
        "{result:#}"
    );
}

/// The hub has claimed a task and was told that it has not, as on a disk that fills up during the commit.
#[test]
fn a_task_whose_claim_was_carried_out_without_an_answer_is_run() {
    let fixture = TaskFixture::new();
    fixture.configure("max_running = 1", &["fake"]);
    let gate = fixture.folder("gate");
    let hub = LoggedHub::start(&fixture, &[]);
    let mut peer = client(&fixture);
    let first = peer.delegate_in_background(1, fixture.task(&format!("until-file {}", gate.display())));
    peer.wait_for_activity(2, &first, "working");
    let second = peer.delegate_in_background(3, fixture.task("ok"));
    rename_table(&fixture, "task_lanes", "lanes_elsewhere");
    // A reload looks for tasks.
    kill_process(Pid::from_child(&hub.hub), Signal::HUP).unwrap();
    eventually("a claim that fails", || {
        if hub.logged().contains("the queue cannot be read") { Ok(()) } else { Err(hub.logged()) }
    });
    let claim = "UPDATE tasks SET state = 'running', attempt = 1, fence = fence + 1, started_at = created_at, \
        (hub, lease_until) = (SELECT hub, lease_until FROM tasks WHERE state = 'running') WHERE state = 'queued'";
    change_database(&fixture, claim);
    rename_table(&fixture, "lanes_elsewhere", "task_lanes");
    let result = peer.tool(4, "task_wait", json!({"task_id": second}))["structuredContent"].clone();
    assert_eq!(result["status"], "succeeded", "{result:#}");
    std::fs::write(&gate, "").unwrap();
    let result = peer.tool(5, "task_wait", json!({"task_id": first}))["structuredContent"].clone();
    assert_eq!(result["status"], "succeeded", "{result:#}");
}

#[test]
fn a_run_that_was_ended_by_a_hub_that_stops_is_not_cancelled() {
    let fixture = TaskFixture::new();
    let hub = LoggedHub::start(&fixture, &[]);
    let mut peer = client(&fixture);
    let task = peer.delegate_in_background(1, fixture.task("ignore-term"));
    peer.wait_for_activity(2, &task, "working");
    // The hub cannot store what it did.
    rename_table(&fixture, "task_results", "results_elsewhere");
    drop(hub);
    rename_table(&fixture, "results_elsewhere", "task_results");
    let _next = fixture.hub();
    let result = client(&fixture).tool(1, "task_wait", json!({"task_id": task}))["structuredContent"].clone();
    let detail = "adjutant was stopped while it ran; no process of it is left";
    assert_eq!(result["failure"], json!({"class": "hub_gone", "detail": detail}), "{result:#}");
}

#[test]
fn a_run_that_the_next_hub_cannot_follow_is_ended_before_its_task_is_lost() {
    let fixture = TaskFixture::new();
    fixture.agent("keeper", "on_hub_exit: keep\n");
    let mut hub = fixture.hub();
    let mut peer = client(&fixture);
    let mut task = fixture.task("ignore-term");
    task["agent"] = json!("keeper");
    let kept = peer.delegate_in_background(1, task);
    peer.wait_for_activity(2, &kept, "working");
    hub.kill();
    fixture.configure("", &["other"]);
    let _next = fixture.hub();
    let result = client(&fixture).tool(1, "task_wait", json!({"task_id": kept}))["structuredContent"].clone();
    assert_eq!(runs_of_home(fixture.home.path()), Vec::<String>::new());
    let detail = "its runner is not configured any more";
    assert_eq!(result["failure"], json!({"class": "lost", "detail": detail}), "{result:#}");
    assert_eq!(result["run_report"]["processes_left"], 0);
}

#[test]
fn processes_of_a_run_that_the_next_hub_cannot_read_are_not_counted() {
    let fixture = TaskFixture::new();
    let mut hub = fixture.hub();
    let mut peer = client(&fixture);
    let task = peer.delegate_in_background(1, fixture.task("ignore-term"));
    peer.wait_for_activity(2, &task, "working");
    hub.kill();
    fixture.assert_no_survivors();
    let lock = fixture.folder(&format!(".adjutant/spool/{task}/run-1/lock"));
    std::fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink("lock", &lock).unwrap();
    let _next = fixture.hub();
    let result = client(&fixture).tool(1, "task_wait", json!({"task_id": task}))["structuredContent"].clone();
    let detail = "the hub that ran it ended, and its run cannot be read";
    assert_eq!(result["failure"], json!({"class": "lost", "detail": detail}), "{result:#}");
    assert_eq!(result["run_report"]["is_uncounted"], true, "{result:#}");
}

#[test]
fn a_run_that_cannot_be_adopted_at_once_is_adopted_later() {
    let fixture = TaskFixture::new();
    let gate = fixture.folder("gate");
    fixture.agent("keeper", "on_hub_exit: keep\n");
    let mut hub = fixture.hub();
    let mut peer = client(&fixture);
    let mut task = fixture.task(&format!("until-file {}", gate.display()));
    task["agent"] = json!("keeper");
    let kept = peer.delegate_in_background(1, task);
    peer.wait_for_activity(2, &kept, "working");
    hub.kill();

    rename_table(&fixture, "tasks", "tasks_elsewhere");
    let next = LoggedHub::start(&fixture, &[]);
    eventually("the next hub cannot read them", || {
        let output = next.logged();
        if output.matches("the tasks of the last hub cannot be read yet").count() > 2 {
            Ok(())
        } else {
            Err(output)
        }
    });
    let output = next.logged();
    let seconds = output
        .lines()
        .filter_map(|line| line.split_once('.').filter(|_| line.contains("the queue cannot be read")));
    let mut seconds: Vec<_> = seconds.map(|(second, _)| second).collect();
    let looks = seconds.len();
    seconds.dedup();
    assert_eq!(
        seconds.len(),
        looks,
        "each look that fails is followed by one other, two seconds later:\n{output}"
    );
    rename_table(&fixture, "tasks_elsewhere", "tasks");
    std::fs::write(&gate, "").unwrap();
    let result = client(&fixture).tool(1, "task_wait", json!({"task_id": kept}))["structuredContent"].clone();
    assert_eq!(result["message"], "working\nresult", "{result:#}");
    fixture.assert_no_survivors();
}

/// The next hub cannot read yet which runs continue. An agent of such a run that asks in this moment waits, and does
/// not count as a client from outside, which may do more.
#[test]
fn an_agent_that_asks_before_its_run_is_adopted_waits_for_the_adoption() {
    let fixture = TaskFixture::new();
    fixture.configure("max_descendants = 2", &["fake", "early"]);
    fixture.program("early", EARLY_ASKER);
    fixture.agent("keeper", "runner: early\non_hub_exit: keep\n");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_adjutant"), fixture.folder("adjutant")).unwrap();
    ask_hub_task(
        &fixture,
        "delegate_many",
        &json!({"tasks": [fixture.task("ok"), fixture.task("ok"), fixture.task("ok")]}),
    );
    let mut hub = fixture.hub();
    let mut peer = client(&fixture);
    let mut task = fixture.task("wait");
    task["agent"] = json!("keeper");
    let kept = peer.delegate_in_background(1, task);
    peer.wait_for_activity(2, &kept, "working");
    hub.kill();

    let lock = DatabaseLock::take(&fixture);
    let _next = fixture.hub();
    fixture.home.write("gate", "");
    // While the database is locked no client gets an answer. The hub waits only until it has seen that.
    let end = Instant::now() + Duration::from_secs(1);
    while !fixture.folder("answered").exists() && Instant::now() < end {
        std::thread::park_timeout(Duration::from_millis(10));
    }
    lock.release();
    let mut peer = client(&fixture);
    let result = peer.tool(3, "task_wait", json!({"task_id": kept}))["structuredContent"].clone();
    let message = result["message"].as_str().unwrap_or_else(|| panic!("{result:#}"));
    assert!(message.contains("has 2 tasks below it already, which is the limit"), "{message}");
    fixture.assert_no_survivors();
}
