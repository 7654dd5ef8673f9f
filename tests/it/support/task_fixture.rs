//! A home for delegated tasks: agents, runners on a separate PATH, a folder to work in.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::process_table::{runs_of_home, wait_until_none};
use super::serving::Serving;
use super::{DEADLINE, Home, Peer};

/// The program of the fake runners.
pub(crate) const RUNNER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/runner.sh");

/// The fake runner as a CLI that takes its prompt on stdin: the task's first line is its mode, and the prompt is its
/// stdin.
const FAKE_CLI: &str = r#"#!/bin/sh
prompt=$(mktemp)
cat >"$prompt"
mode=$(sed -n '/^Task: /{s///p;q}' "$prompt" | head -c 1000)
exec 0<"$prompt"
rm "$prompt"
"#;

/// A home with the agent `reviewer`, and the fake runner for it under the name `fake`.
pub(crate) struct TaskFixture {
    pub(crate) home: Home,
}

impl TaskFixture {
    pub(crate) fn new() -> Self {
        let fixture = Self { home: Home::new() };
        fixture.home.write("work/README.md", "An empty project.\n");
        fixture.home.write("tmp/keep", "");
        fixture.agent("reviewer", "");
        fixture.configure("", &["fake"]);
        fixture
    }

    /// Writes an agent; `more` are further lines of its file.
    pub(crate) fn agent(&self, name: &str, more: &str) {
        let text = format!("persona: You review.\ndescription: Reviews code\n{more}");
        self.home.write(&format!(".adjutant/agents/{name}.yaml"), text);
    }

    /// Writes `config.toml` with these lines in `[tasks]`, without a sandbox unless they name one, and fake runners of these names, in this order; also as a
    /// `--runner-config` file.
    pub(crate) fn configure(&self, tasks: &str, runners: &[&str]) {
        let none = if tasks.contains("sandbox = ") { "" } else { "sandbox = \"none\"" };
        let mut toml = format!("[tasks]\n{none}\n{tasks}\n");
        let mut listed = Vec::new();
        for (priority, name) in runners.iter().enumerate() {
            self.program(name, &format!("{FAKE_CLI}exec {RUNNER} $mode\n"));
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

    /// Puts a git on the fixture's PATH that stops at each command whose line has `word`, until the file `gate` is removed,
    /// and runs the lines `then` of a shell afterwards. Returns the paths of a file that shows that git has stopped, and of the gate.
    pub(crate) fn stopping_git(&self, word: &str, then: &str) -> (PathBuf, PathBuf) {
        let (reached, gate) = (self.folder("reached"), self.home.write("gate", ""));
        let path = std::env::var("PATH").unwrap();
        let git = format!(
            "#!/bin/sh\nPATH='{path}'\ncase \"$*\" in *{word}*) touch '{}'; while test -e '{}'; do sleep 0.02; done; {then} ;; esac\nexec git \"$@\"\n",
            reached.display(),
            gate.display(),
        );
        self.program("git", &git);
        (reached, gate)
    }

    /// Puts an executable on the fixture's PATH.
    pub(crate) fn program(&self, name: &str, text: &str) {
        self.home.write_program(&format!("bin/{name}"), text);
    }

    /// The real path of a folder of the fixture.
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

    /// `mcp agents` with this runner; the configured ones are available too.
    pub(crate) fn connect_with_runner(&self, runner: &str) -> Peer {
        let (agents, runners) = (self.folder(".adjutant/agents"), self.folder("runners.yaml"));
        let arguments = ["mcp", "agents", "--runner", runner, "--agents-dir", agents.to_str().unwrap()];
        let arguments = [&arguments[..], &["--runner-config", runners.to_str().unwrap()]].concat();
        Peer::start(&mut self.adjutant(&arguments))
    }

    /// A hub with socket and HTTP, without authentication.
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

    /// Runs git in the working folder, without the configuration of this machine.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in("work", arguments)
    }

    /// Runs git in a folder of the fixture.
    pub(crate) fn git_in(&self, folder: &str, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]);
        git.args(["-c", "protocol.file.allow=always"]).args(arguments).current_dir(self.folder(folder));
        let done =
            git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// Makes the working folder a repository with one commit of everything in it.
    pub(crate) fn commit_all(&self) {
        self.git(&["init", "--quiet"]);
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "-m", "first"]);
    }

    /// Makes the working folder a repository with the submodule `sub`, which has the file `s.txt`.
    pub(crate) fn commit_with_submodule(&self) {
        self.home.write("origin/s.txt", "sub\n");
        self.git_in("origin", &["init", "--quiet"]);
        self.git_in("origin", &["add", "."]);
        self.git_in("origin", &["commit", "--quiet", "-m", "first"]);
        self.git(&["init", "--quiet"]);
        self.git(&["submodule", "--quiet", "add", "../origin", "sub"]);
        self.commit_all();
    }

    /// Waits until no process of this fixture's runs is left. They carry its home and the mark of their run.
    pub(crate) fn assert_no_survivors(&self) {
        wait_until_none("survivors", || runs_of_home(self.home.path()));
    }
}

impl Peer {
    /// Calls a tool and returns the result.
    pub(crate) fn tool(&mut self, id: i64, name: &str, arguments: Value) -> Value {
        let answer = self.call(id, "tools/call", json!({"name": name, "arguments": arguments}));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Delegates and waits for the end, past the timeout of a call; returns the structured result.
    pub(crate) fn delegate_and_wait(&mut self, id: i64, arguments: Value) -> Value {
        let mut result = self.tool(id, "delegate_task", arguments)["structuredContent"].clone();
        while result["status"] == "queued" || result["status"] == "running" {
            let wait = json!({"task_id": result["task_id"], "seconds": 60});
            result = self.tool(id, "task_wait", wait)["structuredContent"].clone();
        }
        result
    }

    /// Delegates and waits for the end; returns the structured result and the line of the run report.
    pub(crate) fn reported(&mut self, id: i64, arguments: Value) -> (Value, String) {
        let result = self.delegate_and_wait(id, arguments);
        let shown = self.tool(id, "task_get", json!({"task_id": result["task_id"]}));
        let line = shown["content"].as_array().unwrap().iter().filter_map(|block| block["text"].as_str());
        let line = line.filter(|text| text.starts_with("Run report of task ")).collect::<String>();
        (result, line)
    }

    /// Waits until a task's agent has printed this text.
    pub(crate) fn wait_for_activity(&mut self, id: i64, task: &str, word: &str) {
        let end = Instant::now() + DEADLINE;
        loop {
            let result = self.tool(id, "task_get", json!({"task_id": task}));
            let activity = result["structuredContent"]["activity"].as_array();
            if activity.is_some_and(|lines| lines.iter().any(|line| line == word)) {
                return;
            }
            assert!(Instant::now() < end, "{word}: {result:#}");
        }
    }

    /// Delegates in the background and returns the task's id.
    pub(crate) fn delegate_in_background(&mut self, id: i64, mut arguments: Value) -> String {
        arguments["background"] = json!(true);
        let answer = self.tool(id, "delegate_task", arguments);
        answer["structuredContent"]["task_id"]
            .as_str()
            .unwrap_or_else(|| panic!("no task: {answer}"))
            .to_owned()
    }
}
