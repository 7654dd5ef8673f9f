//! Bad input and misbehaving runners, one by one: each gets a clear message, loses nothing and leaves nothing.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::Peer;
use crate::support::process_table::{descendants, wait_until_none};
use crate::support::task_fixture::TaskFixture;

/// `mcp agents` on the fake runner, for a client of 2025-11-25.
fn peer(fixture: &TaskFixture) -> Peer {
    let mut peer = fixture.connect_with_runner("fake");
    peer.initialize("2025-11-25");
    peer
}

/// The message of a rejected call.
fn refused(answer: &Value) -> &str {
    assert_eq!(answer["isError"], json!(true), "{answer:#}");
    answer["content"][0]["text"].as_str().unwrap()
}

#[test]
fn each_end_of_a_runner_has_its_failure_class() {
    let fixture = TaskFixture::new();
    let mut peer = peer(&fixture);
    for (number, (mode, class, message)) in [
        ("ok", None, "working\nresult"),
        ("leak", None, "result"),
        ("double-fork", None, "result"),
        ("ansi", None, "red \nresult"),
        ("invalid-utf8", None, "caf\u{fffd} \u{fffd}\u{fffd} \u{fffd}\n\u{20ac}"),
        ("no-newline", None, "first\nlast"),
        ("close-stdin", None, "result"),
        ("empty", Some("empty_answer"), "without an answer"),
        ("crash", Some("crashed"), "signal 11"),
        ("fail-after-result", Some("crashed"), "code 3"),
        ("auth", Some("authentication"), "401 Unauthorized"),
        ("usage-limit", Some("usage_limit"), "hit your usage limit"),
        // The limited runner pauses, so this is rejected before it is queued.
        ("ok", Some("refused"), "fake is at its usage limit until 2"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = i64::try_from(number).unwrap();
        if class == Some("refused") {
            let answer = peer.tool(id, "delegate_task", fixture.task(mode));
            assert!(refused(&answer).contains(message), "{answer:#}");
            continue;
        }
        let result = peer.delegate_and_wait(id, fixture.task(mode));
        assert_eq!(result["failure"]["class"].as_str(), class, "{mode}: {result:#}");
        assert_eq!(
            result["status"],
            if class.is_none() { "succeeded" } else { "failed" },
            "{mode}: {result:#}"
        );
        let text = if class.is_none() { &result["message"] } else { &result["failure"]["detail"] };
        assert!(text.as_str().unwrap().contains(message), "{mode}: {result:#}");
        assert_eq!(result["run_report"]["processes_left"], 0, "{mode}");
        wait_until_none("children of the server", || descendants(peer.child.id()));
    }
    fixture.assert_no_survivors();
}

#[test]
fn input_that_cannot_be_run_is_rejected_with_the_reason() {
    let fixture = TaskFixture::new();
    fixture.agent("ghost", "runner: nobody\n");
    fixture.home.write(".adjutant/agents/broken.yaml", "persona: [");
    fixture.home.write("work/file", "");
    let file = fixture.folder("work/file").display().to_string();
    let mut peer = peer(&fixture);
    for (number, (agent, task, folder, words)) in [
        ("revewer", "x", None, "did you mean `reviewer`"),
        ("broken", "x", None, "cannot be read"),
        ("reviewer", " \n", None, "the task is empty"),
        ("reviewer", "a\0b", None, "NUL"),
        ("reviewer", &"x".repeat(1024 * 1024 + 1), None, "1048577 bytes, over the limit of 1048576"),
        ("reviewer", "x", Some("work"), "absolute"),
        ("reviewer", "x", Some("/nowhere/at/all"), "does not exist"),
        ("reviewer", "x", Some("/"), "must not be `/`"),
        ("reviewer", "x", Some("/tmp/../"), "must not be `/`"),
        ("reviewer", "x", Some("/tmp\0"), "NUL"),
        ("reviewer", "x", Some(""), "empty"),
        ("reviewer", "x", Some(&*file), "must be a folder"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut arguments = fixture.task(task);
        arguments["agent"] = json!(agent);
        if let Some(folder) = folder {
            arguments["working_directory"] = json!(folder);
        }
        let answer = peer.tool(i64::try_from(number).unwrap(), "delegate_task", arguments);
        assert!(refused(&answer).contains(words), "{words}: {answer:#}");
    }
    let listed = peer.tool(100, "list_agents", json!({}));
    assert_eq!(listed["structuredContent"]["agents"].as_array().unwrap().len(), 2, "{listed:#}");
    assert_eq!(peer.tool(101, "task_list", json!({}))["structuredContent"]["total"], 0, "nothing was queued");
}

/// The result names another runner than the agent's. The contract has no member for it.
#[test]
fn a_result_names_the_runner_that_replaced_a_missing_one() {
    let fixture = TaskFixture::new();
    fixture.agent("ghost", "runner: opencode\n");
    let mut task = fixture.task("ok");
    task["agent"] = json!("ghost");
    let mut peer = peer(&fixture);
    let answer = peer.tool(1, "delegate_task", task.clone());
    let instead = "the agent's runner `opencode` is not configured, so it went to fake";
    assert!(answer["content"][1]["text"].as_str().unwrap().contains(instead), "{answer:#}");
    assert_eq!(answer["structuredContent"]["run_report"]["instead"], instead);
    let answer = peer.tool(2, "delegate_task", fixture.task("ok"));
    assert!(!answer.to_string().contains("instead"), "{answer:#}");
    let mut contract = fixture.connect_with_runner("fake");
    contract.initialize("2024-11-05");
    assert_eq!(contract.tool(1, "delegate_task", task)["content"][0]["text"], "working\nresult");
}

/// The user may have made the runner for this agent's permission.
#[test]
fn no_other_runner_replaces_one_that_is_unknown() {
    let fixture = TaskFixture::new();
    fixture.agent("ghost", "runner: nobody\npermission: full\n");
    let mut task = fixture.task("touch made");
    task["agent"] = json!("ghost");
    let answer = peer(&fixture).tool(1, "delegate_task", task);
    let words = "no runner can be tried: nobody is not known here; if config.toml has it, `adjutant reload` or a restart";
    assert!(refused(&answer).contains(words), "{answer:#}");
    assert!(!fixture.folder("work/made").exists());
}

#[test]
fn at_full_permission_no_other_runner_replaces_a_missing_one() {
    let fixture = TaskFixture::new();
    fixture.agent("ghost", "runner: opencode\npermission: full\n");
    let mut task = fixture.task("touch made");
    task["agent"] = json!("ghost");
    let mut peer = peer(&fixture);
    let answer = peer.tool(1, "delegate_task", task.clone());
    let words = "opencode is not configured, and no other runner works with full permission in its place";
    assert!(refused(&answer).contains(words), "{answer:#}");
    assert!(!fixture.folder("work/made").exists());
    task["permission"] = json!("read-only");
    let result = peer.delegate_and_wait(2, task);
    assert_eq!(result["run_report"]["attempts"][0]["runner"], "fake", "{result:#}");
}

/// A Codex that reports a retry ever so often, or works on in silence.
#[test]
fn a_runner_that_only_retries_is_ended_with_the_reason_of_its_retries() {
    let fixture = TaskFixture::new();
    let script = r#"#!/bin/sh
case $1 in --version) echo "codex-cli 1"; exit ;; esac
task=$(sed -n 's/^Task: //p')
echo '{"type":"thread.started","thread_id":"t"}'
case $task in
retry) while :; do echo '{"type":"error","message":"429 Too Many Requests; retrying"}'; sleep 0.1; done ;;
stderr) echo 'Attempt 1 failed with status 429. Retrying with backoff.' >&2; sleep 300 ;;
silent) sleep 300 ;;
work)
    echo '{"type":"item.started","item":{"id":"1","type":"command_execution","command":"make"}}'
    sleep 2.5
    echo '{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"make","exit_code":0}}'
    echo '{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"made"}}'
    echo '{"type":"turn.completed","usage":{}}' ;;
esac
"#;
    fixture.program("codex", script);
    let config = "[[runners]]\nname = \"codex\"\nstall_seconds = 1\n";
    fixture.home.write(".adjutant/config.toml", config);
    let _hub = fixture.hub();
    let run = |words: &[&str]| {
        let output = fixture.adjutant(words).stdin(Stdio::null()).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let delegate =
        |task: &str, option: &str| run(&["delegate", "reviewer", task, "--workdir", "work", option]);
    for (task, class, detail) in [
        ("silent", "timed_out_idle", "it made no progress for as long as `stall_seconds`"),
        ("work", "", ""),
        ("stderr", "usage_limit", "Attempt 1 failed with status 429"),
    ] {
        let (json, stderr) = delegate(task, "--json");
        let result: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {stderr}"));
        let failure = |key: &str| result["outcome"]["failure"][key].as_str().unwrap_or_default().to_owned();
        assert_eq!(failure("class"), class, "{task}: {result:#}");
        assert!(failure("detail").contains(detail), "{task}: {result:#}");
    }
    // The runner rests until the user says that the limit is over.
    let (_, refused) = delegate("retry", "--json");
    assert!(refused.contains("codex is at its usage limit until 2"), "{refused}");
    assert!(refused.contains("the user can try now, with `--now` of `adjutant delegate` or `tasks retry`"));
    let (_, ended) = delegate("retry", "--now");
    assert!(ended.contains("(usage_limit): 429 Too Many Requests; retrying"), "{ended}");
    assert!(ended.contains("hint: `adjutant tasks retry "), "{ended}");
    let listed: Value = serde_json::from_str(&run(&["tasks", "list", "retry", "--json"]).0).unwrap();
    let id = listed["items"][0]["id"].as_str().unwrap();
    let (_, refused) = run(&["tasks", "retry", id]);
    assert!(refused.contains("codex is at its usage limit until 2"), "{refused}");
    let retried: Value = serde_json::from_str(&run(&["tasks", "retry", id, "--now", "--json"]).0).unwrap();
    assert_eq!(
        (&retried["items"][0]["task"], &retried["items"][0]["agent"]),
        (&json!("retry"), &json!("reviewer"))
    );
    assert_ne!(retried["items"][0]["id"], id);
    fixture.assert_no_survivors();
}

#[test]
fn the_longest_limit_of_a_configuration_is_none() {
    let fixture = TaskFixture::new();
    let runners = std::fs::read_to_string(fixture.folder("runners.yaml")).unwrap();
    let mut runners: Value = serde_json::from_str(&runners).unwrap();
    runners["runners"][0]["stall_seconds"] = json!(u64::MAX);
    fixture.home.write("runners.yaml", runners.to_string());
    let result = peer(&fixture).delegate_and_wait(1, fixture.task("ok"));
    assert_eq!(result["status"], "succeeded", "{result:#}");
}

#[test]
fn a_runner_that_is_not_installed_is_named_in_the_error() {
    let fixture = TaskFixture::new();
    let runners =
        r#"{"runners": [{"name": "ghost", "command": ["no-such-program"], "levels": ["read-only"]}]}"#;
    fixture.home.write("runners.yaml", runners);
    let mut peer = fixture.connect_with_runner("ghost");
    peer.initialize("2025-11-25");
    let answer = peer.tool(1, "delegate_task", fixture.task("ok"));
    assert!(refused(&answer).contains("ghost is not installed"), "{answer:#}");
}

/// The command of a custom runner may do anything, so it is not started with `--version` as an experiment.
#[test]
fn a_custom_runner_is_asked_for_its_version_by_its_version_command_only() {
    let fixture = TaskFixture::new();
    let (program, starts) = (fixture.folder("bin/own"), fixture.folder("starts"));
    let script = r#"#!/bin/sh
echo "start $*" >>STARTS
if [ "$1" = -V ]; then echo "own 1.2"; touch STARTS.asked; exit; fi
[ "$1" != wait ] || until [ -e STARTS.asked ]; do sleep 0.05; done
cat
"#;
    fixture.program("own", &script.replace("STARTS", starts.to_str().unwrap()));
    let runners = json!({"runners": [
        {"name": "silent", "command": [program], "levels": ["read-only"]},
        {"name": "named", "command": [program, "wait"], "levels": ["read-only"], "version_command": [program, "-V"]},
    ]});
    fixture.home.write("runners.yaml", runners.to_string());
    for (runner, version, lines) in [
        ("silent", json!(null), &["start "][..]),
        ("named", json!("own 1.2"), &["start ", "start -V", "start wait"]),
    ] {
        let mut peer = fixture.connect_with_runner(runner);
        peer.initialize("2025-11-25");
        let result = peer.delegate_and_wait(1, fixture.task("x"));
        assert_eq!(result["run_report"]["attempts"][0]["version"], version, "{result:#}");
        let started = std::fs::read_to_string(&starts).unwrap();
        let mut started: Vec<&str> = started.lines().collect();
        started.sort_unstable();
        assert_eq!(started, lines);
    }
}

#[test]
fn a_task_of_any_text_reaches_the_runner_byte_for_byte() {
    let fixture = TaskFixture::new();
    let mut peer = peer(&fixture);
    let start = "You review.\n\nTask: ";
    // As large as a task may be, far beyond what an argument can hold.
    let large = format!("read-stdin\n{}", "é".repeat((1024 * 1024 - "read-stdin\n".len()) / 2));
    let result = peer.delegate_and_wait(1, fixture.task(&large));
    assert_eq!(result["message"], format!("{} bytes", start.len() + large.len()), "{:#}", result["failure"]);
    let odd = "echo-stdin\n--version\n-rf {prompt} $HOME `id` %s \\n \"'{{input}}";
    let result = peer.delegate_and_wait(2, fixture.task(odd));
    assert_eq!(result["message"], format!("{start}{odd}"));
    // The documented command line has the prompt as an argument, which must never be read as a flag.
    fixture.program("codex", "#!/bin/sh\nfor argument; do printf '[%s]\\n' \"$argument\"; done\ncat\n");
    fixture
        .home
        .write(".adjutant/agents/dashes.yaml", "persona: \"--help\"\ndescription: Looks like a flag\n");
    let mut contract = fixture.connect_with_runner("codex");
    contract.initialize("2024-11-05");
    let mut task = fixture.task("-x");
    task["agent"] = json!("dashes");
    let message = contract.tool(1, "delegate_task", task)["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(message.ends_with("[exec]\n[-]\n--help\n\nTask: -x"), "{message}");
    let message = contract.tool(2, "delegate_task", fixture.task("-x"));
    assert!(
        message["content"][0]["text"].as_str().unwrap().ends_with("[You review.\n\nTask: -x]"),
        "{message}"
    );
}

#[test]
fn a_working_directory_that_is_swapped_after_its_check_is_not_entered() {
    let fixture = TaskFixture::new();
    fixture.configure("max_running = 1", &["fake"]);
    std::fs::create_dir(fixture.folder("target")).unwrap();
    std::os::unix::fs::symlink(fixture.folder("target"), fixture.folder("link")).unwrap();
    std::fs::create_dir(fixture.folder("other")).unwrap();
    let mut peer = peer(&fixture);
    let first = peer.delegate_in_background(1, fixture.task("hang"));
    let mut swapped = fixture.task("touch made");
    swapped["working_directory"] = json!(fixture.folder("target"));
    let moved = peer.delegate_in_background(2, swapped);
    let mut linked = fixture.task("touch made");
    linked["working_directory"] = json!(fixture.folder("link"));
    let linked = peer.delegate_in_background(3, linked);
    // Both tasks are queued. The folder becomes a link to another place, and the checked link gets another target.
    std::fs::rename(fixture.folder("target"), fixture.folder("was-target")).unwrap();
    std::os::unix::fs::symlink(fixture.folder("other"), fixture.folder("target")).unwrap();
    std::fs::remove_file(fixture.folder("link")).unwrap();
    std::os::unix::fs::symlink(fixture.folder("other"), fixture.folder("link")).unwrap();
    peer.tool(4, "task_cancel", json!({"task_id": first}));
    for (number, id) in [moved, linked].iter().enumerate() {
        let result = peer.tool(10 + i64::try_from(number).unwrap(), "task_wait", json!({"task_id": id}));
        let result = &result["structuredContent"];
        assert_eq!(result["failure"]["class"], "refused", "{result:#}");
        let detail = result["failure"]["detail"].as_str().unwrap();
        assert!(detail.contains("was replaced after the task was delegated"), "{detail}");
    }
    assert!(!fixture.folder("other/made").exists() && !fixture.folder("was-target/made").exists());
}

#[test]
fn a_flood_of_output_is_bounded_and_keeps_its_end() {
    let fixture = TaskFixture::new();
    fixture.configure("spool_bytes = 2000000", &["fake"]);
    let mut peer = peer(&fixture);
    // The code that has run is resident too, and a build without optimization has much of it.
    peer.delegate_and_wait(3, fixture.task("ok"));
    let idle = peer.resident_kib();
    for (id, mode) in [(1, "flood 40"), (2, "long-line 40")] {
        let result = peer.delegate_and_wait(id, fixture.task(mode));
        assert_eq!(result["status"], "succeeded", "{mode}: {:#}", result["failure"]);
        let message = result["message"].as_str().unwrap();
        assert!(message.len() < 2 * 1024 * 1024, "{mode}: {} bytes", message.len());
        assert!(message.starts_with("xxxx"), "{mode}: {message:.80}");
        assert!(message.ends_with("\nresult"), "{mode}: the end is missing");
        assert!(message.contains("are left out here]"), "{mode}: the gap is not marked");
        let resident = peer.resident_kib();
        assert!(resident < idle + 24 * 1024, "{mode}: {resident} KiB, {idle} before");
    }
}

#[test]
fn a_cancel_ends_runners_that_ignore_signals_or_fork() {
    let fixture = TaskFixture::new();
    let mut peer = peer(&fixture);
    let modes = [
        ("hang", "working"),
        ("ignore-term", "working"),
        ("double-fork stay", "result"),
        ("bomb 4", "planted"),
    ];
    for (number, (mode, word)) in modes.into_iter().enumerate() {
        let id = 10 * i64::try_from(number).unwrap();
        let task = peer.delegate_in_background(id, fixture.task(mode));
        peer.wait_for_activity(id + 1, &task, word);
        let answer = peer.tool(id + 2, "task_cancel", json!({"task_id": task}));
        assert_eq!(answer["structuredContent"]["status"], "cancelled", "{mode}: {answer:#}");
        assert_eq!(answer["structuredContent"]["run_report"]["processes_left"], 0, "{mode}");
        wait_until_none("children of the server", || descendants(peer.child.id()));
        fixture.assert_no_survivors();
    }
}

#[test]
fn a_timeout_ends_a_run_within_its_grace_period() {
    let fixture = TaskFixture::new();
    let mut peer = peer(&fixture);
    let mut task = fixture.task("ignore-term");
    task["timeout_seconds"] = json!(1);
    let result = peer.delegate_and_wait(1, task);
    assert_eq!(result["failure"]["class"], "timed_out", "{result:#}");
    assert_eq!(result["run_report"]["processes_left"], 0);
    // Its second, the grace period of a runner that ignores signals, and a busy machine.
    assert!(result["run_report"]["wall_ms"].as_u64().unwrap() < 4_500, "{result:#}");
    fixture.assert_no_survivors();
}

#[test]
fn only_a_usage_limit_passes_the_task_to_the_next_runner() {
    let fixture = TaskFixture::new();
    fixture.configure("", &["first", "fake"]);
    let mut peer = fixture.connect_with_runner("first");
    peer.initialize("2025-11-25");
    let runners = |result: &Value| -> Vec<String> {
        let attempts = result["run_report"]["attempts"].as_array().unwrap().iter();
        attempts.map(|attempt| attempt["runner"].as_str().unwrap().to_owned()).collect()
    };
    let result = peer.delegate_and_wait(1, fixture.task("crash"));
    assert_eq!((&result["status"], runners(&result)), (&json!("failed"), vec!["first".to_owned()]));
    fixture.program("first", "#!/bin/sh\ncat >/dev/null\necho 'usage limit reached' >&2\nexit 1\n");
    let result = peer.delegate_and_wait(2, fixture.task("ok"));
    assert_eq!(runners(&result), ["first", "fake"], "{result:#}");
    assert_eq!(result["status"], "succeeded");
    let result = peer.delegate_and_wait(3, fixture.task("ok"));
    assert_eq!(runners(&result), ["fake"], "the first rests");
}
