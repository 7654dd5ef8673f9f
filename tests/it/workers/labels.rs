//! Tasks that need a worker with a label, and workers of other versions.

use std::process::Command;

use serde_json::{Value, json};

use super::{NO_SLOTS, WorkerProcess, ended, hub, hub_fixture};
use crate::support::nats::{Nats, RawNats, newest, of_debian};
use crate::support::task_fixture::TaskFixture;
use crate::support::{Peer, wait_for};

fn delegate_to(agent: &str, fixture: &TaskFixture, peer: &mut Peer, task: &str) -> String {
    let mut arguments = fixture.task(task);
    arguments["agent"] = json!(agent);
    peer.delegate_in_background(1, arguments)
}

#[test]
fn a_task_with_a_label_runs_on_a_worker_that_has_it_and_nowhere_else() {
    let Some(nats) = Nats::start() else { return };
    // The hub itself has free slots.
    let fixture = hub_fixture(&nats, "[workers]");
    fixture.agent("trainer", "isolation: worktree\npermission: workspace-write\nlabel: gpu\n");
    fixture.agent("wrong", "permission: workspace-write\nlabel: gpu\n");
    let (_hub, mut peer) = hub(&fixture);
    let plain = WorkerProcess::start(&nats, &[]);
    let task = delegate_to("trainer", &fixture, &mut peer, "touch made.txt");
    // A task without the label runs meanwhile, and the one with it waits.
    let other = delegate_to("maker", &fixture, &mut peer, "touch other.txt");
    assert_eq!(ended(&mut peer, &other)["status"], "succeeded");
    let shown = peer.tool(3, "task_get", json!({"task_id": task}));
    assert_eq!(shown["structuredContent"]["status"], "queued", "{shown:#}\n{}", plain.log());
    let reason = "no connected worker runs `fake` and has the label `gpu`";
    assert_eq!(shown["structuredContent"]["waiting_reason"], reason, "{shown:#}");
    assert!(
        shown["content"][0]["text"].as_str().unwrap().contains(&format!(": {reason}. Call ")),
        "{shown:#}"
    );
    let labelled = WorkerProcess::start(&nats, &["--label", "gpu"]);
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", labelled.log());

    let refused = peer.call(
        4,
        "tools/call",
        json!({"name": "delegate_task", "arguments": {
            "agent": "wrong", "task": "ok", "working_directory": fixture.folder("work"),
        }}),
    );
    assert!(refused.to_string().contains("set `isolation: worktree`"), "{refused}");
}

#[test]
fn a_label_without_a_nats_server_is_refused_at_once() {
    let fixture = TaskFixture::new();
    fixture.agent("trainer", "isolation: worktree\nlabel: gpu\n");
    fixture.commit_all();
    let (_hub, mut peer) = hub(&fixture);
    let arguments = json!({"agent": "trainer", "task": "ok", "working_directory": fixture.folder("work")});
    let refused = peer.call(4, "tools/call", json!({"name": "delegate_task", "arguments": arguments}));
    assert!(refused.to_string().contains("this hub has no NATS server"), "{refused}");
}

#[test]
fn a_worker_of_another_version_is_told_what_to_install() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, _peer) = hub(&fixture);
    let mut other = RawNats::connect(nats.url(), None);
    assert_eq!(other.subscribe("_INBOX.>"), None);
    let ask = |other: &mut RawNats, subject: &str, message: Value| {
        let inbox = format!("_INBOX.old.{}", message["version"]);
        wait_for("the reply", || {
            other.publish(subject, &inbox, message.to_string().as_bytes());
            other.arrived().into_iter().find(|message| message.subject == inbox)
        })
    };
    // Its other members are of a version that this one does not know.
    let reply = ask(&mut other, "adj.hello.old", json!({"version": 1, "strange": true})).json();
    assert_eq!(reply["kind"], "other_version", "{reply}");
    assert!(reply["reason"].as_str().unwrap().contains("install the adjutant of the hub on the worker"));
    let id = std::fs::read_to_string(fixture.folder(".adjutant/machine-id")).unwrap();
    let reply = ask(&mut other, &format!("adj.{}.hub.old", id.trim()), json!({"version": 9})).json();
    assert_eq!(reply["kind"], "refused", "{reply}");
    assert!(reply["reason"].as_str().unwrap().contains("install the adjutant of the worker on the hub"));
}

#[test]
fn the_oldest_server_is_served_with_a_warning_and_the_newest_without() {
    for (program, is_old) in [(of_debian(), true), (newest(), false)] {
        let Some(program) = program else { continue };
        let version = Command::new(&program).arg("-v").output().unwrap();
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let nats = Nats::start_with(program, |_| None);
        let fixture = hub_fixture(&nats, NO_SLOTS);
        let (_hub, mut peer) = hub(&fixture);
        let task = delegate_to("maker", &fixture, &mut peer, "touch made.txt");
        let worker = WorkerProcess::start(&nats, &[]);
        let result = ended(&mut peer, &task);
        assert_eq!(result["status"], "succeeded", "{version}\n{result:#}\n{}", worker.log());
        let report: Value = serde_json::from_slice(
            &fixture
                .adjutant(&["doctor", "--json"])
                .current_dir(fixture.home.path())
                .output()
                .unwrap()
                .stdout,
        )
        .unwrap();
        let checks = report["items"].as_array().unwrap();
        let check = checks.iter().find(|check| check["check_id"] == "workers").unwrap();
        assert_eq!(check["status"], "warn", "there are no credentials: {check:#}");
        let warns = check.to_string().contains("may lose its streams when it crashes");
        // Debian may have a newer one by now.
        assert_eq!(warns, is_old && version.contains("v2.9"), "{version}{check:#}");
        assert!(
            check.to_string().contains("1 tasks, ") && check.to_string().contains("connected"),
            "{check:#}"
        );
    }
}
