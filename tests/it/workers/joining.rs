//! Workers with credentials of their own: codes, permissions, renewal, revocation, and the list of workers.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{NO_SLOTS, WorkerProcess, hub_fixture};
use crate::support::nats::{Nats, RawNats, newest, of_debian};
use crate::support::task_fixture::TaskFixture;
use crate::support::{DEADLINE, Finished, wait, wait_for};

/// A server that lets only the hub of `fixture` and its workers in, and the hub configured for it.
pub(super) fn guarded(
    fixture: &TaskFixture,
    program: Option<std::path::PathBuf>,
    settings: &str,
) -> Option<Nats> {
    let nats = Nats::start_with(program?, |data| {
        let data = data.to_str().unwrap();
        let arguments = ["worker", "nats-config", "--listen", "127.0.0.1:-1", "--store-dir", data];
        let printed = fixture.home.run(arguments, "");
        assert!(printed.status.success(), "{printed}");
        // It is the same each time, because servers have it.
        assert_eq!(
            json_of(fixture, &arguments)["configuration"].as_str().unwrap(),
            printed.stdout.trim_end_matches('\n').to_owned() + "\n"
        );
        Some(printed.stdout)
    });
    fixture.configure(&format!("{settings}\nnats = {:?}", nats.url()), &["fake"]);
    fixture.agent("maker", "isolation: worktree\npermission: workspace-write\n");
    fixture.commit_all();
    Some(nats)
}

pub(super) fn json_of(fixture: &TaskFixture, arguments: &[&str]) -> Value {
    let done = fixture.home.run(arguments.iter().chain(&["--json"]), "");
    assert!(done.status.success(), "{arguments:?}: {done}");
    serde_json::from_str(&done.stdout).unwrap()
}

fn invite(fixture: &TaskFixture, more: &[&str]) -> String {
    let invited = json_of(fixture, &[&["worker", "invite"], more].concat());
    invited["code"].as_str().unwrap().to_owned()
}

fn join(code: &str) -> (TaskFixture, Finished) {
    let fixture = TaskFixture::new();
    let joined = fixture.home.run(["worker", "join", code, "--json"], "");
    (fixture, joined)
}

pub(super) fn joined(fixture: &TaskFixture, more: &[&str]) -> TaskFixture {
    let (worker, joined) = join(&invite(fixture, more));
    assert!(joined.status.success(), "{joined}");
    worker
}

fn credentials(worker: &TaskFixture) -> Value {
    let file = worker.folder(".adjutant/worker/credentials.json");
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

fn key_of(worker: &TaskFixture) -> String {
    let key = nkeys::KeyPair::from_seed(credentials(worker)["seed"].as_str().unwrap()).unwrap();
    key.public_key()
}

fn listed(fixture: &TaskFixture) -> Vec<Value> {
    json_of(fixture, &["workers", "list"])["items"].as_array().unwrap().clone()
}

/// Delegates as the user does: agents may not invite workers, and a client of the test would make it an agent.
pub(super) fn delegate(fixture: &TaskFixture, task: &str) -> String {
    let work = fixture.folder("work");
    let line = ["delegate", "maker", task, "--background", "--workdir", work.to_str().unwrap()];
    json_of(fixture, &line)["id"].as_str().unwrap().to_owned()
}

pub(super) fn shown(fixture: &TaskFixture, task: &str) -> Value {
    json_of(fixture, &["tasks", "show", task])
}

pub(super) fn ended(fixture: &TaskFixture, task: &str) -> Value {
    wait_for("the end of the task", || {
        let task = shown(fixture, task);
        (task["status"] != "queued" && task["status"] != "running").then_some(task)
    })
}

/// Waits until the only worker of a hub has this state.
fn wait_for_state(fixture: &TaskFixture, state: &str) -> Value {
    wait_for(state, || listed(fixture).into_iter().find(|worker| worker["state"] == state))
}

#[test]
fn a_worker_joins_with_a_code_once_is_listed_and_revoked() {
    for program in [newest(), of_debian()] {
        let fixture = TaskFixture::new();
        let Some(nats) = guarded(&fixture, program, NO_SLOTS) else { continue };
        let _hub = fixture.hub();
        let code = invite(&fixture, &["--label", "gpu"]);
        let (home, first) = join(&code);
        assert!(first.status.success(), "{first}");
        let file = home.folder(".adjutant/worker/credentials.json");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let (_other, second) = join(&code);
        assert!(!second.status.success() && second.stderr.contains("has expired or was used"), "{second}");

        let mut worker = WorkerProcess::start_at(home, None, &[]);
        let task = delegate(&fixture, "touch made.txt");
        let result = ended(&fixture, &task);
        assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
        let row = wait_for_state(&fixture, "connected");
        assert_eq!((&row["labels"], &row["runners"]), (&json!(["gpu"]), &json!(["fake"])), "{row:#}");
        assert_eq!(
            (&row["version"], &row["tasks"]),
            (&json!(env!("CARGO_PKG_VERSION")), &json!([])),
            "{row:#}"
        );
        assert!(row["expires_at"].is_string(), "{row:#}");
        assert_eq!(result["outcome"]["run_report"]["worker"], row["name"]);
        let text = fixture.home.run(["tasks", "show", &task], "");
        let line = format!("on {}; its commit: refs/adjutant/{task}", row["name"].as_str().unwrap());
        assert!(text.stdout.contains(&line), "{text}");

        // Without credentials nobody gets in.
        let open = WorkerProcess::start(&nats, &["--exit-when-idle"]);
        wait_for("the refusal", || {
            open.log().to_lowercase().contains("authorization violation").then_some(())
        });

        let held = delegate(&fixture, &format!("until-file {}", fixture.folder("gate").display()));
        wait_for("the run", || {
            let events = fixture.home.run(["tasks", "logs", &held], "").stdout;
            events.contains("working").then_some(())
        });
        let revoked = json_of(&fixture, &["workers", "revoke", row["name"].as_str().unwrap()]);
        assert_eq!(revoked["revoked"], true);
        // Nobody waits for a worker that no hub answers.
        let lost = ended(&fixture, &held);
        assert_eq!(lost["status"], "lost", "{lost:#}");
        let detail = lost["outcome"]["failure"]["detail"].as_str().unwrap_or_default();
        assert!(detail.ends_with(" is revoked; how far the agent came is unknown"), "{lost:#}");
        // The code with which systemd does not start it again.
        assert_eq!(wait(&mut worker.child, DEADLINE).code(), Some(2));
        assert!(worker.log().contains("revoked this worker"), "{}", worker.log());
        assert_eq!(listed(&fixture)[0]["state"], "revoked");
    }
}

#[test]
fn a_worker_can_neither_read_what_is_for_another_nor_speak_for_anybody_else() {
    let fixture = TaskFixture::new();
    let Some(nats) = guarded(&fixture, newest(), NO_SLOTS) else { return };
    let _hub = fixture.hub();
    let [ann, bob] = [(); 2].map(|()| joined(&fixture, &[]));
    let (bob_id, hub_id) = {
        let rows = listed(&fixture);
        assert_eq!(rows.len(), 2);
        let id = std::fs::read_to_string(fixture.folder(".adjutant/machine-id")).unwrap();
        (key_of(&bob), id.trim().to_owned())
    };
    let mut raw = RawNats::connect(nats.url(), Some(&credentials(&ann)));
    for subject in [
        ">".to_owned(),
        "adj.>".to_owned(),
        "_INBOX.>".to_owned(),
        format!("_INBOX.{bob_id}.>"),
        format!("adj.{hub_id}.hub.*"),
        format!("adj.*.cancel.{bob_id}.*"),
        format!("adj.{hub_id}.ticket.>"),
        "$JS.>".to_owned(),
    ] {
        assert!(raw.subscribe(&subject).is_some(), "{subject}");
    }
    for subject in [
        format!("adj.{hub_id}.hub.{bob_id}"),
        format!("adj.hello.{bob_id}"),
        format!("adj.{hub_id}.ticket.fake._.x"),
        format!("adj.{hub_id}.cancel.{bob_id}.x"),
        format!("_INBOX.{bob_id}.x"),
        "adj.hubs.questions".to_owned(),
        "$JS.API.STREAM.DELETE.ADJUTANT-TICKETS".to_owned(),
        "$JS.API.STREAM.MSG.GET.ADJUTANT-TICKETS".to_owned(),
        "$JS.API.STREAM.INFO.ADJUTANT-TICKETS".to_owned(),
    ] {
        assert!(raw.publish(&subject, "", b"{}").is_some(), "{subject}");
    }

    // A reply that is not for its own inbox is not given: Ann could have the hub speak to Bob.
    let task = delegate(&fixture, "touch made.txt");
    let claim = json!({
        "version": 2, "task": task, "attempt": 1, "fence": 0, "body": {"kind": "claim", "commits": []},
    });
    let claim = claim.to_string();
    let ann_id = key_of(&ann);
    let own = format!("adj.{hub_id}.hub.{ann_id}");
    assert_eq!(raw.publish(&own, &format!("_INBOX.{bob_id}.x"), claim.as_bytes()), None);
    // In its own name it may claim, so the request before was not carried out.
    assert_eq!(raw.subscribe(&format!("_INBOX.{ann_id}.>")), None);
    assert_eq!(raw.publish(&own, &format!("_INBOX.{ann_id}.x"), claim.as_bytes()), None);
    let reply = raw.next(|_| true).json();
    assert_eq!(reply["kind"], "claimed", "{reply}");
    // And Bob cannot read it, although he knows its fence.
    let mut other = RawNats::connect(nats.url(), Some(&credentials(&bob)));
    assert_eq!(other.subscribe(&format!("_INBOX.{bob_id}.>")), None);
    let read = json!({
        "version": 2, "task": task, "attempt": 1, "fence": reply["fence"],
        "body": {"kind": "read", "file": "order", "offset": 0},
    });
    let (subject, inbox) = (format!("adj.{hub_id}.hub.{bob_id}"), format!("_INBOX.{bob_id}.x"));
    assert_eq!(other.publish(&subject, &inbox, read.to_string().as_bytes()), None);
    let reply = other.next(|_| true).json();
    assert_eq!(reply["kind"], "refused", "{reply}");
}

#[test]
fn a_code_ends_and_credentials_are_renewed_before_they_end() {
    let fixture = TaskFixture::new();
    let settings = format!("{NO_SLOTS}\ncredentials_lifetime_seconds = 12");
    let Some(_nats) = guarded(&fixture, newest(), &settings) else { return };
    let _hub = fixture.hub();
    let code = invite(&fixture, &["--expires", "1s"]);
    let made = Instant::now();
    let home = joined(&fixture, &[]);
    let first = credentials(&home);
    let worker = WorkerProcess::start_at(home, None, &[]);
    wait_for("the end of the code", || (made.elapsed() > Duration::from_millis(1100)).then_some(()));
    let (_late, refused) = join(&code);
    assert!(!refused.status.success() && refused.stderr.contains("has expired or was used"), "{refused}");
    let end = first["expires_at"].as_i64().unwrap();
    wait_for("the renewal", || {
        (credentials(&worker.fixture)["expires_at"].as_i64().unwrap() > end).then_some(())
    });
    // The server ends the connection of the first token, and the worker comes back with the next one.
    wait_for("the end of the first token", || (made.elapsed() > Duration::from_secs(14)).then_some(()));
    let task = delegate(&fixture, "touch made.txt");
    assert_eq!(ended(&fixture, &task)["status"], "succeeded", "{}", worker.log());
}

#[test]
fn a_draining_worker_ends_its_task_and_claims_no_other_until_it_is_resumed() {
    let fixture = TaskFixture::new();
    let Some(_nats) = guarded(&fixture, newest(), NO_SLOTS) else { return };
    let _hub = fixture.hub();
    let mut worker = WorkerProcess::start_at(joined(&fixture, &[]), None, &[]);
    let gate = fixture.folder("gate");
    let running = delegate(&fixture, &format!("until-file {}", gate.display()));
    let row = wait_for("the running task", || {
        listed(&fixture).into_iter().find(|worker| worker["tasks"][0]["task_id"] == json!(running))
    });
    let name = row["name"].as_str().unwrap();
    assert_eq!(json_of(&fixture, &["workers", "drain", name])["draining"], true);
    let queued = delegate(&fixture, "touch made.txt");
    wait_for_state(&fixture, "draining");
    std::fs::write(&gate, "").unwrap();
    assert_eq!(ended(&fixture, &running)["status"], "succeeded", "{}", worker.log());
    assert!(wait(&mut worker.child, DEADLINE).success(), "{}", worker.log());
    assert_eq!(shown(&fixture, &queued)["status"], "queued");

    assert_eq!(json_of(&fixture, &["workers", "resume", name])["draining"], false);
    let home = std::mem::replace(&mut worker.fixture, TaskFixture::new());
    let worker = WorkerProcess::start_at(home, None, &[]);
    assert_eq!(ended(&fixture, &queued)["status"], "succeeded", "{}", worker.log());
}

#[test]
fn the_page_shows_workers_with_their_labels() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let hub = fixture.hub();
    let _worker = WorkerProcess::start(&nats, &["--label", "gpu"]);
    wait_for("the worker", || {
        let page = hub.page("/settings/workers");
        (page.contains("state connected") && page.contains(">gpu<") && page.contains("no credentials"))
            .then_some(())
    });
}

#[test]
fn a_wrong_code_and_a_worker_without_a_hub_are_told_what_to_do() {
    let fixture = TaskFixture::new();
    let wrong = fixture.home.run(["worker", "join", "adjw1_x"], "");
    assert_eq!(wrong.status.code(), Some(2), "{wrong}");
    assert!(wrong.stderr.contains("copy the whole word"), "{wrong}");
    let alone = fixture.home.run(["worker", "--runners", "fake"], "");
    assert_eq!(alone.status.code(), Some(2), "{alone}");
    assert!(alone.stderr.contains("adjutant worker join CODE"), "{alone}");
    let unknown =
        fixture.home.run(["worker", "--runners", "fake,absent", "--nats", "nats://127.0.0.1:1"], "");
    assert_eq!(unknown.status.code(), Some(2), "{unknown}");
    assert!(unknown.stderr.contains("runner `absent` is not configured here"), "{unknown}");
    assert!(unknown.stderr.contains("copy its [[runners]] entry from the hub's config.toml"), "{unknown}");
    let uninvited = fixture.home.run(["worker", "invite", "--nats", "nats://127.0.0.1:1"], "");
    assert!(uninvited.stderr.contains("adjutant worker nats-config"), "{uninvited}");
    let unknown = fixture.home.run(["workers", "revoke", "nobody"], "");
    assert!(unknown.stderr.contains("no worker is named `nobody`"), "{unknown}");
}

#[test]
fn a_join_that_fails_leaves_the_credentials_as_they_are() {
    let fixture = TaskFixture::new();
    let Some(_nats) = guarded(&fixture, newest(), NO_SLOTS) else { return };
    let _hub = fixture.hub();
    let code = invite(&fixture, &[]);
    let (home, first) = join(&code);
    assert!(first.status.success(), "{first}");
    let before = credentials(&home);
    // The code is used by the first key, and a new one asks with it.
    let again = home.home.run(["worker", "join", &code], "");
    assert!(!again.status.success() && again.stderr.contains("has expired or was used"), "{again}");
    assert_eq!(credentials(&home), before);
    let worker = WorkerProcess::start_at(home, None, &[]);
    let task = delegate(&fixture, "touch made.txt");
    assert_eq!(ended(&fixture, &task)["status"], "succeeded", "{}", worker.log());
}

#[test]
fn a_second_worker_of_a_home_and_a_join_name_the_worker_that_runs() {
    let fixture = TaskFixture::new();
    let Some(_nats) = guarded(&fixture, newest(), NO_SLOTS) else { return };
    let _hub = fixture.hub();
    let code = invite(&fixture, &[]);
    let worker = WorkerProcess::start_at(joined(&fixture, &[]), None, &[]);
    wait_for_state(&fixture, "connected");
    let pid = worker.child.id();
    for arguments in [&["worker", "--runners", "fake"][..], &["worker", "join", &code]] {
        let second = worker.fixture.home.run(arguments, "");
        let expected = format!("a worker runs for this home (pid {pid})");
        assert!(!second.status.success() && second.stderr.contains(&expected), "{second}");
        assert!(second.stderr.contains(&format!("kill {pid}")), "{second}");
    }
}

#[test]
fn doctor_says_what_to_copy_to_a_hub_that_the_server_does_not_know() {
    let fixture = TaskFixture::new();
    let Some(nats) = guarded(&fixture, newest(), NO_SLOTS) else { return };
    let other = TaskFixture::new();
    other.configure(&format!("[workers]\nnats = {:?}", nats.url()), &["fake"]);
    let check = || {
        let done = other.home.run(["doctor", "--json"], "");
        let report: Value = serde_json::from_str(&done.stdout).unwrap();
        let checks = report["items"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["check_id"] == "workers").unwrap().to_string()
    };
    let remedy = "copy workers-account.json from the hub that made nats.conf";
    assert!(check().contains(remedy), "{}", check());
    // With an account of its own, too.
    assert!(other.home.run(["worker", "nats-config"], "").status.success());
    assert!(check().contains(remedy), "{}", check());
}

#[test]
fn a_worker_that_joins_again_replaces_its_entry() {
    let fixture = TaskFixture::new();
    let Some(_nats) = guarded(&fixture, newest(), NO_SLOTS) else { return };
    let _hub = fixture.hub();
    let _other = joined(&fixture, &[]);
    let home = joined(&fixture, &[]);
    let join_again = || {
        let old = key_of(&home);
        let again = home.home.run(["worker", "join", &invite(&fixture, &[])], "");
        assert!(again.status.success(), "{again}");
        let ids: Vec<String> =
            listed(&fixture).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        assert!(ids.len() == 2 && ids.contains(&key_of(&home)) && !ids.contains(&old), "{ids:?}");
    };
    join_again();
    json_of(&fixture, &["workers", "revoke", &key_of(&home)]);
    join_again();
    assert!(listed(&fixture).iter().all(|row| row["state"] != "revoked"));
}
