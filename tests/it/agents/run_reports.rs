//! What the hub itself proves of a task: the shape of the answer, the checks, the change in a tree of its own.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::support::Peer;
use crate::support::delegation::Desk;

fn peer(desk: &Desk) -> Peer {
    let mut peer = desk.alone("fake");
    peer.initialize("2025-11-25");
    peer
}

#[test]
fn an_answer_that_breaks_the_output_schema_is_requested_once_more() {
    let desk = Desk::new();
    let mut peer = peer(&desk);
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let mut task = desk.task("answer-json");
    task["output_schema"] = schema.clone();
    let told = peer.delegated(1, task);
    assert_eq!((&told["status"], &told["structured"]), (&json!("succeeded"), &json!({"n": 1})), "{told:#}");
    assert_eq!(told["run_report"]["attempts"].as_array().unwrap().len(), 2);
    let mut task = desk.task("ok");
    task["output_schema"] = schema;
    let told = peer.delegated(2, task);
    assert_eq!(
        (&told["status"], &told["failure"]["class"]),
        (&json!("failed"), &json!("schema")),
        "{told:#}"
    );
    assert_eq!(told["message"], "working\nresult", "what it said is kept");
    let mut task = desk.task("ok");
    task["output_schema"] = json!({"type": "nothing"});
    let refused = peer.tool(3, "delegate_task", task);
    assert!(refused.to_string().contains("is not a JSON Schema"), "{refused}");
}

#[test]
fn checks_decide_the_verdict_of_a_completed_task() {
    let desk = Desk::new();
    let mut peer = peer(&desk);
    let made = "test -e made.txt";
    for (id, checks, verdict, passed) in [
        (1, json!([]), "unverified", vec![]),
        (2, json!([made]), "verified", vec![true]),
        (
            3,
            json!([made, ["sh", "-c", "echo no; exit 3"], ["no-such-program"]]),
            "refuted",
            vec![true, false, false],
        ),
    ] {
        let mut task = desk.task("touch made.txt");
        task["checks"] = checks;
        let told = peer.delegated(id, task);
        assert_eq!((&told["status"], &told["verdict"]), (&json!("succeeded"), &json!(verdict)), "{told:#}");
        let checks = told["run_report"]["checks"].as_array().unwrap();
        let seen: Vec<bool> = checks.iter().map(|check| check["passed"].as_bool().unwrap()).collect();
        assert_eq!(seen, passed, "{told:#}");
        if let Some(check) = checks.get(1) {
            assert_eq!((&check["exit"], &check["output_tail"]), (&json!(3), &json!("no\n")));
        }
    }
}

/// Git in the desk's working folder.
fn git(desk: &Desk, arguments: &[&str]) -> String {
    let done = Command::new("git").args(arguments).current_dir(desk.folder("work")).output().unwrap();
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn commit_all(desk: &Desk) {
    git(desk, &["init", "--quiet"]);
    git(desk, &["add", "."]);
    git(desk, &["-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "--quiet", "-m", "first"]);
}

#[test]
fn a_kept_worktree_outlives_the_server_that_made_it() {
    let desk = Desk::new();
    desk.home.write(".adjutant/config.toml", "[tasks]\nkeep_worktrees = true\n");
    commit_all(&desk);
    let mut peer = peer(&desk);
    let mut task = desk.task("touch made.txt");
    task["isolation"] = json!("worktree");
    let told = peer.delegated(1, task);
    let kept = PathBuf::from(
        told["run_report"]["repository"]["kept"].as_str().unwrap_or_else(|| panic!("{told:#}")),
    );
    let (status, stderr) = peer.finish();
    assert!(status.success(), "{stderr}");
    assert_eq!(std::fs::read_to_string(kept.join("made.txt")).unwrap(), "made\n");
    let beside: Vec<_> =
        std::fs::read_dir(kept.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(beside, std::slice::from_ref(&kept), "nothing else stays");
    git(&desk, &["worktree", "remove", "--force", kept.to_str().unwrap()]);
    std::fs::remove_dir_all(kept.parent().unwrap().parent().unwrap()).unwrap();
}

#[test]
fn a_worktree_keeps_the_changes_out_of_the_working_directory() {
    let desk = Desk::new();
    commit_all(&desk);
    let mut peer = peer(&desk);
    let mut task = desk.task("touch made.txt");
    task["isolation"] = json!("worktree");
    task["checks"] = json!(["test -e made.txt"]);
    let told = peer.delegated(1, task);
    assert_eq!((&told["status"], &told["verdict"]), (&json!("succeeded"), &json!("verified")), "{told:#}");
    let repository = &told["run_report"]["repository"];
    assert_eq!(repository["isolation"], "worktree");
    assert_eq!(repository["files"], json!([{"path": "made.txt", "insertions": 1, "deletions": 0}]));
    assert!(!desk.folder("work/made.txt").exists(), "the folder itself was worked in");
    assert_eq!(git(&desk, &["worktree", "list"]).lines().count(), 1, "a worktree was left behind");
    // The patch is the work.
    desk.home.write("work/change.patch", repository["patch"].as_str().unwrap());
    git(&desk, &["apply", "change.patch"]);
    assert_eq!(std::fs::read_to_string(desk.folder("work/made.txt")).unwrap(), "made\n");
}
