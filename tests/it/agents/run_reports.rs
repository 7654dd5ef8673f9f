//! The hub's own evidence of a task: the shape of the answer, the checks, the change in a worktree.

use std::path::PathBuf;

use serde_json::json;

use crate::support::Peer;
use crate::support::task_fixture::TaskFixture;

fn peer(fixture: &TaskFixture) -> Peer {
    let mut peer = fixture.connect_with_runner("fake");
    peer.initialize("2025-11-25");
    peer
}

#[test]
fn an_answer_that_breaks_the_output_schema_is_requested_once_more() {
    let fixture = TaskFixture::new();
    let mut peer = peer(&fixture);
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let mut task = fixture.task("answer-json");
    task["output_schema"] = schema.clone();
    let result = peer.delegate_and_wait(1, task);
    assert_eq!(
        (&result["status"], &result["structured"]),
        (&json!("succeeded"), &json!({"n": 1})),
        "{result:#}"
    );
    assert_eq!(result["run_report"]["attempts"].as_array().unwrap().len(), 2);
    let mut task = fixture.task("ok");
    task["output_schema"] = schema;
    let result = peer.delegate_and_wait(2, task);
    assert_eq!(
        (&result["status"], &result["failure"]["class"]),
        (&json!("failed"), &json!("schema")),
        "{result:#}"
    );
    assert_eq!(result["message"], "working\nresult", "the message is kept");
    let mut task = fixture.task("ok");
    task["output_schema"] = json!({"type": "nothing"});
    let refused = peer.tool(3, "delegate_task", task);
    assert!(refused.to_string().contains("is not a JSON Schema"), "{refused}");
}

#[test]
fn checks_decide_the_verdict_of_a_completed_task() {
    let fixture = TaskFixture::new();
    let mut peer = peer(&fixture);
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
        let mut task = fixture.task("touch made.txt");
        task["checks"] = checks;
        let result = peer.delegate_and_wait(id, task);
        assert_eq!(
            (&result["status"], &result["verdict"]),
            (&json!("succeeded"), &json!(verdict)),
            "{result:#}"
        );
        let checks = result["run_report"]["checks"].as_array().unwrap();
        let found: Vec<bool> = checks.iter().map(|check| check["passed"].as_bool().unwrap()).collect();
        assert_eq!(found, passed, "{result:#}");
        if let Some(check) = checks.get(1) {
            assert_eq!((&check["exit"], &check["output_tail"]), (&json!(3), &json!("no\n")));
        }
    }
}

/// The fake runner promises every level and holds none.
#[test]
fn the_result_of_a_read_only_run_that_changed_files_is_an_error_and_leads_with_them() {
    let fixture = TaskFixture::new();
    fixture.commit_all();
    fixture.agent("writer", "permission: workspace-write\n");
    let hub = fixture.hub();
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    let changes = "not read-only: 1 file changed (\"made.txt\")";
    for (id, isolation) in [(1, "worktree"), (2, "none")] {
        let mut task = fixture.task("touch made.txt");
        task["isolation"] = json!(isolation);
        let result = peer.delegate_and_wait(id, task);
        let task = &result["task_id"];
        assert_eq!(
            (&result["status"], &result["verdict"]),
            (&json!("succeeded"), &json!("refuted")),
            "{result:#}"
        );
        let shown = peer.tool(10 + id, "task_get", json!({"task_id": task}));
        assert_eq!(shown["isError"], true, "{shown:#}");
        assert_eq!(
            shown["content"][0]["text"],
            format!("Checks by the hub: {changes}; unverified.\n\nresult")
        );
        let task = task.as_str().unwrap();
        let line = format!("Run report of task {task}: {changes}; fake; read-only; ");
        assert!(shown["content"][1]["text"].as_str().unwrap().starts_with(&line), "{shown:#}");
        let page = hub.page(&format!("/tasks/{task}"));
        for words in
            ["not read-only: 1 file changed (&quot;made.txt&quot;)", "refuted\">not read-only</span>"]
        {
            assert!(page.contains(words), "{words}: {page}");
        }
    }
    let mut task = fixture.task("touch allowed.txt");
    task["agent"] = json!("writer");
    let result = peer.delegate_and_wait(3, task);
    assert_eq!(
        (&result["status"], &result["verdict"]),
        (&json!("succeeded"), &json!("unverified")),
        "{result:#}"
    );

    let mut contract = fixture.connect();
    contract.initialize("2024-11-05");
    let answer = contract.tool(1, "delegate_task", fixture.task("touch more.txt"));
    assert_eq!(
        answer,
        json!({"content": [{"type": "text", "text": "result"}]}),
        "the contract has the message alone"
    );
}

#[test]
fn failed_checks_reach_clients_of_every_revision() {
    let fixture = TaskFixture::new();
    fixture.agent("strict", "checks:\n  - [test, -e, made.txt]\n");
    fixture.agent("lenient", "checks:\n  - [test, -e, made.txt]\nchecks_must_pass: false\n");
    fixture.agent("unable", "checks:\n  - [no-such-program]\n");
    let failed = "Checks by the hub: not verified, failed: test -e made.txt.";
    let verified = "Checks by the hub: verified by 1 check.";
    let unable = "Checks by the hub: unverified, did not run to the end: no-such-program.";
    let mut contract = fixture.connect_with_runner("fake");
    contract.initialize("2024-11-05");
    let mut newer = peer(&fixture);
    for (id, (agent, mode, verdict, is_error)) in [
        ("reviewer", "ok", None, json!(null)),
        ("strict", "ok", Some(failed), json!(true)),
        ("unable", "ok", Some(unable), json!(true)),
        ("lenient", "ok", Some(failed), json!(null)),
        ("strict", "touch made.txt", Some(verified), json!(null)),
    ]
    .into_iter()
    .enumerate()
    {
        let id = i64::try_from(id).unwrap();
        let mut task = fixture.task(mode);
        task["agent"] = json!(agent);
        let answer = contract.tool(id, "delegate_task", task.clone());
        let message = if mode == "ok" { "working\nresult" } else { "result" };
        let text = verdict.map_or(message.to_owned(), |verdict| format!("{message}\n\n{verdict}"));
        assert_eq!(answer, json!({"content": [{"type": "text", "text": text}]}), "{agent} {mode}");
        let answer = newer.tool(id, "delegate_task", task);
        let text = verdict.map_or(message.to_owned(), |verdict| format!("{verdict}\n\n{message}"));
        assert_eq!(answer["content"][0]["text"], text, "{agent} {mode}");
        assert_eq!(answer["isError"], is_error, "{agent} {mode}: {answer:#}");
    }
}

#[test]
fn a_kept_worktree_outlives_the_server_that_made_it() {
    let fixture = TaskFixture::new();
    fixture.home.write(".adjutant/config.toml", "[tasks]\nkeep_worktrees = true\n");
    fixture.commit_all();
    let mut peer = peer(&fixture);
    let mut task = fixture.task("touch made.txt");
    task["isolation"] = json!("worktree");
    let result = peer.delegate_and_wait(1, task);
    let kept = PathBuf::from(
        result["run_report"]["repository"]["kept"].as_str().unwrap_or_else(|| panic!("{result:#}")),
    );
    let (status, stderr) = peer.finish();
    assert!(status.success(), "{stderr}");
    assert_eq!(std::fs::read_to_string(kept.join("made.txt")).unwrap(), "made\n");
    let beside: Vec<_> =
        std::fs::read_dir(kept.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(beside, std::slice::from_ref(&kept), "nothing else stays");
    fixture.git(&["worktree", "remove", "--force", kept.to_str().unwrap()]);
    std::fs::remove_dir_all(kept.parent().unwrap().parent().unwrap()).unwrap();
}

#[test]
fn a_worktree_keeps_the_changes_out_of_the_working_directory() {
    let fixture = TaskFixture::new();
    fixture.commit_all();
    fixture.agent("reviewer", "permission: workspace-write\n");
    let mut peer = peer(&fixture);
    let mut task = fixture.task("touch made.txt");
    task["isolation"] = json!("worktree");
    task["checks"] = json!(["test -e made.txt"]);
    let result = peer.delegate_and_wait(1, task);
    assert_eq!(
        (&result["status"], &result["verdict"]),
        (&json!("succeeded"), &json!("verified")),
        "{result:#}"
    );
    let repository = &result["run_report"]["repository"];
    assert_eq!(repository["isolation"], "worktree");
    assert_eq!(repository["files"], json!([{"path": "made.txt", "insertions": 1, "deletions": 0}]));
    assert!(!fixture.folder("work/made.txt").exists(), "the folder itself was worked in");
    assert_eq!(fixture.git(&["worktree", "list"]).lines().count(), 1, "a worktree was left behind");
    // The patch is the work.
    fixture.home.write("work/change.patch", repository["patch"].as_str().unwrap());
    fixture.git(&["apply", "change.patch"]);
    assert_eq!(std::fs::read_to_string(fixture.folder("work/made.txt")).unwrap(), "made\n");
}
