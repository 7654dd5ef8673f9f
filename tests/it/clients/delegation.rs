//! The two real runners behind `delegate_task`, each with a scripted model: what they answer, what it costs, how they
//! fail, and that nothing of them is left. Survivors are counted from the table of processes: by the mark that every
//! process of a run carries, by ancestry, and by an argument that nothing else on the machine has.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::delegation::Desk;
use crate::support::model::{LAST_WORD, Model, Script};
use crate::support::processes::{below, until_none, until_some, with_argument};
use crate::support::real_clients::{RUN_DEADLINE, codex_config, node, package, run, without};
use crate::support::{EndsHub, Peer};

/// A desk whose `codex` or `copilot` is the real one, and the models that they ask.
pub(super) struct Real {
    pub(super) desk: Desk,
    codex: Model,
    copilot: Model,
}

impl Real {
    fn new(codex: Script, copilot: Script) -> Self {
        let real = Self { desk: Desk::new(), codex: Model::start(codex), copilot: Model::start(copilot) };
        real.desk.home.write(".codex/config.toml", codex_config(&real.codex.base_url()));
        // The contract's line asks for a repository.
        real.desk.home.write("work/.git/HEAD", "ref: refs/heads/main\n");
        let start = |package: PathBuf| format!("exec {} {} \"$@\"\n", node().display(), package.display());
        let codex = start(package("@openai/codex/bin/codex.js"));
        real.desk.program("codex", &format!("#!/bin/sh\n{codex}"));
        let copilot = start(package("@github/copilot/npm-loader.js"));
        let base = real.copilot.base_url();
        let model = format!("COPILOT_OFFLINE=true COPILOT_PROVIDER_BASE_URL={base} COPILOT_MODEL=stub-model");
        real.desk.program("copilot", &format!("#!/bin/sh\nexport {model}\n{copilot}"));
        real.desk.configure("", &[]);
        real.desk
            .home
            .write("runners.yaml", "runners: [{name: codex, priority: 1}, {name: copilot, priority: 2}]");
        real
    }

    /// Both do the same.
    pub(super) fn both(script: Script) -> Self {
        Self::new(script.clone(), script)
    }

    pub(super) fn of(&self, runner: &str) -> &Model {
        if runner == "codex" { &self.codex } else { &self.copilot }
    }

    /// `mcp agents` with only this one to run: the other is not installed.
    fn only(&self, runner: &str, revision: &str) -> Peer {
        let file = format!("runners: [{{name: {runner}}}]");
        self.desk.home.write("runners.yaml", file);
        let mut peer = self.desk.alone(runner);
        peer.initialize(revision);
        peer
    }
}

/// Both, by name.
pub(super) const RUNNERS: [&str; 2] = ["codex", "copilot"];

#[test]
fn real_runners_work_through_the_contract() {
    if without("npm") {
        return;
    }
    for runner in RUNNERS {
        let real = Real::both(Script::Answer);
        let folder = real.desk.folder(".adjutant/agents");
        let arguments = ["mcp", "agents", "--agents-dir", folder.to_str().unwrap(), "--runner", runner];
        let mut peer = Peer::start(&mut real.desk.adjutant(&arguments));
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
        let done = peer.tool(3, "delegate_task", real.desk.task("look at the desk"));
        let text = done["content"][0]["text"].as_str().unwrap();
        assert!(done["isError"].is_null() && text.contains(LAST_WORD), "{runner}: {done}");
        let asked = real.of(runner).requests();
        assert!(
            asked.iter().any(|body| body.to_string().contains(r"You review.\n\nTask: look at the desk")),
            "{runner}: {asked:?}"
        );
        let (status, log) = peer.finish();
        assert!(status.success(), "{log}");
        real.desk.no_survivors();
    }
}

#[test]
fn real_runs_have_complete_run_reports() {
    if without("npm") {
        return;
    }
    let real = Real::both(Script::Answer);
    let _hub = real.desk.hub();
    for (runner, version) in [("codex", "codex-cli 0."), ("copilot", "1.0.")] {
        // Nobody names a model here: Codex's events do not tell which one answered, and what it keeps of the session does.
        real.desk.agent(runner, &format!("runner: {runner}\n"));
        let mut peer = real.desk.connect();
        peer.initialize("2025-11-25");
        let mut task = real.desk.task("look");
        task["agent"] = json!(runner);
        let told = peer.delegated(1, task);
        assert_eq!(told["status"], "succeeded", "{runner}: {told:#}");
        assert_eq!(told["message"].as_str().unwrap().trim(), LAST_WORD, "{runner}");
        let report = &told["run_report"];
        let attempt = &report["attempts"][0];
        assert_eq!(attempt["runner"], runner);
        assert_eq!(attempt["exit"], 0);
        assert!(
            attempt["version"].as_str().is_some_and(|told| told.contains(version)),
            "{runner}: {attempt:#}"
        );
        assert!(attempt["session"].as_str().is_some_and(|told| told.len() > 30), "{runner}: {attempt:#}");
        assert_eq!(attempt["model"], "stub-model", "{runner}: {attempt:#}");
        let usage = json!({"input_tokens": 7, "cached_tokens": 3, "output_tokens": 5});
        assert_eq!(report["usage"], usage, "{runner}: {report:#}");
        assert_eq!(report["processes_left"], 0);
        assert_eq!(report["permission"], "read-only");
        for measured in ["peak_rss_bytes", "cpu_ms", "wall_ms"] {
            assert!(report[measured].as_u64().unwrap() > 0, "{runner} {measured}: {report:#}");
        }
    }
    real.desk.no_survivors();
}

#[test]
fn failures_of_the_model_provider_have_their_failure_class() {
    if without("npm") {
        return;
    }
    for (status, class) in [
        ("401 Unauthorized", "authentication"),
        ("500 Internal Server Error", "provider"),
        ("429 Too Many Requests", "usage_limit"),
    ] {
        let real = Real::both(Script::Refuse(status));
        for runner in RUNNERS {
            let mut peer = real.only(runner, "2025-11-25");
            let told = peer.delegated(1, real.desk.task("look"));
            assert_eq!(told["status"], "failed", "{runner} {status}: {told:#}");
            assert_eq!(told["failure"]["class"], class, "{runner} {status}: {told:#}");
            assert_eq!(told["run_report"]["processes_left"], 0);
        }
        real.desk.no_survivors();
    }
}

#[test]
fn a_usage_limit_passes_the_task_to_the_next_runner_and_pauses_the_first() {
    if without("npm") {
        return;
    }
    let real = Real::new(Script::Refuse("429 Too Many Requests"), Script::Answer);
    let mut peer = real.desk.alone("codex");
    peer.initialize("2025-11-25");
    let ran = |told: &Value| -> Vec<(String, Value)> {
        let attempts = told["run_report"]["attempts"].as_array().unwrap().iter();
        attempts
            .map(|attempt| {
                (attempt["runner"].as_str().unwrap().to_owned(), attempt["failure"]["class"].clone())
            })
            .collect()
    };
    let told = peer.delegated(1, real.desk.task("look"));
    assert_eq!(told["status"], "succeeded", "{told:#}");
    assert_eq!(ran(&told), [("codex".to_owned(), json!("usage_limit")), ("copilot".to_owned(), Value::Null)]);
    let asked = real.codex.requests().len();
    // It rests: nobody asks it again.
    let told = peer.delegated(2, real.desk.task("look again"));
    assert_eq!(ran(&told), [("copilot".to_owned(), Value::Null)]);
    assert_eq!(real.codex.requests().len(), asked);
}

/// A command that no other process of this machine runs: two sleeps, one of them in the background.
fn sleeps() -> (String, String) {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    let word = format!("30{}.{nanos}", std::process::id());
    (format!("sleep {word} & sleep {word}"), word)
}

#[test]
fn a_cancelled_task_of_a_real_runner_leaves_no_process() {
    if without("npm") {
        return;
    }
    for runner in RUNNERS {
        for by_tool in [false, true] {
            let (command, word) = sleeps();
            let real = Real::both(Script::Shell(command));
            // The shell is a tool that Copilot has at its full level only; Codex has its sandbox.
            real.desk.agent("reviewer", if runner == "codex" { "" } else { "permission: full\n" });
            let mut peer = real.only(runner, "2025-11-25");
            let params = json!({"name": "delegate_task", "arguments": real.desk.task("wait")});
            peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
            until_some("the sleeps of the agent's command", || with_argument(&word));
            let listed = peer.tool(2, "task_list", json!({}));
            let id = listed["structuredContent"]["tasks"][0]["task_id"].clone();
            let started = Instant::now();
            if by_tool {
                peer.tool(3, "task_cancel", json!({"task_id": id}));
            } else {
                let gone = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
                peer.send(&gone);
            }
            let ended = peer.tool(4, "task_wait", json!({"task_id": id, "seconds": 60}));
            // What is said to be gone is gone at this very moment.
            assert_eq!(with_argument(&word), Vec::<String>::new(), "{runner} after {:?}", started.elapsed());
            // The supervisor itself is gone as soon as it has said so.
            until_none("children of the server", || below(peer.child.id()));
            let told = &ended["structuredContent"];
            assert_eq!(told["status"], "cancelled", "{runner}: {told:#}");
            assert_eq!(told["run_report"]["processes_left"], 0);
            real.desk.no_survivors();
        }
    }
}

#[test]
fn a_killed_hub_leaves_no_process_of_a_real_runner() {
    if without("npm") {
        return;
    }
    for runner in RUNNERS {
        let (command, word) = sleeps();
        let real = Real::both(Script::Shell(command));
        real.desk.agent("reviewer", &format!("runner: {runner}\npermission: full\n"));
        let mut hub = real.desk.hub();
        let mut peer = real.desk.connect();
        peer.initialize("2025-11-25");
        let id = peer.in_background(1, real.desk.task("wait"));
        until_some("the sleeps of the agent's command", || with_argument(&word));
        hub.kill();
        until_none("sleeps of the agent's command", || with_argument(&word));
        real.desk.no_survivors();
        // The next hub says what is known of it, and runs nothing again by itself.
        let _next = real.desk.hub();
        let mut peer = real.desk.connect();
        peer.initialize("2025-11-25");
        let told = peer.tool(1, "task_wait", json!({"task_id": id, "seconds": 60}));
        let told = &told["structuredContent"];
        assert_eq!(told["status"], "failed", "{runner}: {told:#}");
        assert_eq!(told["failure"]["class"], "hub_gone", "{runner}: {told:#}");
        assert_eq!(told["run_report"]["processes_left"], 0, "{runner}: {told:#}");
        assert_eq!(with_argument(&word), Vec::<String>::new());
    }
}

#[test]
fn a_kept_run_of_a_real_runner_is_adopted_by_the_next_hub() {
    if without("npm") {
        return;
    }
    let real = Real::both(Script::Shell(format!("sleep 3.{}", std::process::id())));
    real.desk.agent("reviewer", "runner: codex\npermission: full\non_hub_exit: keep\n");
    let mut hub = real.desk.hub();
    let mut peer = real.desk.connect();
    peer.initialize("2025-11-25");
    let id = peer.in_background(1, real.desk.task("take your time"));
    until_some("the agent's command", || with_argument(&format!("3.{}", std::process::id())));
    hub.kill();
    let _next = real.desk.hub();
    let mut peer = real.desk.connect();
    peer.initialize("2025-11-25");
    let told = peer.tool(1, "task_wait", json!({"task_id": id, "seconds": 60}));
    let told = &told["structuredContent"];
    assert_eq!(told["status"], "succeeded", "{told:#}");
    assert_eq!(told["message"].as_str().unwrap().trim(), LAST_WORD);
    assert_eq!(told["run_report"]["commands"][0]["exit"], 0, "{told:#}");
    assert_eq!(real.codex.requests().len(), 2, "the run went on, nothing was asked twice");
    real.desk.no_survivors();
}

/// The lines of the README, as they stand there, in a home where nothing is set up but Codex.
#[test]
fn the_delegation_commands_of_the_readme_work() {
    if without("npm") {
        return;
    }
    let readme = include_str!("../../../README.md");
    let (_, section) = readme.split_once("## Delegate a task").unwrap();
    let (_, block) = section.split_once("```sh\n").unwrap();
    let (lines, _) = block.split_once("```").unwrap();
    assert_eq!(lines.lines().count(), 10);

    let real = Real::both(Script::Answer);
    // Another hub may have the usual port.
    real.desk.home.write(".adjutant/config.toml", "[http]\naddress = \"off\"\n");
    std::fs::remove_dir_all(real.desk.folder(".adjutant/agents")).unwrap();
    std::fs::remove_dir_all(real.desk.folder("work/.git")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_adjutant"), real.desk.folder("bin/adjutant")).unwrap();
    let dressed = real.desk.adjutant(&[]);
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        let environment = dressed.get_envs().filter_map(|(name, value)| Some((name, value?)));
        shell.env_clear().envs(environment).args(["-e", "-c", script]).current_dir(real.desk.folder("work"));
        run(&mut shell, RUN_DEADLINE)
    };
    let author = "-c user.name=T -c user.email=t@example.org";
    let ready = shell(&format!("git init --quiet; git add .; git {author} commit --quiet -m first"));
    assert!(ready.status.success(), "{ready}");
    let _hub = EndsHub(&real.desk.home);
    let done = shell(lines);
    assert!(done.status.success(), "{done}");
    assert_eq!(done.stdout.matches(LAST_WORD).count(), 2, "{done}");
    let config = std::fs::read_to_string(real.desk.folder(".codex/config.toml")).unwrap();
    assert!(config.contains("[mcp_servers.agents]"), "{config}");
}
