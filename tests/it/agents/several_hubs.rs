//! Hubs of several machines on one PostgreSQL: homes of their own, one database.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::postgres::Postgres;
use crate::support::serving::Serving;
use crate::support::task_fixture::TaskFixture;
use crate::support::{Home, Peer};

fn hub(fixture: &TaskFixture, database: &str) -> Serving {
    Serving::open_hub_after(fixture.adjutant(&["serve", "--database", database]))
}

fn client(fixture: &TaskFixture) -> Peer {
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    peer
}

fn machine_id(home: &Home) -> String {
    std::fs::read_to_string(home.path().join(".adjutant/machine-id")).unwrap().trim().to_owned()
}

fn shown(home: &Home, task: &str) -> Value {
    serde_json::from_str(&home.run(["tasks", "show", task, "--json"], "").stdout).unwrap()
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
    let mut asker = client(&ann);
    let first = asker.delegate_in_background(1, ann.task(&format!("until-file {}", gate.display())));
    asker.wait_for_activity(2, &first, "working");
    let queued = [3, 4, 5].map(|id| asker.delegate_in_background(id, ann.task("environment")));

    // The other hub claims what it may: its next task, and with eight slots everything else.
    let ran = client(&bob).delegate_and_wait(1, bob.task("where"));
    assert_eq!(ran["message"], bob.folder("work").display().to_string(), "{ran:#}");
    for task in &queued {
        let result = asker.tool(6, "task_get", json!({"task_id": task}))["structuredContent"].clone();
        assert_eq!(result["status"], "queued", "another machine took it: {result:#}");
    }

    std::fs::write(&gate, "").unwrap();
    let home = format!("HOME={}", ann.home.path().display());
    for task in &queued {
        let result = asker.tool(7, "task_wait", json!({"task_id": task}))["structuredContent"].clone();
        assert!(
            result["message"].as_str().is_some_and(|text| text.lines().any(|line| line == home)),
            "{result:#}"
        );
    }

    // Both hubs show the task with its machine, and only its own machine runs it again.
    let machine = shown(&ann.home, &first)["machine"].clone();
    assert_eq!(machine["id"], machine_id(&ann.home), "{machine}");
    assert_eq!(shown(&bob.home, &first)["machine"], machine);
    let refused = bob.home.run(["tasks", "retry", &first], "");
    let reason =
        format!("is on the machine {}, which alone can run it again", machine["name"].as_str().unwrap());
    assert!(!refused.status.success() && refused.stderr.contains(&reason), "{refused}");
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
