//! Workers on other machines, over a real NATS server: each worker has a home of its own.

mod agents;
mod faults;
mod joining;
mod labels;
mod workspaces;

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::nats::{Nats, RawNats};
use crate::support::serving::Serving;
use crate::support::task_fixture::TaskFixture;
use crate::support::{DEADLINE, Peer, wait, wait_for};

/// Settings of a hub that runs no task itself, and gives no worker up while a test runs.
pub(crate) const NO_SLOTS: &str = "per_runner = { fake = 0 }\n[workers]\nlost_after_seconds = 60";

/// The same of a hub that gives up a worker without a report soon, but not one on a busy machine.
fn soon_lost() -> String {
    NO_SLOTS.replace("= 60", "= 6")
}

/// A hub on a server, with a committed working folder and an agent that works in a worktree.
pub(crate) fn hub_fixture(nats: &Nats, settings: &str) -> TaskFixture {
    let fixture = TaskFixture::new();
    fixture.configure(&format!("{settings}\nnats = {:?}", nats.url()), &["fake"]);
    fixture.agent("maker", "isolation: worktree\npermission: workspace-write\n");
    fixture.commit_all();
    fixture
}

pub(crate) fn hub(fixture: &TaskFixture) -> (Serving, Peer) {
    let hub = fixture.hub();
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    (hub, peer)
}

/// A worker in a home of its own; it is killed with this value.
pub(crate) struct WorkerProcess {
    child: Child,
    fixture: TaskFixture,
}

impl WorkerProcess {
    fn start(nats: &Nats, more: &[&str]) -> Self {
        Self::start_in(TaskFixture::new(), nats, more)
    }

    pub(crate) fn start_in(fixture: TaskFixture, nats: &Nats, more: &[&str]) -> Self {
        Self::start_at(fixture, Some(nats.url()), more)
    }

    /// Starts a worker that connects to the server at `url`; `None` for the one that it joined over.
    fn start_at(fixture: TaskFixture, url: Option<&str>, more: &[&str]) -> Self {
        let server: &[&str] = url.map_or(&[], |_| &["--nats"]);
        let arguments = [&["worker", "--runners", "fake"], server, url.as_slice(), more].concat();
        let log = File::options().create(true).append(true).open(fixture.home.path().join("worker.log"));
        let mut command = fixture.adjutant(&arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.unwrap());
        Self { child: command.spawn().unwrap(), fixture }
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.fixture.home.path().join("worker.log")).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

fn delegate(fixture: &TaskFixture, peer: &mut Peer, task: &str) -> String {
    let mut arguments = fixture.task(task);
    arguments["agent"] = json!("maker");
    peer.delegate_in_background(1, arguments)
}

/// Delegates a task, and waits until its agent works. It ends when the returned file is there.
fn running_task(fixture: &TaskFixture, peer: &mut Peer) -> (PathBuf, String) {
    let gate = fixture.folder("gate");
    let task = delegate(fixture, peer, &format!("until-file {}", gate.display()));
    peer.wait_for_activity(3, &task, "working");
    (gate, task)
}

pub(crate) fn ended(peer: &mut Peer, task: &str) -> Value {
    wait_for("the end of the task", || {
        let result = peer.tool(2, "task_wait", json!({"task_id": task, "seconds": 5}));
        let result = result["structuredContent"].clone();
        (result["status"] != "queued" && result["status"] != "running").then_some(result)
    })
}

#[test]
fn a_task_runs_on_a_worker_and_its_commit_comes_back() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, mut peer) = hub(&fixture);
    let task = delegate(&fixture, &mut peer, "touch made.txt");
    let mut worker = WorkerProcess::start(&nats, &["--max-tasks", "2", "--exit-when-idle"]);
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    let repository = &result["run_report"]["repository"];
    assert_eq!(repository["files"][0]["path"], "made.txt", "{result:#}");
    let reference = format!("refs/adjutant/{task}");
    assert_eq!(repository["reference"], json!(reference), "{result:#}");
    assert!(!result["run_report"]["worker"].as_str().unwrap().is_empty(), "{result:#}");
    // The commit is there, on the one that was sent, and nothing of the caller's tree has changed.
    let listed = fixture.git(&["diff", "--name-only", "HEAD", &reference]);
    assert_eq!(listed.trim(), "made.txt");
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    assert!(!fixture.folder("work/made.txt").exists());
    assert_eq!(result["run_report"]["attempts"][0]["runner"], "fake", "{result:#}");
    assert!(wait(&mut worker.child, DEADLINE).success(), "{}", worker.log());
    assert_eq!(std::fs::read_dir(worker.fixture.folder(".adjutant/worker/orders")).unwrap().count(), 0);
}

#[test]
fn a_new_task_is_offered_at_once() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, mut peer) = hub(&fixture);
    let mut tickets = RawNats::connect(nats.url(), None);
    assert_eq!(tickets.subscribe("adj.*.ticket.>"), None);
    let mut offer = || {
        let task = delegate(&fixture, &mut peer, "hang");
        tickets.next(|message| message.subject.ends_with(&task));
    };
    offer();
    let began = Instant::now();
    (0..8).for_each(|_| offer());
    // Offers at an interval of a second would take seven at least.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_cancellation_reaches_the_worker_at_once() {
    let Some(nats) = Nats::start() else { return };
    // A report would bring it only after five seconds.
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start(&nats, &[]);
    let task = delegate(&fixture, &mut peer, "hang");
    peer.wait_for_activity(3, &task, "working");
    peer.tool(4, "task_cancel", json!({"task_id": task}));
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "cancelled", "{result:#}\n{}", worker.log());
    worker.fixture.assert_no_survivors();
}

#[test]
fn a_frozen_worker_is_told_that_its_result_comes_too_late() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, &soon_lost());
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start(&nats, &[]);
    let (gate, task) = running_task(&fixture, &mut peer);
    worker.signal(Signal::STOP);
    let result = ended(&mut peer, &task);
    assert_eq!((&result["status"], &result["failure"]["class"]), (&json!("lost"), &json!("lost")));
    std::fs::write(&gate, "").unwrap();
    worker.signal(Signal::CONT);
    wait_for("the refusal", || worker.log().contains("stale").then_some(()));
    assert_eq!(ended(&mut peer, &task)["status"], "lost");
    // It serves on.
    let next = delegate(&fixture, &mut peer, "touch made.txt");
    assert_eq!(ended(&mut peer, &next)["status"], "succeeded", "{}", worker.log());
}

#[test]
fn a_nats_server_that_loses_everything_loses_no_task() {
    let Some(mut nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start(&nats, &[]);
    let gate = fixture.folder("gate");
    let first = delegate(&fixture, &mut peer, &format!("until-file {}", gate.display()));
    peer.wait_for_activity(3, &first, "working");
    let queued = delegate(&fixture, &mut peer, "touch made.txt");
    nats.lose_everything();
    std::fs::write(&gate, "").unwrap();
    for task in [&first, &queued] {
        let result = ended(&mut peer, task);
        assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
        assert_eq!(result["run_report"]["attempts"].as_array().unwrap().len(), 1, "{result:#}");
    }
}

#[test]
fn a_task_of_a_killed_worker_is_lost_and_runs_again_only_when_asked() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, &soon_lost());
    let (_hub, mut peer) = hub(&fixture);
    let mut killed = WorkerProcess::start(&nats, &[]);
    let (gate, task) = running_task(&fixture, &mut peer);
    killed.kill();
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "lost", "{result:#}");
    let detail = result["failure"]["detail"].as_str().unwrap();
    let end = " has not reported for 6 s; how far the agent came is unknown";
    assert!(detail.ends_with(end) && detail.len() > end.len(), "{result:#}");
    let shown = peer.tool(4, "task_get", json!({"task_id": task}))["content"].to_string();
    assert!(shown.contains(detail) && shown.contains("processes left: unknown"), "{shown}");
    assert!(!shown.contains("the hub that ran it ended"), "{shown}");
    killed.fixture.assert_no_survivors();
    std::fs::write(&gate, "").unwrap();
    let other = WorkerProcess::start(&nats, &[]);
    let again = delegate(&fixture, &mut peer, &format!("until-file {}", gate.display()));
    assert_eq!(ended(&mut peer, &again)["status"], "succeeded", "{}", other.log());
}
