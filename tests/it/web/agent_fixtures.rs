//! Agents for the console's tests, and a fake `codex`: it follows its task, and prints the events of the real one.

use std::process::Command;

use serde_json::{Value, json};

use super::console_client::Console;
use crate::support::{Home, Peer};

/// Waits where its task ends in `wait` until a test writes to the fifo `gate`; never ends where it ends in `hang`.
const CODEX: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "codex-cli 0.169.0"; exit; }
task=$(cat)
say() { printf '%s\n' "$1"; }
item() { say "{\"type\":\"item.$1\",\"item\":{\"id\":\"$2\",\"type\":\"$3\",$4}}"; }
say '{"type":"thread.started","thread_id":"0199-tides"}'
case "$task" in *quick) ;; *)
item completed r reasoning '"text":"The tide table is built before it is printed. I look at the builder first."'
item started c command_execution '"command":"rg -n tide src"'
item completed c command_execution '"command":"rg -n tide src","exit_code":0'
;; esac
case "$task" in
*hang) exec sleep 300 ;;
*wait) read -r _ <"$HOME/gate" ;;
*fail) say '{"type":"turn.failed","error":{"message":"the model is <b>not</b> served here"}}'; exit 1 ;;
*hostile) item completed m agent_message '"text":"<script>alert(1)</script> \u202e\u001b[31m<img src=x onerror=alert(1)>"' ;;
esac
case "$task" in *quick) ;; *)
printf 'high water, then low water\nevery 12 h 25 min\n' >tides.txt
echo 'fn tide() -> Table { Table::sorted() }' >tide.rs
item completed f file_change '"changes":[{"path":"tides.txt"},{"path":"tide.rs"}],"status":"completed"'
item started d command_execution '"command":"cargo test tide"'
item completed d command_execution '"command":"cargo test tide","exit_code":101'
item completed m agent_message '"text":"The table was sorted by height, not by time.\n\n- `tide.rs` sorts it by time\n- one test still fails: it expects the old order"'
;; esac
case "$task" in *quick) item completed m agent_message '"text":"Done."' ;; esac
say '{"type":"turn.completed","usage":{"input_tokens":18250,"cached_input_tokens":12000,"output_tokens":913}}'
"#;

/// Puts the agents, the runner and a repository to work in into a home.
pub(crate) fn write_agents(home: &Home) {
    home.write_program("bin/codex", CODEX);
    home.write(
        ".adjutant/agents/reviewer.yaml",
        "description: Reads a change the way a tired colleague would, and says what is wrong with it.\n\
         runner: codex\npermission: workspace-write\ntimeout: 600\npersnoality: stern\n\
         persona: |\n  You review code.\n\n  - Read the change before its description.\n  - Name the file and the line.\n",
    );
    home.write(".adjutant/agents/broken.yaml", "persona: [");
    home.write("work/tides.txt", "low water\nevery 12 h\n");
    git(home, &["init", "--quiet", "--initial-branch=main"]);
    git(home, &["add", "."]);
    git(home, &["commit", "--quiet", "--message=tides"]);
    assert!(Command::new("mkfifo").arg(home.path().join("gate")).status().unwrap().success());
}

fn git(home: &Home, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"])
        .args(arguments)
        .current_dir(home.path().join("work"))
        .env("HOME", home.path())
        .status();
    assert!(done.unwrap().success(), "git {arguments:?}");
}

/// The `PATH` of a hub, with the script first.
pub(crate) fn path(home: &Home) -> String {
    format!("{}:{}", home.path().join("bin").display(), std::env::var("PATH").unwrap_or_default())
}

/// A client that delegates.
pub(crate) struct DelegatingClient {
    peer: Peer,
    last: u64,
}

impl DelegatingClient {
    pub(crate) fn new(console: &Console) -> Self {
        let mut peer = console.connect_agent();
        let client = json!({"name": "claude-code", "version": "2.1.4"});
        peer.call(
            "init",
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        );
        peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        Self { peer, last: 0 }
    }

    /// Delegates a task to the reviewer and returns its id without waiting for it.
    pub(crate) fn delegate(&mut self, console: &Console, task: &str, more: Value) -> String {
        let work = console.home.path().canonicalize().unwrap().join("work");
        let mut arguments =
            json!({"agent": "reviewer", "task": task, "working_directory": work, "background": true});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = self.call("delegate_task", arguments);
        answer["task_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Waits for a task's end.
    pub(crate) fn wait(&mut self, id: &str) -> Value {
        loop {
            let answer = self.call("task_wait", json!({"task_id": id, "seconds": 20}));
            if answer["run_report"].is_object() {
                return answer;
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.last += 1;
        let answer = self.peer.call(self.last, "tools/call", json!({"name": tool, "arguments": arguments}));
        answer["result"]["structuredContent"].clone()
    }
}

/// Lets a waiting run continue.
pub(crate) fn open_gate(console: &Console) {
    std::fs::write(console.home.path().join("gate"), "go\n").unwrap();
}
