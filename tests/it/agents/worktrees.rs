//! Worktrees of tasks: begun again after a kill, filled, bounded, removed.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::Peer;
use crate::support::process_table::eventually;
use crate::support::task_fixture::TaskFixture;

fn peer(fixture: &TaskFixture) -> Peer {
    let mut peer = fixture.connect_with_runner("fake");
    peer.initialize("2025-11-25");
    peer
}

fn in_worktree(fixture: &TaskFixture, task: &str) -> Value {
    let mut task = fixture.task(task);
    task["isolation"] = json!("worktree");
    task
}

/// The repository has no other worktree than its own, and no file about one.
fn no_worktree_is_left(fixture: &TaskFixture) {
    assert_eq!(fixture.git(&["worktree", "list"]).lines().count(), 1);
    assert!(!fixture.folder("work/.git/worktrees").exists(), "an entry was left behind");
}

/// A git that stops at the first checkout shows the moment between the entry and the files.
#[test]
fn a_hub_that_was_killed_while_it_made_a_worktree_makes_it_again() {
    let fixture = TaskFixture::new();
    fixture.commit_all();
    let (reached, gate) = fixture.stopping_git("read-tree", ":");
    let mut hub = fixture.hub();
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    let task = peer.delegate_in_background(1, in_worktree(&fixture, "touch made.txt"));
    eventually("the checkout", || if reached.exists() { Ok(()) } else { Err("not begun") });
    hub.kill();
    assert!(fixture.folder(&format!("work/.git/worktrees/adjutant-{task}/locked")).exists());
    std::fs::remove_file(gate).unwrap();
    let _next = fixture.hub();
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    let result = peer.tool(1, "task_wait", json!({"task_id": task}))["structuredContent"].clone();
    assert_eq!(result["status"], "succeeded", "{result:#}");
    let files = json!([{"path": "made.txt", "insertions": 1, "deletions": 0}]);
    assert_eq!(result["run_report"]["repository"]["files"], files, "{result:#}");
    no_worktree_is_left(&fixture);
}

/// The state of the task is lost, so the next hub cannot make a patch.
#[test]
fn a_worktree_of_a_killed_hub_is_kept_and_named_where_its_changes_are_not_known() {
    let fixture = TaskFixture::new();
    fixture.commit_all();
    fixture.agent("keeper", "permission: workspace-write\non_hub_exit: keep\n");
    let gate = fixture.folder("gate");
    let mut hub = fixture.hub();
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    let mut task = in_worktree(&fixture, &format!("until-file {}", gate.display()));
    task["agent"] = json!("keeper");
    let task = peer.delegate_in_background(1, task);
    peer.wait_for_activity(2, &task, "working");
    hub.kill();
    let spool = format!(".adjutant/spool/{task}");
    fixture.home.write(&format!("{spool}/tree/made.txt"), "made\n");
    fixture.home.write(&format!("{spool}/run-state.json"), "");
    std::fs::write(&gate, "").unwrap();
    let _next = fixture.hub();
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    let result = peer.tool(1, "task_wait", json!({"task_id": task}))["structuredContent"].clone();
    assert_eq!((&result["status"], &result["message"]), (&json!("succeeded"), &json!("working\nresult")));
    let report = &result["run_report"];
    assert_eq!(
        report["files_unknown"], "the hub that began the run ended, and its record of the files is lost",
        "{result:#}"
    );
    let tree = fixture.folder(&format!("{spool}/tree"));
    assert_eq!(report["repository"]["kept"], json!(tree), "{result:#}");
    assert!(tree.join("made.txt").exists());
    assert!(!fixture.folder(&format!("work/.git/worktrees/adjutant-{task}/locked")).exists());
}

#[test]
fn a_worktree_of_a_killed_hub_is_removed_where_the_next_one_cannot_make_it_again() {
    let fixture = TaskFixture::new();
    fixture.commit_all();
    let (reached, gate) = fixture.stopping_git("read-tree", "exit 1");
    let mut hub = fixture.hub();
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    let task = peer.delegate_in_background(1, in_worktree(&fixture, "ok"));
    eventually("the checkout", || if reached.exists() { Ok(()) } else { Err("not begun") });
    hub.kill();
    std::fs::remove_file(gate).unwrap();
    fixture.configure("max_worktrees = 0", &["fake"]);
    let _next = fixture.hub();
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    let result = peer.tool(1, "task_wait", json!({"task_id": task}))["structuredContent"].clone();
    assert_eq!(result["failure"]["class"], "refused", "{result:#}");
    no_worktree_is_left(&fixture);
    assert!(!fixture.folder(&format!(".adjutant/spool/{task}/tree")).exists());
}

#[test]
fn a_worktree_that_the_agent_removed_or_locked_is_pruned() {
    let fixture = TaskFixture::new();
    fixture.home.write("work/folder/f.txt", "f\n");
    fixture.commit_all();
    let mut peer = peer(&fixture);
    for (id, script) in [
        (1, "rm -rf \"$PWD\""),
        (2, "chmod 0500 folder; echo x >/dev/null"),
        (3, "mv ../tree ../moved; exit 1"),
        (4, "entry=$(git rev-parse --git-dir); rm -rf \"$entry\"; echo x >\"$entry\""),
    ] {
        let script = fixture.home.write("script.sh", script);
        let result =
            peer.delegate_and_wait(id, in_worktree(&fixture, &format!("script {}", script.display())));
        assert!(result["run_report"]["repository"]["kept"].is_null(), "{result:#}");
        no_worktree_is_left(&fixture);
    }
}

/// Only an administrator can make a file that cannot be removed.
#[test]
fn a_worktree_that_cannot_be_removed_is_named() {
    let fixture = TaskFixture::new();
    fixture.commit_all();
    let mut peer = peer(&fixture);
    let script = fixture.home.write("script.sh", "chattr +i README.md 2>/dev/null && echo held");
    let result = peer.delegate_and_wait(1, in_worktree(&fixture, &format!("script {}", script.display())));
    if result["message"] != "held\nresult" {
        return;
    }
    let kept = result["run_report"]["repository"]["kept"].as_str().unwrap_or_else(|| panic!("{result:#}"));
    let file = std::path::Path::new(kept).join("README.md");
    assert!(std::process::Command::new("chattr").arg("-i").arg(file).status().unwrap().success());
    let locked = format!("work/.git/worktrees/adjutant-{}/locked", result["task_id"].as_str().unwrap());
    assert!(!fixture.folder(&locked).exists());
}

/// As on a full disk: git has no place for its files.
#[test]
fn a_worktree_that_cannot_be_looked_at_is_removed() {
    let fixture = TaskFixture::new();
    fixture.agent("reviewer", "setup:\n  - 'rm -rf \"$PWD/../git\"; echo x >\"$PWD/../git\"'\n");
    fixture.commit_all();
    let mut peer = peer(&fixture);
    let result = peer.delegate_and_wait(1, in_worktree(&fixture, "ok"));
    assert_eq!(result["failure"]["class"], "refused", "{result:#}");
    no_worktree_is_left(&fixture);
}

#[test]
fn submodules_come_along_or_are_refused_by_name() {
    let fixture = TaskFixture::new();
    fixture.commit_with_submodule();
    let mut peer = peer(&fixture);
    let result = peer.delegate_and_wait(1, in_worktree(&fixture, "script sub/s.txt"));
    assert_eq!(result["message"], "result", "{result:#}");
    let script = fixture.home.write("script.sh", "cat sub/s.txt; echo more >>sub/s.txt; git status --short");
    let result = peer.delegate_and_wait(2, in_worktree(&fixture, &format!("script {}", script.display())));
    assert_eq!(result["message"], "sub\nresult", "{result:#}");
    let repository = &result["run_report"]["repository"];
    assert_eq!(repository["files"], json!([{"path": "sub/s.txt", "insertions": 1, "deletions": 0}]));
    // The patch is the change of the submodule's file.
    fixture.home.write("change.patch", repository["patch"].as_str().unwrap());
    fixture.git(&["apply", "../change.patch"]);
    assert_eq!(std::fs::read_to_string(fixture.folder("work/sub/s.txt")).unwrap(), "sub\nmore\n");
    // A submodule without files in the caller's tree has none in the worktree.
    fixture.git(&["submodule", "--quiet", "deinit", "--force", "sub"]);
    let script = fixture.home.write("script.sh", "ls -A sub");
    let result = peer.delegate_and_wait(3, in_worktree(&fixture, &format!("script {}", script.display())));
    assert_eq!(result["message"], "result", "{result:#}");
    // Its repository lacks the commit.
    fixture.git(&["submodule", "--quiet", "update", "--init", "sub"]);
    fixture.home.write("work/sub/s.txt", "newer\n");
    fixture.git_in("work/sub", &["commit", "--quiet", "--all", "-m", "newer"]);
    fixture.git(&["commit", "--quiet", "--all", "-m", "newer"]);
    std::fs::remove_dir_all(fixture.folder("work/.git/modules/sub/objects")).unwrap();
    std::fs::create_dir(fixture.folder("work/.git/modules/sub/objects")).unwrap();
    let result = peer.delegate_and_wait(4, in_worktree(&fixture, "ok"));
    let detail = result["failure"]["detail"].as_str().unwrap();
    assert!(detail.contains("its submodule sub cannot be filled"), "{detail}");
    no_worktree_is_left(&fixture);
}

#[test]
fn ignored_files_come_along_by_name_and_by_setup() {
    let fixture = TaskFixture::new();
    fixture.home.write("work/.gitignore", ".env\n/cache/\n/made-by-setup\n");
    fixture.home.write("work/.worktreeinclude", ".env\n/cache/\n");
    fixture.home.write("work/link-target", "");
    fixture.commit_all();
    fixture.home.write("work/.env", "SECRET=1\n");
    fixture.home.write("work/cache/deep/file", "cached\n");
    std::os::unix::fs::symlink("/etc", fixture.folder("work/cache/link")).unwrap();
    fixture.agent("builder", "setup:\n  - cat cache/deep/file .env >made-by-setup\nisolation: worktree\n");
    fixture.agent("broken", "setup:\n  - echo no compiler; exit 3\nisolation: worktree\n");
    let mut peer = peer(&fixture);
    let script = fixture.home.write("script.sh", "cat made-by-setup; readlink cache/link");
    let mut task = fixture.task(&format!("script {}", script.display()));
    task["agent"] = json!("builder");
    let result = peer.delegate_and_wait(1, task);
    assert_eq!(result["message"], "cached\nSECRET=1\n/etc\nresult", "{result:#}");
    assert_eq!(result["run_report"]["repository"]["files"], json!([]), "setup is not the agent's work");
    assert_eq!(result["run_report"]["setup"][0]["passed"], true, "{result:#}");
    let mut task = fixture.task("ok");
    task["agent"] = json!("broken");
    let result = peer.delegate_and_wait(2, task);
    let detail = result["failure"]["detail"].as_str().unwrap();
    assert!(
        detail.contains("the setup command `sh -c echo no compiler; exit 3` did not pass: no compiler"),
        "{detail}"
    );
    no_worktree_is_left(&fixture);
}

#[test]
fn a_task_that_ends_in_its_setup_is_cancelled_or_ended_with_its_hub() {
    let fixture = TaskFixture::new();
    fixture.commit_all();
    let begun = fixture.folder("begun");
    fixture.agent(
        "builder",
        &format!("setup:\n  - touch {}; sleep 300\nisolation: worktree\n", begun.display()),
    );
    let mut task = fixture.task("ok");
    task["agent"] = json!("builder");
    let hub = fixture.hub();
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    let mut delegate = |id| {
        let task = peer.delegate_in_background(id, task.clone());
        eventually("the setup", || if begun.exists() { Ok(()) } else { Err("not begun") });
        std::fs::remove_file(&begun).unwrap();
        task
    };
    let (cancelled, stopped) = (delegate(1), delegate(2));
    let result = peer.tool(3, "task_cancel", json!({"task_id": cancelled}))["structuredContent"].clone();
    assert_eq!(
        (&result["status"], &result["failure"]["class"]),
        (&json!("cancelled"), &json!("cancelled")),
        "{result:#}"
    );
    hub.stop();
    let _next = fixture.hub();
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    let result = peer.tool(1, "task_get", json!({"task_id": stopped}))["structuredContent"].clone();
    assert_eq!(
        (&result["status"], &result["failure"]["class"]),
        (&json!("failed"), &json!("hub_gone")),
        "{result:#}"
    );
    no_worktree_is_left(&fixture);
    fixture.assert_no_survivors();
}

#[test]
fn kept_worktrees_are_listed_bounded_and_removed_by_age() {
    let fixture = TaskFixture::new();
    let config = std::fs::read_to_string(fixture.folder(".adjutant/config.toml")).unwrap();
    let config = config.replace("[tasks]\n", "[tasks]\nkeep_worktrees = true\nmax_worktrees = 1\n");
    fixture.home.write(".adjutant/config.toml", config);
    fixture.commit_all();
    let _hub = fixture.hub();
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    let result = peer.delegate_and_wait(1, in_worktree(&fixture, "touch made.txt"));
    let kept = result["run_report"]["repository"]["kept"].as_str().unwrap_or_else(|| panic!("{result:#}"));
    let refused = peer.delegate_and_wait(2, in_worktree(&fixture, "touch made.txt"));
    let detail = refused["failure"]["detail"].as_str().unwrap();
    assert!(
        detail.contains("1 worktrees of tasks already; `adjutant tasks worktrees` shows them"),
        "{detail}"
    );
    // A user acts while no agent is connected.
    assert!(peer.finish().0.success());
    let list = |arguments: &[&str]| {
        let done = fixture.adjutant(&[&["tasks", "worktrees"], arguments].concat()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    assert!(list(&[]).contains(kept), "{}", list(&[]));
    let rows: Value = serde_json::from_str(&list(&["--json"])).unwrap();
    let rows = &rows["items"];
    assert_eq!((&rows[0]["in_use"], &rows[0]["task_id"]), (&json!(false), &result["task_id"]), "{rows}");
    assert!(rows[0]["bytes"].as_u64().unwrap() > 10, "{rows}");
    assert!(list(&["--remove-older-than", "1h"]).contains(kept), "it is younger");
    let folder = std::path::Path::new(kept).join("locked");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o500)).unwrap();
    let task = std::fs::File::open(std::path::Path::new(kept).parent().unwrap()).unwrap();
    task.set_modified(std::time::SystemTime::now() - std::time::Duration::from_hours(2)).unwrap();
    assert!(!list(&["--remove-older-than", "1h"]).contains(kept));
    assert!(!std::path::Path::new(kept).exists());
    no_worktree_is_left(&fixture);
}
