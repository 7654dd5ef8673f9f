//! Bad input and runners that misbehave, one by one: a clear word about each, nothing lost, nothing left.

use serde_json::{Value, json};

use crate::support::Peer;
use crate::support::delegation::Desk;
use crate::support::processes::{below, until_none};

/// `mcp agents` on the fake runner, for a client of today.
fn peer(desk: &Desk) -> Peer {
    let mut peer = desk.alone("fake");
    peer.initialize("2025-11-25");
    peer
}

/// What a call was refused with.
fn refused(answer: &Value) -> &str {
    assert_eq!(answer["isError"], json!(true), "{answer:#}");
    answer["content"][0]["text"].as_str().unwrap()
}

#[test]
fn each_end_of_a_runner_has_its_failure_class() {
    let desk = Desk::new();
    let mut peer = peer(&desk);
    for (number, (mode, class, message)) in [
        ("ok", None, "working\nresult"),
        ("leak", None, "result"),
        ("double-fork", None, "result"),
        ("ansi", None, "red \nresult"),
        ("invalid-utf8", None, "caf\u{fffd} \u{fffd}\u{fffd} \u{fffd}\n\u{20ac}"),
        ("no-newline", None, "first\nlast"),
        ("close-stdin", None, "result"),
        ("empty", Some("empty_answer"), "said nothing"),
        ("crash", Some("crashed"), "signal 11"),
        ("fail-after-result", Some("crashed"), "code 3"),
        ("auth", Some("authentication"), "401 Unauthorized"),
        ("usage-limit", Some("usage_limit"), "hit your usage limit"),
        // The limited one rests, so this is refused before it is queued.
        ("ok", Some("refused"), "fake is at its usage limit for"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = i64::try_from(number).unwrap();
        if class == Some("refused") {
            let answer = peer.tool(id, "delegate_task", desk.task(mode));
            assert!(refused(&answer).contains(message), "{answer:#}");
            continue;
        }
        let told = peer.delegated(id, desk.task(mode));
        assert_eq!(told["failure"]["class"].as_str(), class, "{mode}: {told:#}");
        assert_eq!(told["status"], if class.is_none() { "succeeded" } else { "failed" }, "{mode}: {told:#}");
        let said = if class.is_none() { &told["message"] } else { &told["failure"]["detail"] };
        assert!(said.as_str().unwrap().contains(message), "{mode}: {told:#}");
        assert_eq!(told["run_report"]["processes_left"], 0, "{mode}");
        until_none("children of the server", || below(peer.child.id()));
    }
    desk.no_survivors();
}

#[test]
fn input_that_cannot_be_run_is_rejected_with_the_reason() {
    let desk = Desk::new();
    desk.agent("ghost", "runner: nobody\n");
    desk.home.write(".adjutant/agents/broken.yaml", "persona: [");
    desk.home.write("work/file", "");
    let file = desk.folder("work/file").display().to_string();
    let mut peer = peer(&desk);
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
        let mut arguments = desk.task(task);
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

/// The caller itself is told that another runner than the agent's own did it; the contract has no place for it.
#[test]
fn a_result_names_the_runner_that_replaced_a_missing_one() {
    let desk = Desk::new();
    desk.agent("ghost", "runner: nobody\n");
    let mut task = desk.task("ok");
    task["agent"] = json!("ghost");
    let mut peer = peer(&desk);
    let told = peer.tool(1, "delegate_task", task.clone());
    let instead = "the agent's runner `nobody` is not configured, so it went to fake";
    assert!(told["content"][1]["text"].as_str().unwrap().contains(instead), "{told:#}");
    assert_eq!(told["structuredContent"]["run_report"]["instead"], instead);
    let told = peer.tool(2, "delegate_task", desk.task("ok"));
    assert!(!told.to_string().contains("instead"), "{told:#}");
    let mut contract = desk.alone("fake");
    contract.initialize("2024-11-05");
    assert_eq!(contract.tool(1, "delegate_task", task)["content"][0]["text"], "working\nresult");
}

#[test]
fn a_runner_that_is_not_installed_is_named_in_the_error() {
    let desk = Desk::new();
    let runners =
        r#"{"runners": [{"name": "ghost", "command": ["no-such-program"], "levels": ["read-only"]}]}"#;
    desk.home.write("runners.yaml", runners);
    let mut peer = desk.alone("ghost");
    peer.initialize("2025-11-25");
    let answer = peer.tool(1, "delegate_task", desk.task("ok"));
    assert!(refused(&answer).contains("ghost is not installed"), "{answer:#}");
}

#[test]
fn a_task_of_any_text_reaches_the_runner_byte_for_byte() {
    let desk = Desk::new();
    let mut peer = peer(&desk);
    let start = "You review.\n\nTask: ";
    // As large as a task may be, far beyond what an argument can hold.
    let large = format!("read-stdin\n{}", "é".repeat((1024 * 1024 - "read-stdin\n".len()) / 2));
    let told = peer.delegated(1, desk.task(&large));
    assert_eq!(told["message"], format!("{} bytes", start.len() + large.len()), "{:#}", told["failure"]);
    let odd = "echo-stdin\n--version\n-rf {prompt} $HOME `id` %s \\n \"'{{input}}";
    let told = peer.delegated(2, desk.task(odd));
    assert_eq!(told["message"], format!("{start}{odd}"));
    // The documented command line has the prompt as an argument, which must never be read as a flag.
    desk.program("codex", "#!/bin/sh\nfor argument; do printf '[%s]\\n' \"$argument\"; done\ncat\n");
    desk.home.write(".adjutant/agents/dashes.yaml", "persona: \"--help\"\ndescription: Looks like a flag\n");
    let mut contract = desk.alone("codex");
    contract.initialize("2024-11-05");
    let mut task = desk.task("-x");
    task["agent"] = json!("dashes");
    let said = contract.tool(1, "delegate_task", task)["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(said.ends_with("[exec]\n[-]\n--help\n\nTask: -x"), "{said}");
    let said = contract.tool(2, "delegate_task", desk.task("-x"));
    assert!(said["content"][0]["text"].as_str().unwrap().ends_with("[You review.\n\nTask: -x]"), "{said}");
}

#[test]
fn a_working_directory_that_is_swapped_after_its_check_is_not_entered() {
    let desk = Desk::new();
    desk.configure("max_running = 1", &["fake"]);
    std::fs::create_dir(desk.folder("target")).unwrap();
    std::os::unix::fs::symlink(desk.folder("target"), desk.folder("link")).unwrap();
    std::fs::create_dir(desk.folder("other")).unwrap();
    let mut peer = peer(&desk);
    let first = peer.in_background(1, desk.task("hang"));
    let mut swapped = desk.task("touch made");
    swapped["working_directory"] = json!(desk.folder("target"));
    let moved = peer.in_background(2, swapped);
    let mut linked = desk.task("touch made");
    linked["working_directory"] = json!(desk.folder("link"));
    let linked = peer.in_background(3, linked);
    // Both wait. The folder becomes a link to elsewhere; the link, checked as where it led, leads elsewhere too.
    std::fs::rename(desk.folder("target"), desk.folder("was-target")).unwrap();
    std::os::unix::fs::symlink(desk.folder("other"), desk.folder("target")).unwrap();
    std::fs::remove_file(desk.folder("link")).unwrap();
    std::os::unix::fs::symlink(desk.folder("other"), desk.folder("link")).unwrap();
    peer.tool(4, "task_cancel", json!({"task_id": first}));
    for (number, id) in [moved, linked].iter().enumerate() {
        let told = peer.tool(10 + i64::try_from(number).unwrap(), "task_wait", json!({"task_id": id}));
        let told = &told["structuredContent"];
        assert_eq!(told["failure"]["class"], "refused", "{told:#}");
        let detail = told["failure"]["detail"].as_str().unwrap();
        assert!(detail.contains("not the folder any more"), "{detail}");
    }
    assert!(!desk.folder("other/made").exists() && !desk.folder("was-target/made").exists());
}

#[test]
fn a_flood_of_output_is_bounded_and_keeps_its_end() {
    let desk = Desk::new();
    desk.configure("spool_bytes = 2000000", &["fake"]);
    let mut peer = peer(&desk);
    for (id, mode) in [(1, "flood 40"), (2, "long-line 40")] {
        let told = peer.delegated(id, desk.task(mode));
        assert_eq!(told["status"], "succeeded", "{mode}: {:#}", told["failure"]);
        let message = told["message"].as_str().unwrap();
        assert!(message.len() < 2 * 1024 * 1024, "{mode}: {} bytes", message.len());
        assert!(message.starts_with("xxxx"), "{mode}: {message:.80}");
        assert!(message.ends_with("\nresult"), "{mode}: the end is missing");
        assert!(message.contains("are left out here]"), "{mode}: nobody says that something is missing");
        let resident = peer.resident_kib();
        assert!(resident < 64 * 1024, "{mode}: {resident} KiB");
    }
}

#[test]
fn a_cancel_ends_runners_that_ignore_signals_or_fork() {
    let desk = Desk::new();
    let mut peer = peer(&desk);
    let modes = [
        ("hang", "working"),
        ("ignore-term", "working"),
        ("double-fork stay", "result"),
        ("bomb 4", "planted"),
    ];
    for (number, (mode, word)) in modes.into_iter().enumerate() {
        let id = 10 * i64::try_from(number).unwrap();
        let task = peer.in_background(id, desk.task(mode));
        peer.until_it_says(id + 1, &task, word);
        let told = peer.tool(id + 2, "task_cancel", json!({"task_id": task}));
        assert_eq!(told["structuredContent"]["status"], "cancelled", "{mode}: {told:#}");
        assert_eq!(told["structuredContent"]["run_report"]["processes_left"], 0, "{mode}");
        until_none("children of the server", || below(peer.child.id()));
        desk.no_survivors();
    }
}

#[test]
fn a_timeout_ends_a_run_within_its_grace_period() {
    let desk = Desk::new();
    let mut peer = peer(&desk);
    let mut task = desk.task("ignore-term");
    task["timeout_seconds"] = json!(1);
    let told = peer.delegated(1, task);
    assert_eq!(told["failure"]["class"], "timed_out", "{told:#}");
    assert_eq!(told["run_report"]["processes_left"], 0);
    // Its second, the grace of a runner that does not listen, and a busy machine.
    assert!(told["run_report"]["wall_ms"].as_u64().unwrap() < 4_500, "{told:#}");
    desk.no_survivors();
}

#[test]
fn only_a_usage_limit_passes_the_task_to_the_next_runner() {
    let desk = Desk::new();
    desk.configure("", &["first", "fake"]);
    let mut peer = desk.alone("first");
    peer.initialize("2025-11-25");
    let runners = |told: &Value| -> Vec<String> {
        let attempts = told["run_report"]["attempts"].as_array().unwrap().iter();
        attempts.map(|attempt| attempt["runner"].as_str().unwrap().to_owned()).collect()
    };
    let told = peer.delegated(1, desk.task("crash"));
    assert_eq!((&told["status"], runners(&told)), (&json!("failed"), vec!["first".to_owned()]));
    desk.program("first", "#!/bin/sh\ncat >/dev/null\necho 'usage limit reached' >&2\nexit 1\n");
    let told = peer.delegated(2, desk.task("ok"));
    assert_eq!(runners(&told), ["first", "fake"], "{told:#}");
    assert_eq!(told["status"], "succeeded");
    let told = peer.delegated(3, desk.task("ok"));
    assert_eq!(runners(&told), ["fake"], "the first rests");
}
