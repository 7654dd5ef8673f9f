//! Recorded Codex sessions, and a recording in the place of Codex.

use super::versions::{configure, install_package};
use super::{codex, install, output_lines};
use crate::recorder::recordings;
use crate::support::Home;
use crate::support::model::{FINAL_TEXT, Model, Script};
use crate::support::real_clients::is_excluded;
use crate::support::serving::Serving;

const TURN: [&str; 5] = ["hello", "--approval-policy", "never", "--sandbox", "read-only"];

/// Installs a fake Codex that replays a recording.
fn player(home: &Home, version: &str, recording: &std::path::Path) {
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo codex-cli {version}; exit; fi\n\
         exec '{}' log replay '{}' --ignore cwd --report '{}'\n",
        env!("CARGO_BIN_EXE_adjutant"),
        recording.display(),
        home.path().join("report.txt").display(),
    );
    install(home, &script, "auto");
}

#[test]
fn replaying_a_recorded_codex_session_gives_the_same_output() {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    install_package(&home, "@openai/codex", "auto");
    let model = Model::start(Script::Answer);
    configure(&home, &model);
    let hub = Serving::socket_hub(&home);
    let real = codex(&home, &TURN);
    assert_eq!(output_lines(&real.stdout), [FINAL_TEXT], "{real}");
    let thread = real.stderr.trim().strip_prefix("[thread ").and_then(|id| id.strip_suffix(']')).unwrap();
    // It is found by Codex's thread id, also while its process is still open.
    let exported = home.run(["log", "export", thread, "--output", "bug.jsonl"], "");
    assert!(exported.status.success(), "{exported}");
    drop(hub);

    let elsewhere = Home::new();
    player(&elsewhere, "0.169.0", &home.path().join("bug.jsonl"));
    let hub = Serving::socket_hub(&elsewhere);
    let played = codex(&elsewhere, &TURN);
    assert_eq!(played.stdout, real.stdout);
    assert_eq!((played.stderr.as_str(), played.status.code()), (real.stderr.as_str(), Some(0)));
    hub.stop();
    let report = std::fs::read_to_string(elsewhere.path().join("report.txt")).unwrap();
    assert!(report.ends_with("lines replayed, all as recorded\n"), "{report}");
}

#[test]
fn a_replay_reports_a_decision_that_differs_from_the_recording() {
    let home = Home::new();
    install(&home, &super::faults::app_server(super::faults::APPROVAL_TURN), "auto");
    let hub = Serving::socket_hub(&home);
    let decide = |home: &Home, option: &str| {
        let mut running = super::RunningCommand::start(home, &["do it"]);
        let approval = running.wait_for_approval("rm -rf");
        assert!(codex(home, &[option, &approval]).status.success());
        running.end().0
    };
    let real = decide(&home, "approve");
    assert!(real.contains("accept"), "{real}");
    drop(hub);
    let recording = recordings(&home).pop().unwrap();
    let elsewhere = Home::new();
    player(&elsewhere, "0.169.0", &recording);
    let hub = Serving::socket_hub(&elsewhere);
    let lines = |text: &str| {
        text.lines().filter(|line| !line.starts_with("[approval ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(&decide(&elsewhere, "deny")), lines(&real));
    hub.stop();
    let report = std::fs::read_to_string(elsewhere.path().join("report.txt")).unwrap();
    assert!(report.contains("result.decision was \"accept\", is \"decline\""), "{report}");
}

#[test]
fn codex_sessions_are_recorded_unless_recording_is_switched_off() {
    let home = Home::new();
    install(&home, &super::faults::app_server("say done; done_"), "auto");
    let config = std::fs::read_to_string(home.path().join(".adjutant/config.toml")).unwrap();
    home.write(".adjutant/config.toml", format!("{config}\n[log]\nrecord = []\n"));
    let hub = Serving::socket_hub(&home);
    assert!(codex(&home, &["hello"]).status.success());
    drop(hub);
    assert!(recordings(&home).is_empty());
    home.write(".adjutant/config.toml", config);
    let hub = Serving::socket_hub(&home);
    assert!(codex(&home, &["hello"]).status.success());
    hub.stop();
    let text = std::fs::read_to_string(recordings(&home).pop().unwrap()).unwrap();
    for part in [
        r#""about":"codex app-server 0.169.0""#,
        r#""dir":"note","line":"thread t-1""#,
        r#"\"method\":\"initialize\""#,
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}
