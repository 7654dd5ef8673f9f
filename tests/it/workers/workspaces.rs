//! What travels to a worker: uncommitted changes, ignored files of a list, and only commits that it does not have.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;

use super::{NO_SLOTS, WorkerProcess, delegate, ended, hub, hub_fixture, soon_lost};
use crate::support::nats::{Nats, RawNats};
use crate::support::task_fixture::TaskFixture;
use crate::support::wait_for;

#[test]
fn uncommitted_changes_and_listed_ignored_files_travel_and_stay_as_they_are() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    fixture.home.write("work/.gitignore", ".env\n");
    fixture.home.write("work/.worktreeinclude", ".env\n");
    fixture.home.write("work/.env", "KEY=1\n");
    fixture.home.write("work/README.md", "changed\n");
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start(&nats, &[]);
    let before = fixture.git(&["status", "--porcelain"]);
    let task = delegate(&fixture, &mut peer, "until-file README.md .env .worktreeinclude");
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    // The agent changed nothing, so nothing comes back, and nothing is left here.
    assert_eq!(fixture.git(&["for-each-ref", "refs/adjutant"]), "");
    assert_eq!(fixture.git(&["status", "--porcelain"]), before);

    let task = delegate(&fixture, &mut peer, "touch made.txt");
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    let reference = format!("refs/adjutant/{task}");
    let changed = fixture.git(&["diff", "--name-only", &format!("{reference}^"), &reference]);
    assert_eq!(changed.trim(), "made.txt", "the result has the agent's change alone");
    assert_eq!(fixture.git(&["show", &format!("{reference}:README.md")]), "changed\n");
    assert_eq!(fixture.git(&["ls-tree", "--name-only", &reference, ".env"]), "");
    assert_eq!(fixture.git(&["status", "--porcelain"]), before);
    assert_eq!(
        fixture.git(&["for-each-ref", "--format=%(refname)"]).lines().count(),
        2,
        "the branch and the result"
    );
}

/// Returns how many files below `folder` have this name. A folder that ends meanwhile has none.
fn files_named(name: &str, folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_named(name, &entry.path()),
            _ => usize::from(entry.file_name() == name),
        })
        .sum()
}

#[test]
fn a_worker_writes_each_file_once_and_reports_the_changes_of_the_agent_alone() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    for name in ["work/gone.txt", "work/folder/kept.txt", "work/program", "work/old.txt"] {
        fixture.home.write(name, "text\n");
    }
    fixture.home.write("work/.gitattributes", "*.crlf eol=crlf\n");
    fixture.home.write("work/lines.crlf", "one\r\ntwo\r\n");
    fixture.home.write("work/.worktreeinclude", "local.env\n");
    fixture.home.write("work/.gitignore", "local.env\n");
    fixture.home.write("work/local.env", "KEY=1\n");
    fixture.commit_all();
    let program = fixture.folder("work/program");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::remove_file(fixture.folder("work/gone.txt")).unwrap();
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start(&nats, &[]);
    let gate = fixture.folder("gate");
    // All changes but the last have the length and, on a fast machine, the second of the file that they change.
    let script = format!(
        "test ! -e gone.txt && test -x program && test -e local.env && printf 'one\\r\\ntwo\\r\\n' | cmp - lines.crlf || exit 1
         echo TEXT >folder/kept.txt; chmod -x program; rm old.txt; echo KEY=2 >local.env; echo new >new.txt; echo changed
         while ! test -e {}; do sleep 0.02; done",
        gate.display()
    );
    let script = fixture.home.write("script.sh", script);
    let task = delegate(&fixture, &mut peer, &format!("script {}", script.display()));
    peer.wait_for_activity(3, &task, "changed");
    assert_eq!(files_named("README.md", &worker.fixture.folder(".adjutant/worker")), 1);
    std::fs::write(&gate, "").unwrap();
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    let repository = &result["run_report"]["repository"];
    let files: Vec<_> = repository["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(files, ["folder/kept.txt", "new.txt", "old.txt", "program"], "{result:#}");
    assert_eq!(repository["caller_files"], serde_json::Value::Null, "{result:#}");
    let reference = format!("refs/adjutant/{task}");
    let range = format!("{reference}^");
    let changed = fixture.git(&["diff", "--name-only", &range, &reference]);
    assert_eq!(changed, "folder/kept.txt\nnew.txt\nold.txt\nprogram\n");
}

#[test]
fn a_worker_keeps_no_worktree_of_a_task_that_ended() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, &soon_lost());
    let (_hub, mut peer) = hub(&fixture);
    let place = TaskFixture::new();
    // One more is refused.
    place.configure("max_worktrees = 1", &["fake"]);
    let worker = WorkerProcess::start_in(place, &nats, &[]);
    for number in 1..4 {
        let task = delegate(&fixture, &mut peer, &format!("touch made-{number}.txt"));
        let result = ended(&mut peer, &task);
        assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
        assert!(result["run_report"]["repository"]["reference"].is_string(), "{result:#}");
    }
    // Nobody wants the result of this one.
    let task = delegate(&fixture, &mut peer, "hang");
    peer.wait_for_activity(3, &task, "working");
    worker.signal(Signal::STOP);
    assert_eq!(ended(&mut peer, &task)["status"], "lost");
    worker.signal(Signal::CONT);
    wait_for("the end of the worktree", || {
        let runs = std::fs::read_dir(worker.fixture.folder(".adjutant/worker/spool")).unwrap();
        let left: Vec<_> =
            runs.map(|run| run.unwrap().path().join("tree")).filter(|it| it.exists()).collect();
        left.is_empty().then_some(())
    });
    let task = delegate(&fixture, &mut peer, "touch last.txt");
    let result = ended(&mut peer, &task);
    assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
}

#[test]
fn the_second_task_of_a_repository_ships_no_bundle() {
    assert_second_task_ships_no_bundle(|_, _| {});
}

#[test]
fn a_clean_task_after_a_dirty_one_ships_no_bundle() {
    assert_second_task_ships_no_bundle(|fixture, is_second| {
        let file = fixture.folder("work/uncommitted.txt");
        if is_second { std::fs::remove_file(file).unwrap() } else { std::fs::write(file, "one\n").unwrap() }
    });
}

/// Delegates two tasks, each after `prepare`; the worker has all commits of the second one.
fn assert_second_task_ships_no_bundle(prepare: impl Fn(&TaskFixture, bool)) {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start(&nats, &[]);
    let mut observer = RawNats::connect(nats.url(), None);
    assert_eq!(observer.subscribe("_INBOX.>"), None);
    for is_second in [false, true] {
        prepare(&fixture, is_second);
        let task = delegate(&fixture, &mut peer, "touch made.txt");
        let answer = observer
            .next(|message| ["claimed", "refused"].iter().any(|kind| message.json()["kind"] == *kind));
        assert_eq!(answer.json()["bundle_bytes"] == 0, is_second, "{}", answer.json());
        let result = ended(&mut peer, &task);
        assert_eq!(result["status"], "succeeded", "{result:#}\n{}", worker.log());
    }
}

#[test]
fn a_repository_with_a_submodule_stays_on_the_hub_and_both_logs_name_it() {
    let Some(nats) = Nats::start() else { return };
    let fixture = hub_fixture(&nats, NO_SLOTS);
    fixture.home.write("origin/s.txt", "sub\n");
    fixture.git_in("origin", &["init", "--quiet"]);
    fixture.git_in("origin", &["add", "."]);
    fixture.git_in("origin", &["commit", "--quiet", "-m", "first"]);
    fixture.git(&["submodule", "--quiet", "add", "../origin", "sub"]);
    fixture.git(&["commit", "--quiet", "-m", "sub"]);
    let (_hub, mut peer) = hub(&fixture);
    let worker = WorkerProcess::start(&nats, &[]);
    let task = delegate(&fixture, &mut peer, "touch made.txt");
    wait_for("the refusal", || worker.log().contains("has the submodule `sub`").then_some(()));
    let shown = peer.tool(3, "task_get", json!({"task_id": task}));
    assert_eq!(shown["structuredContent"]["status"], "queued", "{shown:#}");
}
