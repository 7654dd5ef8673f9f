//! A desk where tasks are delegated: agents, runners on a PATH of its own, a folder to work in.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::processes::{runs_in, until_none};
use super::serving::Serving;
use super::{DEADLINE, Home, Peer};

const RUNNER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/runner.sh");

/// The fake runner as a CLI that takes its prompt on stdin: the task's first line is its mode, and the prompt stands
/// on its stdin again.
const FAKE: &str = r#"#!/bin/sh
prompt=$(mktemp)
cat >"$prompt"
mode=$(sed -n '/^Task: /{s///p;q}' "$prompt" | head -c 1000)
exec 0<"$prompt"
rm "$prompt"
"#;

/// A home with the agent `reviewer`, and the fake runner for it under the name `fake`.
pub(crate) struct Desk {
    pub(crate) home: Home,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let desk = Self { home: Home::new() };
        desk.home.write("work/README.md", "An empty desk.\n");
        desk.home.write("tmp/keep", "");
        desk.agent("reviewer", "");
        desk.configure("", &["fake"]);
        desk
    }

    /// Writes an agent; `more` are further lines of its file.
    pub(crate) fn agent(&self, name: &str, more: &str) {
        let text = format!("persona: You review.\ndescription: Reviews code\n{more}");
        self.home.write(&format!(".adjutant/agents/{name}.yaml"), text);
    }

    /// Writes `config.toml` with these lines in `[tasks]`, and fake runners of these names, in this order; also as a
    /// `--runner-config` file.
    pub(crate) fn configure(&self, tasks: &str, runners: &[&str]) {
        let mut toml = format!("[tasks]\n{tasks}\n");
        let mut listed = Vec::new();
        for (priority, name) in runners.iter().enumerate() {
            self.program(name, &format!("{FAKE}exec {RUNNER} $mode\n"));
            let settings = json!({
                "name": name, "priority": priority, "command": [self.folder("bin").join(name)],
                "stdin": "prompt", "final_message": "stdout",
                "levels": ["read-only", "workspace-write", "full"],
                "usage_limit": ["usage limit"], "authentication": ["401"],
            });
            toml += "[[runners]]\n";
            for (key, value) in settings.as_object().unwrap() {
                toml += &format!("{key} = {value}\n");
            }
            listed.push(settings);
        }
        self.home.write(".adjutant/config.toml", toml);
        // JSON is YAML.
        self.home.write("runners.yaml", json!({"runners": listed}).to_string());
    }

    /// Puts an executable on the desk's PATH.
    pub(crate) fn program(&self, name: &str, text: &str) {
        let file = self.home.write(&format!("bin/{name}"), text);
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The real path of a folder of the desk.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn adjutant(&self, arguments: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = self.home.adjutant(arguments);
        command
            .env("PATH", format!("{}:{path}", self.home.path().join("bin").display()))
            .env("TMPDIR", self.home.path().join("tmp"));
        command
    }

    /// `mcp agents` with this runner; the configured ones are there too.
    pub(crate) fn alone(&self, runner: &str) -> Peer {
        let (agents, runners) = (self.folder(".adjutant/agents"), self.folder("runners.yaml"));
        let arguments = ["mcp", "agents", "--runner", runner, "--agents-dir", agents.to_str().unwrap()];
        let arguments = [&arguments[..], &["--runner-config", runners.to_str().unwrap()]].concat();
        Peer::start(&mut self.adjutant(&arguments))
    }

    /// A hub with socket and an HTTP door that asks nobody.
    pub(crate) fn hub(&self) -> Serving {
        Serving::open_hub_of(self.adjutant(&[]), &self.home)
    }

    /// A client on the hub's socket.
    pub(crate) fn connect(&self) -> Peer {
        Peer::start(&mut self.adjutant(&["connect", "agents", "--no-start"]))
    }

    /// The arguments of a delegation to `reviewer`.
    pub(crate) fn task(&self, task: &str) -> Value {
        json!({"agent": "reviewer", "task": task, "working_directory": self.folder("work")})
    }

    /// Waits until no process of this desk's runs is left. They carry its home and the mark of their run.
    pub(crate) fn no_survivors(&self) {
        until_none("survivors", || runs_in(self.home.path()));
    }
}

impl Peer {
    /// Calls a tool and returns the result.
    pub(crate) fn tool(&mut self, id: i64, name: &str, arguments: Value) -> Value {
        let answer = self.call(id, "tools/call", json!({"name": name, "arguments": arguments}));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Delegates and waits for the end, however long the client's patience is; returns the structured result.
    pub(crate) fn delegated(&mut self, id: i64, arguments: Value) -> Value {
        let mut told = self.tool(id, "delegate_task", arguments)["structuredContent"].clone();
        while told["status"] == "queued" || told["status"] == "running" {
            let wait = json!({"task_id": told["task_id"], "seconds": 60});
            told = self.tool(id, "task_wait", wait)["structuredContent"].clone();
        }
        told
    }

    /// Waits until a task's agent has said this.
    pub(crate) fn until_it_says(&mut self, id: i64, task: &str, word: &str) {
        let end = Instant::now() + DEADLINE;
        loop {
            let told = self.tool(id, "task_get", json!({"task_id": task}));
            let lately = told["structuredContent"]["activity"].as_array();
            if lately.is_some_and(|lines| lines.iter().any(|line| line == word)) {
                return;
            }
            assert!(Instant::now() < end, "{word}: {told:#}");
        }
    }

    /// Delegates in the background and returns the task's id.
    pub(crate) fn in_background(&mut self, id: i64, mut arguments: Value) -> String {
        arguments["background"] = json!(true);
        let told = self.tool(id, "delegate_task", arguments);
        told["structuredContent"]["task_id"].as_str().unwrap_or_else(|| panic!("no task: {told}")).to_owned()
    }
}
