//! The two real runners of `delegate_task`, each with a scripted model: their answers, usage and failures, and that no
//! process survives. Survivors are counted from the table of processes: by the mark that every process of a run
//! carries, by ancestry, and by an argument that is unique on the machine.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::Peer;
use crate::support::model::{FINAL_TEXT, Model, Script};
use crate::support::process_table::{descendants, processes_with_argument, wait_until_none, wait_until_some};
use crate::support::real_clients::{codex_config, is_excluded, node, package, packages};
use crate::support::task_fixture::TaskFixture;

/// A fixture whose `codex` or `copilot` is the real one, and their models.
pub(super) struct RealRunners {
    pub(super) fixture: TaskFixture,
    codex: Model,
    copilot: Model,
}

impl RealRunners {
    fn new(codex: Script, copilot: Script) -> Self {
        let real =
            Self { fixture: TaskFixture::new(), codex: Model::start(codex), copilot: Model::start(copilot) };
        real.fixture.home.write(".codex/config.toml", codex_config(&real.codex.base_url()));
        // The command line of the contract needs a repository.
        real.fixture.home.write("work/.git/HEAD", "ref: refs/heads/main\n");
        let start = |package: PathBuf| format!("exec {} {} \"$@\"\n", node().display(), package.display());
        let codex = start(package("@openai/codex/bin/codex.js"));
        real.fixture.program("codex", &format!("#!/bin/sh\n{codex}"));
        let copilot = start(package("@github/copilot/npm-loader.js"));
        let base = real.copilot.base_url();
        let model = format!("COPILOT_OFFLINE=true COPILOT_PROVIDER_BASE_URL={base} COPILOT_MODEL=stub-model");
        real.fixture.program("copilot", &format!("#!/bin/sh\nexport {model}\n{copilot}"));
        real.fixture.configure("", &[]);
        real.fixture
            .home
            .write("runners.yaml", "runners: [{name: codex, priority: 1}, {name: copilot, priority: 2}]");
        real
    }

    /// Both models follow the same script.
    pub(super) fn both(script: Script) -> Self {
        Self::new(script.clone(), script)
    }

    pub(super) fn of(&self, runner: &str) -> &Model {
        if runner == "codex" { &self.codex } else { &self.copilot }
    }

    /// `mcp agents` with only this runner: the other is not installed.
    fn connect_only(&self, runner: &str, revision: &str) -> Peer {
        let file = format!("runners: [{{name: {runner}}}]");
        self.fixture.home.write("runners.yaml", file);
        let mut peer = self.fixture.connect_with_runner(runner);
        peer.initialize(revision);
        peer
    }
}

/// Both runners, by name.
pub(super) const RUNNERS: [&str; 2] = ["codex", "copilot"];

#[test]
fn real_runners_work_through_the_contract() {
    if is_excluded("npm") {
        return;
    }
    for runner in RUNNERS {
        let real = RealRunners::both(Script::Answer);
        let folder = real.fixture.folder(".adjutant/agents");
        let arguments = ["mcp", "agents", "--agents-dir", folder.to_str().unwrap(), "--runner", runner];
        let mut peer = Peer::start(&mut real.fixture.adjutant(&arguments));
        let hello = peer.initialize("2024-11-05");
        assert_eq!(
            hello["result"],
            json!({
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "codex-subagents", "version": "0.1.0"},
                "clientInfo": {"name": "test", "version": "1"},
            })
        );
        let tools = peer.call(1, "tools/list", json!({}));
        let names: Vec<&Value> =
            tools["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["list_agents", "delegate_task"]);
        assert_eq!(
            peer.tool(2, "list_agents", json!({})),
            json!({"content": [{"type": "text", "text": r#"{"agents":[{"name":"reviewer","description":"Reviews code"}]}"#}]})
        );
        let done = peer.tool(3, "delegate_task", real.fixture.task("look at the project"));
        let text = done["content"][0]["text"].as_str().unwrap();
        assert!(done["isError"].is_null() && text.contains(FINAL_TEXT), "{runner}: {done}");
        let asked = real.of(runner).requests();
        assert!(
            asked.iter().any(|body| body.to_string().contains(r"You review.\n\nTask: look at the project")),
            "{runner}: {asked:?}"
        );
        let (status, log) = peer.finish();
        assert!(status.success(), "{log}");
        real.fixture.assert_no_survivors();
    }
}

#[test]
fn real_runs_have_complete_run_reports() {
    if is_excluded("npm") {
        return;
    }
    let real = RealRunners::both(Script::Answer);
    let _hub = real.fixture.hub();
    for (runner, version) in [("codex", "codex-cli 0."), ("copilot", "1.0.")] {
        // No model is configured: Codex's events do not contain its name, and its session file does.
        real.fixture.agent(runner, &format!("runner: {runner}\n"));
        let mut peer = real.fixture.connect();
        peer.initialize("2025-11-25");
        let mut task = real.fixture.task("look");
        task["agent"] = json!(runner);
        let result = peer.delegate_and_wait(1, task);
        assert_eq!(result["status"], "succeeded", "{runner}: {result:#}");
        assert_eq!(result["message"].as_str().unwrap().trim(), FINAL_TEXT, "{runner}");
        let report = &result["run_report"];
        let attempt = &report["attempts"][0];
        assert_eq!(attempt["runner"], runner);
        assert_eq!(attempt["exit"], 0);
        assert!(
            attempt["version"].as_str().is_some_and(|result| result.contains(version)),
            "{runner}: {attempt:#}"
        );
        assert!(attempt["session"].as_str().is_some_and(|result| result.len() > 30), "{runner}: {attempt:#}");
        assert_eq!(attempt["model"], "stub-model", "{runner}: {attempt:#}");
        let usage = json!({"input_tokens": 7, "cached_tokens": 3, "output_tokens": 5});
        assert_eq!(report["usage"], usage, "{runner}: {report:#}");
        assert_eq!(report["processes_left"], 0);
        assert_eq!(report["permission"], "read-only");
        for measured in ["peak_rss_bytes", "cpu_ms", "wall_ms"] {
            assert!(report[measured].as_u64().unwrap() > 0, "{runner} {measured}: {report:#}");
        }
    }
    real.fixture.assert_no_survivors();
}

#[test]
fn real_runners_work_in_the_sandbox() {
    let probe = Command::new("bwrap").args(["--unshare-user", "--ro-bind", "/", "/", "true"]).output();
    if is_excluded("npm") || !probe.is_ok_and(|output| output.status.success()) {
        return;
    }
    let real = RealRunners::both(Script::Answer);
    // The programs may be below `/tmp`, which a sandbox has empty.
    let programs = packages().canonicalize().unwrap();
    let runner = |name: &str| format!("[[runners]]\nname = \"{name}\"\nwritable = [{programs:?}]\n");
    let config = format!("[tasks]\nsandbox = \"auto\"\n{}", RUNNERS.map(runner).concat());
    real.fixture.home.write(".adjutant/config.toml", config);
    let _hub = real.fixture.hub();
    for name in RUNNERS {
        real.fixture.agent(name, &format!("runner: {name}\n"));
        let mut peer = real.fixture.connect();
        peer.initialize("2025-11-25");
        let mut task = real.fixture.task("look");
        task["agent"] = json!(name);
        let result = peer.delegate_and_wait(1, task);
        assert_eq!(result["message"].as_str().unwrap_or_default().trim(), FINAL_TEXT, "{name}: {result:#}");
        let attempt = &result["run_report"]["attempts"][0];
        // The administrator of a machine has no second sandbox within the first.
        let held = ["kernel (bubblewrap)", "the runner's own sandbox"];
        let is_held =
            held[..if name == "codex" { 2 } else { 1 }].iter().any(|held| attempt["held_by"] == *held);
        assert!(is_held && attempt["session"].is_string(), "{name}: {attempt:#}");
        assert_eq!(result["run_report"]["processes_left"], 0, "{name}");
    }
    real.fixture.assert_no_survivors();
}

#[test]
fn failures_of_the_model_provider_have_their_failure_class() {
    if is_excluded("npm") {
        return;
    }
    for (status, class) in [
        ("401 Unauthorized", "authentication"),
        ("500 Internal Server Error", "provider"),
        ("429 Too Many Requests", "usage_limit"),
    ] {
        let real = RealRunners::both(Script::Refuse(status));
        for runner in RUNNERS {
            let mut peer = real.connect_only(runner, "2025-11-25");
            let result = peer.delegate_and_wait(1, real.fixture.task("look"));
            assert_eq!(result["status"], "failed", "{runner} {status}: {result:#}");
            assert_eq!(result["failure"]["class"], class, "{runner} {status}: {result:#}");
            assert_eq!(result["run_report"]["processes_left"], 0);
        }
        real.fixture.assert_no_survivors();
    }
}

#[test]
fn a_usage_limit_passes_the_task_to_the_next_runner_and_pauses_the_first() {
    if is_excluded("npm") {
        return;
    }
    let real = RealRunners::new(Script::Refuse("429 Too Many Requests"), Script::Answer);
    let mut peer = real.fixture.connect_with_runner("codex");
    peer.initialize("2025-11-25");
    let ran = |result: &Value| -> Vec<(String, Value)> {
        let attempts = result["run_report"]["attempts"].as_array().unwrap().iter();
        attempts
            .map(|attempt| {
                (attempt["runner"].as_str().unwrap().to_owned(), attempt["failure"]["class"].clone())
            })
            .collect()
    };
    let result = peer.delegate_and_wait(1, real.fixture.task("look"));
    assert_eq!(result["status"], "succeeded", "{result:#}");
    assert_eq!(
        ran(&result),
        [("codex".to_owned(), json!("usage_limit")), ("copilot".to_owned(), Value::Null)]
    );
    let asked = real.codex.requests().len();
    // The runner pauses, so it is not tried again.
    let result = peer.delegate_and_wait(2, real.fixture.task("look again"));
    assert_eq!(ran(&result), [("copilot".to_owned(), Value::Null)]);
    assert_eq!(real.codex.requests().len(), asked);
}

/// A command that is unique on this machine: two sleeps, one of them in the background.
fn sleeps() -> (String, String) {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    let word = format!("30{}.{nanos}", std::process::id());
    (format!("sleep {word} & sleep {word}"), word)
}

#[test]
fn a_cancelled_task_of_a_real_runner_leaves_no_process() {
    if is_excluded("npm") {
        return;
    }
    for runner in RUNNERS {
        for by_tool in [false, true] {
            let (command, word) = sleeps();
            let real = RealRunners::both(Script::Shell(command));
            // Copilot has the shell tool at its full permission only; Codex has its sandbox.
            real.fixture.agent("reviewer", if runner == "codex" { "" } else { "permission: full\n" });
            let mut peer = real.connect_only(runner, "2025-11-25");
            let params = json!({"name": "delegate_task", "arguments": real.fixture.task("wait")});
            peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
            wait_until_some("the sleeps of the agent's command", || processes_with_argument(&word));
            let listed = peer.tool(2, "task_list", json!({}));
            let id = listed["structuredContent"]["tasks"][0]["task_id"].clone();
            let started = Instant::now();
            if by_tool {
                peer.tool(3, "task_cancel", json!({"task_id": id}));
            } else {
                let closed = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
                peer.send(&closed);
            }
            let ended = peer.tool(4, "task_wait", json!({"task_id": id, "seconds": 60}));
            // A process that is reported as ended has ended.
            assert_eq!(
                processes_with_argument(&word),
                Vec::<String>::new(),
                "{runner} after {:?}",
                started.elapsed()
            );
            // The supervisor ends right after its report.
            wait_until_none("children of the server", || descendants(peer.child.id()));
            let result = &ended["structuredContent"];
            assert_eq!(result["status"], "cancelled", "{runner}: {result:#}");
            assert_eq!(result["run_report"]["processes_left"], 0);
            real.fixture.assert_no_survivors();
        }
    }
}

#[test]
fn a_killed_hub_leaves_no_process_of_a_real_runner() {
    if is_excluded("npm") {
        return;
    }
    for runner in RUNNERS {
        let (command, word) = sleeps();
        let real = RealRunners::both(Script::Shell(command));
        real.fixture.agent("reviewer", &format!("runner: {runner}\npermission: full\n"));
        let mut hub = real.fixture.hub();
        let mut peer = real.fixture.connect();
        peer.initialize("2025-11-25");
        let id = peer.delegate_in_background(1, real.fixture.task("wait"));
        wait_until_some("the sleeps of the agent's command", || processes_with_argument(&word));
        hub.kill();
        wait_until_none("sleeps of the agent's command", || processes_with_argument(&word));
        real.fixture.assert_no_survivors();
        // The next hub reports what it knows of the run, and repeats nothing by itself.
        let _next = real.fixture.hub();
        let mut peer = real.fixture.connect();
        peer.initialize("2025-11-25");
        let result = peer.tool(1, "task_wait", json!({"task_id": id, "seconds": 60}));
        let result = &result["structuredContent"];
        assert_eq!(result["status"], "failed", "{runner}: {result:#}");
        assert_eq!(result["failure"]["class"], "hub_gone", "{runner}: {result:#}");
        assert_eq!(result["run_report"]["processes_left"], 0, "{runner}: {result:#}");
        assert_eq!(processes_with_argument(&word), Vec::<String>::new());
    }
}

#[test]
fn a_kept_run_of_a_real_runner_is_adopted_by_the_next_hub() {
    if is_excluded("npm") {
        return;
    }
    let real = RealRunners::both(Script::Shell(format!("sleep 3.{}", std::process::id())));
    real.fixture.agent("reviewer", "runner: codex\npermission: full\non_hub_exit: keep\n");
    let mut hub = real.fixture.hub();
    let mut peer = real.fixture.connect();
    peer.initialize("2025-11-25");
    let id = peer.delegate_in_background(1, real.fixture.task("take your time"));
    wait_until_some("the agent's command", || processes_with_argument(&format!("3.{}", std::process::id())));
    hub.kill();
    let _next = real.fixture.hub();
    let mut peer = real.fixture.connect();
    peer.initialize("2025-11-25");
    let result = peer.tool(1, "task_wait", json!({"task_id": id, "seconds": 60}));
    let result = &result["structuredContent"];
    assert_eq!(result["status"], "succeeded", "{result:#}");
    assert_eq!(result["message"].as_str().unwrap().trim(), FINAL_TEXT);
    assert_eq!(result["run_report"]["commands"][0]["exit"], 0, "{result:#}");
    assert_eq!(real.codex.requests().len(), 2, "the run went on, nothing was asked twice");
    real.fixture.assert_no_survivors();
}
