//! The files of `packaging/compose`, `packaging/kubernetes` and `packaging/systemd` are valid, and their commands are those of the program.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::Home;
use crate::support::real_clients::{is_excluded, python};

fn packaging() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging")
}

/// Asserts that the program takes these arguments. `--help` is read after them, so nothing starts.
#[track_caller]
fn assert_is_a_command(arguments: &[&str]) {
    let home = Home::new();
    let ran = home.run(arguments.iter().copied().chain(["--help"]), "");
    assert!(ran.status.success(), "adjutant {}\n{}", arguments.join(" "), ran.stderr);
}

#[test]
fn the_files_for_compose_and_kubernetes_are_valid_and_start_commands_that_exist() {
    if is_excluded("python") {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/deployment_files.py");
    let checked = Command::new(python()).arg(script).arg(packaging()).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let checked: Value = serde_json::from_slice(&checked.stdout).unwrap();
    let commands = checked["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 5, "{checked}");
    for command in commands {
        let words: Vec<&str> =
            command.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert_is_a_command(&words);
    }
    // The names are those of crates/workers/src/protocol.rs, which KEDA asks the NATS server for.
    let protocol =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/workers/src/protocol.rs"))
            .unwrap();
    assert!(protocol.contains(&format!("{:?}", checked["stream"].as_str().unwrap())), "{checked}");
    let prefix = checked["consumer"].as_str().unwrap().strip_suffix("codex").unwrap().to_owned();
    assert!(protocol.contains(&format!("\"{prefix}{{runner}}")), "{checked}");
}

#[test]
fn the_service_of_a_worker_starts_a_command_that_exists() {
    let unit = fs::read_to_string(packaging().join("systemd/adjutant-worker.service")).unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/adjutant ")).unwrap();
    assert_is_a_command(&start.split(' ').collect::<Vec<_>>());
    if is_excluded("systemd") {
        return;
    }
    let home = Home::new();
    // Neither the program nor the user of the file is on every machine.
    let copy = unit
        .replace("/usr/bin/adjutant", env!("CARGO_BIN_EXE_adjutant"))
        .replace("User=adjutant-worker", "User=root");
    let file = home.write("adjutant-worker.service", copy);
    let verify = Command::new("systemd-analyze")
        .args(["--man=no", "verify"])
        .arg(file)
        .env("XDG_RUNTIME_DIR", home.path())
        .output()
        .expect("systemd-analyze is in Debian's package systemd");
    let output = String::from_utf8_lossy(&verify.stderr);
    assert!(verify.status.success() && !output.contains("adjutant"), "{output}");
}
