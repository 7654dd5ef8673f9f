//! Codex sessions from the command line, with the real Codex of three versions and a scripted model.

mod approvals;
mod browser;
mod clients;
mod drop_in;
mod external_threads;
mod faults;
mod pages;
mod recorded;
mod sub_agents;
mod terminal;
mod versions;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::real_clients::RUN_DEADLINE;
use crate::support::{Finished, Home};

/// `adjutant codex` that runs, line by line.
struct Running {
    child: Child,
    lines: Receiver<String>,
    said: String,
}

impl Running {
    fn start(home: &Home, arguments: &[&str]) -> Self {
        let mut command = home.adjutant([["codex"].as_slice(), arguments].concat());
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
        Self { child, lines, said: String::new() }
    }

    /// Waits for a line that holds `part`, and returns it.
    fn wait_for(&mut self, part: &str) -> String {
        let end = Instant::now() + RUN_DEADLINE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|error| panic!("no `{part}` ({error}) in\n{}", self.said));
            self.said.push_str(&line);
            self.said.push('\n');
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Waits for an approval, and returns its name.
    fn wait_for_approval(&mut self, about: &str) -> String {
        let line = self.wait_for("[approval ");
        assert!(line.contains(about), "{line}\n{}", self.said);
        line.split([' ', ']']).nth(1).unwrap().to_owned()
    }

    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Waits for its end; returns what it said and its exit code.
    fn end(mut self) -> (String, Option<i32>) {
        let end = Instant::now() + RUN_DEADLINE;
        while let Ok(line) = self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            self.said.push_str(&line);
            self.said.push('\n');
        }
        let status = crate::support::wait(&mut self.child, RUN_DEADLINE);
        (self.said, status.code())
    }
}

/// Writes a program that stands for `codex`, and has the hub use it.
fn install(home: &Home, script: &str, backend: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let program = home.write("bin/codex", script);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    home.write("work/README.md", "An empty desk.\n");
    home.write(
        ".adjutant/config.toml",
        format!("[codex]\nprogram = {:?}\nbackend = \"{backend}\"\n", program.to_str().unwrap()),
    );
}

/// Runs `adjutant codex` to its end.
fn codex(home: &Home, arguments: &[&str]) -> Finished {
    let mut command = home.adjutant([["codex"].as_slice(), arguments].concat());
    crate::support::real_clients::run(command.current_dir(home.path().join("work")), RUN_DEADLINE)
}

/// The threads that are known, the last used first.
fn threads(home: &Home) -> Vec<Value> {
    let listed = codex(home, &["list", "--json"]);
    let listed: Value =
        serde_json::from_str(&listed.stdout).unwrap_or_else(|error| panic!("{error}\n{listed}"));
    listed["threads"].as_array().unwrap().clone()
}

/// The lines that are not a notification's.
fn said(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("[mcp ")).collect()
}

/// The recordings of the sessions of a home, the oldest first.
fn recordings(home: &Home) -> Vec<PathBuf> {
    let Ok(folder) = std::fs::read_dir(home.path().join(".adjutant/logs/recordings")) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_mistyped_command_starts_no_session() {
    let home = Home::new();
    // It does not even tell its version: whatever gets as far as Codex fails in words of its own.
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
    ];
    for (words, meant) in cases {
        let told = codex(&home, words);
        let slip = told.stderr.contains("looks like a command, not like a prompt\n");
        assert_eq!(slip, meant.is_some(), "{words:?}: {told}");
        if let Some(meant) = meant {
            let word = words.last().unwrap();
            assert_eq!(told.status.code(), Some(2), "{told}");
            assert!(told.stderr.contains(&format!("hint: did you mean `{meant}`")), "{told}");
            assert!(told.stderr.ends_with(&format!(": adjutant codex -- {word}\n")), "{told}");
        }
    }
    assert!(threads(&home).is_empty());
}

/// Whether a process of ours, or below one, still works in the home.
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
