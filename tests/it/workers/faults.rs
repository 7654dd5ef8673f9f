//! Faults of the network, the NATS server and the hub: every accepted task ends once.

use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use serde_json::json;

use super::{NO_SLOTS, WorkerProcess, delegate, ended, hub, hub_fixture, running_task, soon_lost};
use crate::support::nats::{Nats, Proxy, RawNats, newest};
use crate::support::postgres::Postgres;
use crate::support::task_fixture::TaskFixture;
use crate::support::{DEADLINE, wait, wait_for};

#[test]
fn a_worker_that_is_cut_off_and_comes_back_delivers_its_result() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, mut peer) = hub(&fixture);
    let proxy = Proxy::to(nats.url());
    let worker = WorkerProcess::start_at(TaskFixture::new(), Some(proxy.url()), &[]);
    let (gate, task) = running_task(&fixture, &mut peer);
    proxy.cut();
    std::fs::write(&gate, "").unwrap();
    // The run ends without the hub.
    worker.fixture.assert_no_survivors();
    proxy.mend();
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
}

#[test]
fn a_worker_that_is_cut_off_for_too_long_is_lost_and_its_late_result_refused() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, &soon_lost());
    let (_hub, mut peer) = hub(&fixture);
    let proxy = Proxy::to(nats.url());
    let worker = WorkerProcess::start_at(TaskFixture::new(), Some(proxy.url()), &[]);
    let (gate, task) = running_task(&fixture, &mut peer);
    proxy.cut();
    assert_eq!(ended(&mut peer, &task)["status"], "lost");
    std::fs::write(&gate, "").unwrap();
    proxy.mend();
    wait_for("the refusal", || worker.log().contains("stale").then_some(()));
    assert_eq!(ended(&mut peer, &task)["status"], "lost");
}

#[test]
fn a_worker_that_is_stopped_delivers_how_its_run_ended() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, mut peer) = hub(&fixture);
    let mut worker = WorkerProcess::start(&nats, &[]);
    let (_gate, task) = running_task(&fixture, &mut peer);
    worker.signal(Signal::TERM);
    assert_eq!(wait(&mut worker.child, DEADLINE).code(), Some(0), "{}", worker.log());
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "failed", "{result:#}\n{}", worker.log());
    assert_eq!(result["failure"]["class"], "hub_gone", "{result:#}");
    let detail = "adjutant was stopped while it ran; no process of it is left";
    assert_eq!(result["failure"]["detail"], detail, "{result:#}");
    let left = worker.fixture.folder(".adjutant/worker/orders");
    assert_eq!(std::fs::read_dir(left).map_or(0, Iterator::count), 0, "its files are removed");
}

#[test]
fn a_nats_server_that_is_killed_and_started_again_stops_no_task() {
    let Some(mut nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start(&nats, &[]);
    let gate = fixture.folder("gate");
    let running = delegate(&fixture, &mut peer, &format!("until-file {}", gate.display()));
    peer.wait_for_activity(3, &running, "working");
    nats.stop();
    // Accepted while no server is there.
    let queued = delegate(&fixture, &mut peer, "touch made.txt");
    std::fs::write(&gate, "").unwrap();
    worker.fixture.assert_no_survivors();
    nats.start_again();
    for task in [&running, &queued] {
        let result = ended(&mut peer, task);
        assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    }
}

#[test]
fn a_nats_server_that_is_away_for_longer_than_a_worker_may_be_silent_costs_no_task() {
    let Some(mut nats) = Nats::start() else { return };
    // A worker tries to connect again after four seconds at most.
    let fixture = hub_fixture(&nats, &NO_SLOTS.replace("= 60", "= 8"));
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start(&nats, &[]);
    let (gate, task) = running_task(&fixture, &mut peer);
    nats.stop();
    let waited = peer.tool(4, "task_wait", json!({"task_id": task, "seconds": 11}));
    assert_eq!(waited["structuredContent"]["status"], "running", "{waited:#}");
    nats.start_again();
    std::fs::write(&gate, "").unwrap();
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
}

#[test]
fn a_database_that_is_away_for_longer_than_a_worker_may_be_silent_costs_no_task() {
    let (Some(nats), Some(mut server)) = (Nats::start(), Postgres::start()) else { return };
    let fixture = hub_fixture(&nats, &NO_SLOTS.replace("= 60", "= 8"));
    let file = fixture.folder(".adjutant/config.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, format!("database = {:?}\n{config}", server.url("postgres"))).unwrap();
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start(&nats, &[]);
    let (gate, task) = running_task(&fixture, &mut peer);
    // No report is on its way then, so the next one comes some time after the database.
    worker.signal(Signal::STOP);
    server.stop();
    let away = Instant::now();
    wait_for("the end of the lease", || (away.elapsed() > Duration::from_secs(9)).then_some(()));
    server.start_again();
    let waited = peer.tool(4, "task_wait", json!({"task_id": task, "seconds": 3}));
    assert_eq!(waited["structuredContent"]["status"], "running", "{waited:#}");
    worker.signal(Signal::CONT);
    std::fs::write(&gate, "").unwrap();
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
}

/// A git that stops shows the moment in which the hub takes the commit.
#[test]
fn a_task_with_a_commit_that_the_hub_takes_slowly_is_not_lost() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, &soon_lost());
    let (reached, gate) = fixture.stopping_git("unbundle", ":");
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start(&nats, &[]);
    let task = delegate(&fixture, &mut peer, "touch made.txt");
    wait_for("the bundle of the result", || reached.exists().then_some(()));
    // A worker is lost after six seconds.
    let waited = peer.tool(4, "task_wait", json!({"task_id": task, "seconds": 9}));
    assert_eq!(waited["structuredContent"]["status"], "running", "{waited:#}");
    std::fs::remove_file(gate).unwrap();
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    let reference = format!("refs/adjutant/{task}");
    assert_eq!(result["run_report"]["repository"]["reference"], reference, "{result:#}");
}

/// A git that stops shows the moment in which the hub packs the task.
#[test]
fn a_hub_that_is_killed_while_it_packs_a_task_leaves_no_reference_of_it() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (reached, gate) = fixture.stopping_git("create", ":");
    // An uncommitted change travels in a commit that only the reference keeps.
    std::fs::write(fixture.folder("work/note.txt"), "").unwrap();
    let (mut hub, mut peer) = hub(&fixture);
    let mut worker = WorkerProcess::start(&nats, &[]);
    let references = fixture.folder("work/.git/refs/adjutant/base");
    let packed = |task: &str| {
        wait_for("the bundle of the task", || reached.exists().then_some(()));
        assert!(references.join(task).exists(), "it keeps the commit that is packed");
    };
    let task = delegate(&fixture, &mut peer, "touch made.txt");
    packed(&task);
    worker.kill();
    hub.kill();
    std::fs::remove_file(&gate).unwrap();
    hub = fixture.hub();
    let cancelled = peer.tool(4, "task_cancel", json!({"task_id": task}));
    assert_eq!(ended(&mut peer, &task)["status"], "cancelled", "{cancelled:#}");
    assert!(!references.join(&task).exists(), "the task has ended, and nothing needs its commit");

    // The next hub may have a slot of its own, and runs the task itself.
    std::fs::remove_file(&reached).unwrap();
    std::fs::write(&gate, "").unwrap();
    let mut worker = WorkerProcess::start(&nats, &[]);
    let task = delegate(&fixture, &mut peer, "touch made.txt");
    packed(&task);
    worker.kill();
    hub.kill();
    std::fs::remove_file(&gate).unwrap();
    let file = fixture.folder(".adjutant/config.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, config.replace("fake = 0", "fake = 1")).unwrap();
    let _hub = fixture.hub();
    assert_eq!(ended(&mut peer, &task)["status"], "succeeded");
    assert!(!references.join(&task).exists(), "a task that ran here needs it no more");
}

#[test]
fn a_ticket_that_nats_has_kept_keeps_its_place_in_the_queue() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, mut peer) = hub(&fixture);
    let mut raw = RawNats::connect(nats.url(), None);
    assert_eq!(raw.subscribe("adj.*.ticket.>"), None);
    let kept = delegate(&fixture, &mut peer, "touch made.txt");
    raw.next(|message| message.subject.ends_with(&kept));
    let lost = delegate(&fixture, &mut peer, "touch made.txt");
    let ticket = raw.next(|message| message.subject.ends_with(&lost));
    let of_lost = json!({"filter": ticket.subject}).to_string();
    assert_eq!(raw.publish("$JS.API.STREAM.PURGE.ADJUTANT-TICKETS", "", of_lost.as_bytes()), None);
    // The older task is looked at first, or with the other one.
    assert_eq!(raw.next(|_| true).subject, ticket.subject);
    let worker = WorkerProcess::start(&nats, &[]);
    for task in [&kept, &lost] {
        let result = ended(&mut peer, task);
        assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    }
}

#[test]
fn a_nats_server_whose_disk_is_full_loses_no_task() {
    let Some(program) = newest() else { return };
    // The server stores a message while it has stored less than this.
    let nats = Nats::start_with(program, |data| {
        Some(format!("port: -1\njetstream {{ store_dir: {:?}, max_file_store: 1 }}\n", data.display()))
    });
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, mut peer) = hub(&fixture);
    let mut raw = RawNats::connect(nats.url(), None);
    assert_eq!(raw.subscribe("adj.>"), None);
    let stored = delegate(&fixture, &mut peer, "touch made.txt");
    raw.next(|message| message.subject.ends_with(&stored));
    let rejected = delegate(&fixture, &mut peer, "touch made.txt");
    for _ in 0..2 {
        raw.next(|message| message.subject.ends_with(&rejected));
    }
    let worker = WorkerProcess::start(&nats, &[]);
    for task in [&stored, &rejected] {
        let result = ended(&mut peer, task);
        assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    }
}

#[test]
fn messages_that_come_twice_or_late_change_nothing() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, mut peer) = hub(&fixture);
    let mut raw = RawNats::connect(nats.url(), None);
    assert_eq!(raw.subscribe("adj.*.hub.*"), None);
    let worker = WorkerProcess::start(&nats, &[]);
    let task = delegate(&fixture, &mut peer, "touch made.txt");
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    let report = peer.tool(3, "task_get", json!({"task_id": task}));
    let requests = raw.arrived();
    let kinds: Vec<String> =
        requests.iter().map(|request| request.json()["body"]["kind"].as_str().unwrap().to_owned()).collect();
    assert!(
        kinds.first().is_some_and(|kind| kind == "claim") && kinds.contains(&"finish".to_owned()),
        "{kinds:?}"
    );
    assert_eq!(raw.subscribe("_INBOX.again.*"), None);
    // Each of them again, the last one first.
    for (number, request) in requests.iter().enumerate().rev() {
        let inbox = format!("_INBOX.again.{number}");
        assert_eq!(raw.publish(&request.subject, &inbox, &request.payload), None);
        let reply = raw.next(|message| message.subject == inbox).json();
        match kinds[number].as_str() {
            // The reply to the first one could have been lost.
            "finish" => assert_eq!(reply["kind"], "settled", "{reply}"),
            "progress" => assert_eq!(reply["reply"], "stale", "{reply}"),
            _ => assert_eq!(reply["kind"], "refused", "{reply}"),
        }
    }
    assert_eq!(peer.tool(3, "task_get", json!({"task_id": task})), report);
    assert_eq!(fixture.git(&["for-each-ref", "refs/adjutant"]).lines().count(), 1);
}

#[test]
fn a_hub_that_is_killed_right_after_it_accepted_a_task_offers_it_at_its_next_start() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (mut first, mut peer) = hub(&fixture);
    let task = delegate(&fixture, &mut peer, "touch made.txt");
    first.kill();
    drop(first);
    let worker = WorkerProcess::start(&nats, &[]);
    let (_hub, mut peer) = hub(&fixture);
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    assert_eq!(result["run_report"]["attempts"].as_array().unwrap().len(), 1, "{result:#}");
}

#[test]
fn a_hub_that_is_killed_between_a_result_and_its_commit_gets_the_result_again() {
    // At the first part of the result, at its end, and after the reply to it.
    for moment in ["write", "finish", "settled"] {
        let Some(nats) = Nats::start() else { return };
        let fixture = hub_fixture(&nats, NO_SLOTS);
        let (mut first, mut peer) = hub(&fixture);
        let mut raw = RawNats::connect(nats.url(), None);
        assert_eq!(raw.subscribe("adj.*.hub.*"), None);
        assert_eq!(raw.subscribe("_INBOX.>"), None);
        let worker = WorkerProcess::start(&nats, &[]);
        let task = delegate(&fixture, &mut peer, "touch made.txt");
        raw.next(|message| {
            let message = message.json();
            message["kind"] == moment || message["body"]["kind"] == moment
        });
        first.kill();
        drop(first);
        let (_hub, mut peer) = hub(&fixture);
        let result = ended(&mut peer, &task);
        assert_eq!(result["status"], "succeeded", "{moment}: {result:#}\n{}", worker.log());
        assert_eq!(fixture.git(&["for-each-ref", "refs/adjutant"]).lines().count(), 1, "{moment}");
        let orders = worker.fixture.folder(".adjutant/worker/orders");
        wait_for("the empty outbox", || (std::fs::read_dir(&orders).unwrap().count() == 0).then_some(()));
        assert!(!worker.log().contains("does not count"), "{moment}: {}", worker.log());
    }
}

#[test]
fn a_cancellation_reaches_the_agent_within_a_quarter_of_a_second() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start(&nats, &[]);
    let mut best = Duration::MAX;
    // The machine of the test may be busy, so the best of three counts.
    for _ in 0..3 {
        let signalled = worker.fixture.folder("signalled");
        let _ = std::fs::remove_file(&signalled);
        let task = delegate(&fixture, &mut peer, &format!("note-signal {}", signalled.display()));
        peer.wait_for_activity(3, &task, "working");
        let began = SystemTime::now();
        peer.tool(4, "task_cancel", json!({"task_id": task}));
        assert_eq!(ended(&mut peer, &task)["status"], "cancelled", "{}", worker.log());
        let noted = signalled.metadata().unwrap().modified().unwrap();
        best = best.min(noted.duration_since(began).unwrap_or_default());
    }
    assert!(best < Duration::from_millis(250), "{best:?}\n{}", worker.log());
}

#[test]
fn a_claimed_task_whose_runner_the_worker_does_not_have_fails_at_once() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let settings = NO_SLOTS.replace("fake = 0", "fake = 0, other = 0");
    fixture.configure(&format!("{settings}\nnats = {:?}", nats.url()), &["other", "fake"]);
    fixture.agent("pinned", "isolation: worktree\npermission: workspace-write\nrunner: fake\n");
    let (_hub, mut peer) = hub(&fixture);
    let mut raw = RawNats::connect(nats.url(), None);
    assert_eq!(raw.subscribe("adj.*.ticket.>"), None);
    let task = delegate(&fixture, &mut peer, "touch made.txt");
    let ticket = raw.next(|message| message.subject.ends_with(&task));
    assert!(ticket.subject.contains(".other."), "{}", ticket.subject);
    let worker = WorkerProcess::start(&nats, &[]);
    // The queue of a runner is made with the first task of it.
    let mut arguments = fixture.task("touch made.txt");
    arguments["agent"] = json!("pinned");
    let pinned = peer.delegate_in_background(1, arguments);
    assert_eq!(ended(&mut peer, &pinned)["status"], "succeeded", "{}", worker.log());
    let subject = ticket.subject.replace(".other.", ".fake.");
    assert_eq!(raw.publish(&subject, "", &ticket.payload), None);
    let result = ended(&mut peer, &task);
    assert_eq!(result["failure"]["class"], "not_installed", "{result:#}\n{}", worker.log());
}

/// The hub's git needs longer for a bundle than a short command of git gets, and longer than a worker waits for an answer.
#[test]
fn a_bundle_that_takes_long_is_made_once_and_its_task_runs() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (made, path) = (fixture.folder("made"), std::env::var("PATH").unwrap());
    fixture.program(
        "git",
        &format!(
            "#!/bin/sh\ncase \"$*\" in *'bundle create'*) sleep 21; echo made >>'{}' ;; esac\nPATH='{path}' exec git \"$@\"\n",
            made.display(),
        ),
    );
    let (_hub, mut peer) = hub(&fixture);
    let mut raw = RawNats::connect(nats.url(), None);
    for subject in ["adj.*.hub.*", "_INBOX.>"] {
        assert_eq!(raw.subscribe(subject), None);
    }
    let worker = WorkerProcess::start(&nats, &[]);
    let task = delegate(&fixture, &mut peer, "touch made.txt");
    let claim = raw.next(|message| message.json()["body"]["kind"] == "claim");
    raw.next(|message| message.json()["kind"] == "packing");
    wait_for("the bundle", || made.exists().then_some(()));
    let claimed = raw.next(|message| message.json()["kind"] == "claimed").json();
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    let attempts = result["run_report"]["attempts"].as_array().unwrap();
    assert_eq!((attempts.len(), &claimed["fence"]), (1, &json!(claim.json()["fence"].as_i64().unwrap() + 1)));
    assert_eq!(std::fs::read_to_string(&made).unwrap(), "made\n");
}
