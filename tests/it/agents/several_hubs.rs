//! Hubs of several machines on one PostgreSQL: homes of their own, one database.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::postgres::Postgres;
use crate::support::serving::Serving;
use crate::support::task_fixture::TaskFixture;
use crate::support::{Finished, Home, wait_for};

/// A hub of the fixture's home, with this database in its configuration.
fn hub(fixture: &TaskFixture, database: &str) -> Serving {
    let file = fixture.folder(".adjutant/config.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, format!("database = {database:?}\n{config}")).unwrap();
    fixture.hub()
}

/// Delegates as the user, because a test that connects a client counts as an agent.
fn delegate(fixture: &TaskFixture, task: &str, more: &[&str]) -> Finished {
    let work = fixture.folder("work");
    let arguments = ["delegate", "reviewer", task, "--workdir", work.to_str().unwrap()];
    let finished = fixture.home.run([&arguments, more].concat(), "");
    assert!(finished.status.success(), "{finished}");
    finished
}

fn queue(fixture: &TaskFixture, task: &str) -> String {
    delegate(fixture, task, &["--background"]).stdout.trim().to_owned()
}

fn machine_id(home: &Home) -> String {
    std::fs::read_to_string(home.path().join(".adjutant/machine-id")).unwrap().trim().to_owned()
}

fn shown(home: &Home, task: &str) -> Value {
    let output = home.run(["tasks", "show", task, "--json"], "");
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"))
}

#[test]
fn a_task_runs_on_the_machine_that_has_its_folder() {
    let Some(server) = Postgres::start() else { return };
    let database = server.url("postgres");
    let [ann, bob] = [TaskFixture::new(), TaskFixture::new()];
    // One run at once, so that tasks of this machine wait while the other one is idle.
    ann.configure("max_running = 1", &["fake"]);
    let _hubs = [hub(&ann, &database), hub(&bob, &database)];
    let gate = ann.folder("gate");
    let first = queue(&ann, &format!("until-file {}", gate.display()));
    wait_for("the first run", || (shown(&ann.home, &first)["status"] == "running").then_some(()));
    let queued = [(); 3].map(|()| queue(&ann, "environment"));

    // The other hub claims what it may: its next task, and with eight slots everything else.
    let ran = delegate(&bob, "where", &[]);
    assert_eq!(ran.stdout.trim(), bob.folder("work").to_str().unwrap(), "{ran}");
    for task in &queued {
        let task = shown(&ann.home, task);
        assert_eq!(task["status"], "queued", "another machine took it: {task:#}");
        assert_eq!(task.get("waiting_reason"), None, "it waits for its turn: {task:#}");
    }
    // The hub of the machine records it every 30 seconds; here it ended long ago.
    let ended = ["-q", "-c", "UPDATE machines SET seen_at = 0", &database];
    assert!(Command::new("psql").args(ended).status().unwrap().success());
    let waiting = shown(&bob.home, &queued[0]);
    let reason = waiting["waiting_reason"].as_str().unwrap_or_default();
    assert!(reason.ends_with("on which no hub runs now"), "{waiting:#}");
    let text = bob.home.run(["tasks", "show", &queued[0]], "").stdout;
    assert!(text.contains(&format!("waits     {reason}\n")), "{text}");

    std::fs::write(&gate, "").unwrap();
    let home = format!("HOME={}", ann.home.path().display());
    for task in &queued {
        let result = ann.home.run(["tasks", "wait", task], "");
        assert!(result.status.success() && result.stdout.contains(&home), "{result}");
    }

    // Both hubs show the task with its machine, and only its own machine runs it again.
    let machine = shown(&ann.home, &first)["machine"].clone();
    assert_eq!(machine["id"], machine_id(&ann.home), "{machine}");
    assert_eq!(shown(&bob.home, &first)["machine"]["id"], machine["id"]);
    let refused = bob.home.run(["tasks", "retry", &first], "");
    assert!(
        !refused.status.success() && refused.stderr.contains("which alone can run it again"),
        "{refused}"
    );
    let report = bob.home.run(["doctor", "--json"], "").stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let checks = report["items"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check_id"] == "machines").unwrap();
    assert_eq!(check["status"], "ok", "{check}");
    for home in [&ann.home, &bob.home] {
        assert!(check["detail"].as_str().unwrap().contains(&machine_id(home)), "{check}");
    }
}

#[test]
fn a_delegation_goes_on_while_the_database_is_away_for_longer_than_a_call_to_it_waits() {
    let Some(mut server) = Postgres::start() else { return };
    let ann = TaskFixture::new();
    let _hub = hub(&ann, &server.url("postgres"));
    let gate = ann.folder("gate");
    let (work, task) = (ann.folder("work"), format!("until-file {}", gate.display()));
    let mut script = ann.home.adjutant(["delegate", "reviewer", &task, "--workdir", work.to_str().unwrap()]);
    let script = script.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the run", || {
        let listed = ann.home.run(["tasks", "list"], "");
        listed.stdout.contains("running").then_some(())
    });
    server.stop();
    let listed = ann.home.run(["tasks", "list"], "");
    assert!(!listed.status.success(), "the database is away for longer than a call waits");
    std::fs::write(&gate, "").unwrap();
    server.start_again();
    let output = script.wait_with_output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
}

#[test]
fn a_home_keeps_the_id_of_its_machine() {
    let home = Home::new();
    Serving::hub(&home).stop();
    let (id, file) = (machine_id(&home), home.path().join(".adjutant/machine-id"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    Serving::hub(&home).stop();
    assert_eq!(machine_id(&home), id, "the next hub is on the same machine");
    let other = Home::new();
    Serving::hub(&other).stop();
    assert_ne!(machine_id(&other), id, "two homes are two machines");

    std::fs::write(&file, "ann's laptop\n").unwrap();
    let refused = home.run(["serve", "--http", "127.0.0.1:0"], "");
    assert!(!refused.status.success() && refused.stderr.contains("holds no machine id"), "{refused}");
}
