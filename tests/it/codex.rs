//! Codex sessions from the command line, with the real Codex of three versions and a scripted model.

mod approvals;
mod browser;
mod clients;
mod demo_picture;
mod drop_in;
mod external_threads;
mod faults;
mod follow;
mod operations;
mod pages;
mod recorded;
mod secrets;
mod sub_agents;
mod terminal;
mod versions;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::real_clients::RUN_DEADLINE;
use crate::support::{Finished, Home, schemas};

/// `adjutant codex` that runs, line by line.
struct RunningCommand {
    arguments: Vec<String>,
    child: Child,
    lines: Receiver<String>,
    output: String,
}

impl RunningCommand {
    fn start(home: &Home, arguments: &[&str]) -> Self {
        let arguments: Vec<String> = ["codex"].iter().chain(arguments).map(ToString::to_string).collect();
        let mut command = home.adjutant(&arguments);
        let mut child = command
            .current_dir(home.path().join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Self { arguments, child, lines, output: String::new() }
    }

    /// Waits for a line that holds `part`, and returns it.
    fn wait_for(&mut self, part: &str) -> String {
        let end = Instant::now() + RUN_DEADLINE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|error| panic!("no `{part}` ({error}) in\n{}", self.output));
            self.output.push_str(&line);
            self.output.push('\n');
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Waits for an approval, and returns its name.
    fn wait_for_approval(&mut self, about: &str) -> String {
        let line = self.wait_for("[approval ");
        assert!(line.contains(about), "{line}\n{}", self.output);
        line.split([' ', ']']).nth(1).unwrap().to_owned()
    }

    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Waits for its end; returns its output and its exit code.
    fn end(mut self) -> (String, Option<i32>) {
        let end = Instant::now() + RUN_DEADLINE;
        while let Ok(line) = self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            self.output.push_str(&line);
            self.output.push('\n');
        }
        let status = crate::support::wait(&mut self.child, RUN_DEADLINE);
        if self.arguments.iter().any(|word| word == "--json") {
            schemas::check_values(&self.arguments, &self.output);
        }
        (self.output, status.code())
    }
}

/// Writes a fake `codex` and configures it.
fn install(home: &Home, script: &str, backend: &str) {
    let program = home.write_program("bin/codex", script);
    home.write("work/README.md", "An empty project.\n");
    home.write(
        ".adjutant/config.toml",
        format!("[codex]\nprogram = {:?}\nbackend = \"{backend}\"\n", program.to_str().unwrap()),
    );
}

/// Runs `adjutant codex` to its end.
fn codex(home: &Home, arguments: &[&str]) -> Finished {
    let arguments = [["codex"].as_slice(), arguments].concat();
    let mut command = home.adjutant(&arguments);
    let finished =
        crate::support::real_clients::run(command.current_dir(home.path().join("work")), RUN_DEADLINE);
    schemas::check(&arguments, &finished);
    finished
}

/// The known threads, the most recent first.
fn threads(home: &Home) -> Vec<Value> {
    let listed = codex(home, &["list", "--json"]);
    let listed: Value =
        serde_json::from_str(&listed.stdout).unwrap_or_else(|error| panic!("{error}\n{listed}"));
    listed["items"].as_array().unwrap().clone()
}

/// The lines of output that are not a notification's.
fn output_lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("[mcp ")).collect()
}

#[test]
fn a_mistyped_command_starts_no_session() {
    let home = Home::new();
    // It fails before it prints a version: a command that starts Codex fails with Codex's message.
    install(&home, "#!/bin/sh\nexit 3\n", "app-server");
    let cases = [
        (&["lits"][..], Some("list")),
        (&["Aprove"], Some("approve")),
        (&["--model", "small", "list"], Some("list")),
        (&["--", "lits"], None),
        (&["--", "list"], None),
        (&["lits", "the", "files"], None),
        (&["lits the files"], None),
        (&["refactor"], None),
        (&["look"], None),
        (&["forge"], None),
    ];
    for (words, meant) in cases {
        let output = codex(&home, words);
        let mistyped = output.stderr.contains("looks like a command, not like a prompt\n");
        assert_eq!(mistyped, meant.is_some(), "{words:?}: {output}");
        if let Some(meant) = meant {
            let word = words.last().unwrap();
            assert_eq!(output.status.code(), Some(2), "{output}");
            assert!(output.stderr.contains(&format!("hint: did you mean `{meant}`")), "{output}");
            assert!(output.stderr.ends_with(&format!(": adjutant codex -- {word}\n")), "{output}");
        }
    }
    assert!(threads(&home).is_empty());
}

/// The processes of the test, or below them, that still run in the home.
fn processes_of(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
        let home = format!("HOME={}", folder.display());
        if environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes()) {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&command).replace('\0', " "));
        }
    }
    found
}
