//! The same story with every version and both of its protocols: a turn, a reply, an approved and a denied command, a
//! patch, an interrupt, two threads, a model that refuses.

use super::{RunningCommand, codex, install, output_lines, threads};
use crate::support::Home;
use crate::support::model::{FINAL_TEXT, Model, Script, Turn};
use crate::support::real_clients::{codex_config, is_excluded, node, package};
use crate::support::serving::Serving;

/// A Codex version, and the protocol for it.
struct Version {
    package: &'static str,
    backend: &'static str,
    /// The options with which a command needs an approval.
    asks: fn(String) -> Script,
    /// The approval policy and the sandbox.
    asking: [&'static str; 4],
    /// Its sandbox lets an approved patch be written here, which 0.92's does not.
    writes: bool,
}

const ON_REQUEST: [&str; 4] = ["--approval-policy", "on-request", "--sandbox", "read-only"];
const UNTRUSTED: [&str; 4] = ["--approval-policy", "untrusted", "--sandbox", "workspace-write"];
const PATCH: &str =
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: note.txt\n+hello\n*** End Patch\nEOF";

/// Configures the Codex of the home for this model.
pub(super) fn configure(home: &Home, model: &Model) {
    home.write(".codex/config.toml", codex_config(&model.base_url()));
}

/// Installs the Codex of a package into the home.
pub(super) fn install_package(home: &Home, name: &str, backend: &str) {
    let program = package(&format!("{name}/bin/codex.js"));
    // With bubblewrap on the PATH, its sandbox needs a link that it makes in no folder for temporary files, such as the test's home.
    home.write("tmp/keep", "");
    let tmp = home.path().join("tmp");
    let (tmp, node, program) = (tmp.display(), node().display().to_string(), program.display());
    let script = format!("#!/bin/sh\nTMPDIR='{tmp}' exec '{node}' '{program}' \"$@\"\n");
    install(home, &script, backend);
}

fn run_story(version: &Version) {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    install_package(&home, version.package, version.backend);
    let model = Model::start(Script::Answer);
    configure(&home, &model);
    let mut hub = Serving::socket_hub(&home);

    let first = codex(&home, &["hello", "--approval-policy", "never", "--sandbox", "read-only"]);
    assert!(first.status.success(), "{first}");
    assert_eq!(output_lines(&first.stdout), [FINAL_TEXT], "{first}");
    assert!(first.stdout.starts_with("[mcp "), "{first}");
    let thread =
        first.stderr.trim().strip_prefix("[thread ").and_then(|id| id.strip_suffix(']')).unwrap().to_owned();

    // Two simultaneous threads, one of them the first.
    let reply = RunningCommand::start(&home, &["--thread", &thread, "and again"]);
    let second = RunningCommand::start(&home, &["another", "--approval-policy", "never"]);
    for running in [reply, second] {
        let (text, code) = running.end();
        assert_eq!((output_lines(&text), code), (vec![FINAL_TEXT], Some(0)), "{text}");
    }
    assert_eq!(threads(&home).len(), 2);
    let requests = model.requests();
    let replied = requests.iter().any(|request| {
        let text = request["input"].to_string();
        text.contains("hello") && text.contains("and again") && text.contains(FINAL_TEXT)
    });
    assert!(replied, "the reply did not come with the first turn");

    // Two simultaneous replies to one thread: each has its turn and its answer.
    let both = ["one more", "and another one"]
        .map(|reply| RunningCommand::start(&home, &["--thread", &thread, reply]));
    for running in both {
        let (text, code) = running.end();
        assert_eq!((output_lines(&text).last(), code), (Some(&FINAL_TEXT), Some(0)), "{text}");
    }
    let last = model.requests().pop().unwrap()["input"].to_string();
    assert!(last.contains("one more") && last.contains("and another one"), "{last}");

    // The hub is killed and started again: app-server resumes its threads, mcp-server has forgotten them.
    hub.kill();
    hub = Serving::socket_hub(&home);
    let repeated = codex(&home, &["--thread", &thread, "after the restart"]);
    if version.backend == "mcp-server" {
        assert_eq!(repeated.status.code(), Some(1), "{repeated}");
        assert!(repeated.stderr.contains("Session not found for thread_id"), "{repeated}");
    } else {
        assert_eq!(output_lines(&repeated.stdout).last(), Some(&FINAL_TEXT), "{repeated}");
        let last = model.requests().pop().unwrap()["input"].to_string();
        assert!(last.contains("hello") && last.contains("after the restart"), "{last}");
    }

    let model = Model::start((version.asks)("touch made.txt".to_owned()));
    configure(&home, &model);
    for allow in [false, true] {
        let mut running = RunningCommand::start(&home, &[["touch it"].as_slice(), &version.asking].concat());
        let approval = running.wait_for_approval("touch made.txt");
        let decided = if allow {
            codex(&home, &["approve", &approval])
        } else {
            codex(&home, &["deny", &approval, "not today"])
        };
        assert!(decided.status.success(), "{decided}");
        let (text, code) = running.end();
        assert_eq!(output_lines(&text).last(), Some(&FINAL_TEXT), "{text}");
        assert_eq!(code, Some(0), "{text}");
        assert_eq!(home.path().join("work/made.txt").exists(), allow, "{text}");
    }

    let model = Model::start(Script::Shell(PATCH.to_owned()));
    configure(&home, &model);
    let mut running = RunningCommand::start(&home, &[["write it"].as_slice(), &version.asking].concat());
    let approval = running.wait_for_approval("note.txt");
    assert!(codex(&home, &["approve", &approval]).status.success());
    let (text, code) = running.end();
    assert_eq!((output_lines(&text).last(), code), (Some(&FINAL_TEXT), Some(0)), "{text}");
    assert!(!version.writes || home.path().join("work/note.txt").exists(), "{text}");

    let model = Model::start(Script::Silence);
    configure(&home, &model);
    let mut running = RunningCommand::start(&home, &["wait", "--approval-policy", "never"]);
    running.wait_for("user");
    if version.backend == "mcp-server" {
        let id = threads(&home)[0]["thread"].as_str().unwrap().to_owned();
        let steered = codex(&home, &["steer", &id, "mind the tide"]);
        let answer = "error: codex mcp-server cannot add text to a running turn\nhint: send it as a reply";
        assert!(steered.stderr.starts_with(answer), "{steered}");
    }
    running.interrupt();
    let (text, code) = running.end();
    assert_eq!((output_lines(&text), code), (vec!["[turn interrupted]"], Some(130)), "{text}");

    let model = Model::start(Script::Refuse("401 Unauthorized"));
    configure(&home, &model);
    let refused = codex(&home, &["hello", "--approval-policy", "never"]);
    assert_eq!(refused.status.code(), Some(1), "{refused}");
    assert!(refused.stderr.contains("401 Unauthorized"), "{refused}");

    let ends: Vec<_> =
        threads(&home).iter().map(|thread| thread["last_end"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ends[..2], ["failed", "interrupted"], "{ends:?}");
    assert!(ends[2..].iter().all(|end| end == "completed"), "{ends:?}");
    drop(hub);
}

#[test]
fn codex_0_169_works_over_app_server() {
    run_story(&Version {
        package: "@openai/codex",
        backend: "auto",
        asks: Script::Escalated,
        asking: ON_REQUEST,
        writes: true,
    });
}

#[test]
fn codex_0_153_works_over_app_server() {
    run_story(&Version {
        package: "codex-0-153",
        backend: "app-server",
        asks: Script::Escalated,
        asking: ON_REQUEST,
        writes: true,
    });
}

#[test]
fn codex_0_153_works_over_mcp_server() {
    run_story(&Version {
        package: "codex-0-153",
        backend: "mcp-server",
        asks: Script::Escalated,
        asking: ON_REQUEST,
        writes: true,
    });
}

#[test]
fn codex_0_92_works_over_app_server() {
    run_story(&Version {
        package: "codex-0-92",
        backend: "app-server",
        asks: Script::Escalated,
        asking: ON_REQUEST,
        writes: false,
    });
}

#[test]
fn codex_0_92_works_over_mcp_server() {
    run_story(&Version {
        package: "codex-0-92",
        backend: "mcp-server",
        asks: Script::Shell,
        asking: UNTRUSTED,
        writes: false,
    });
}

#[test]
fn every_version_takes_the_approval_policies_of_the_contract() {
    if is_excluded("npm") {
        return;
    }
    for (package, backend) in [
        ("@openai/codex", "app-server"),
        ("codex-0-153", "app-server"),
        ("codex-0-153", "mcp-server"),
        ("codex-0-92", "app-server"),
        ("codex-0-92", "mcp-server"),
    ] {
        let home = Home::new();
        install_package(&home, package, backend);
        let model = Model::start(Script::Answer);
        configure(&home, &model);
        let _hub = Serving::socket_hub(&home);
        for policy in ["untrusted", "on-failure", "on-request", "never"] {
            let said = codex(&home, &["hello", "--approval-policy", policy, "--sandbox", "read-only"]);
            // Each policy that this program has instead asks less.
            let is_refused = (package, backend, policy) == ("codex-0-153", "mcp-server", "untrusted");
            assert_eq!(said.status.success(), !is_refused, "{package}, {backend}, {policy}: {said}");
            assert_eq!(said.stderr.contains("unknown variant `untrusted`"), is_refused, "{said}");
        }
    }
}

/// Codex stores no beginning of a turn that reviews.
#[test]
fn a_review_is_taken_back_with_the_turn_before_it() {
    if is_excluded("npm") {
        return;
    }
    for operation in ["revert", "fork"] {
        let home = Home::new();
        install_package(&home, "@openai/codex", "app-server");
        let model = Model::start(Script::Answer);
        configure(&home, &model);
        let _hub = Serving::socket_hub(&home);
        let first = codex(&home, &["first", "--approval-policy", "never", "--sandbox", "read-only"]);
        assert!(first.status.success(), "{first}");
        let thread = threads(&home)[0]["thread"].as_str().unwrap().to_owned();
        for words in [&["reply", &thread, "second"][..], &["review", &thread, "look at it"]] {
            let said = codex(&home, words);
            assert!(said.status.success(), "{words:?}: {said}");
        }
        let alone = codex(&home, &[operation, &thread, "--turns", "1"]);
        assert!(alone.stderr.contains("--turns 2"), "{operation}: {alone}");
        let both = codex(&home, &[operation, &thread, "--turns", "2"]);
        assert!(both.status.success(), "{operation}: {both}");
    }
}

/// Later versions list the decisions for a command, without this one.
#[test]
fn a_command_can_be_approved_for_the_whole_session_where_codex_offers_it() {
    if is_excluded("npm") {
        return;
    }
    for (package, is_offered) in [("@openai/codex", false), ("codex-0-153", false), ("codex-0-92", true)] {
        let home = Home::new();
        install_package(&home, package, "app-server");
        let does = Script::Escalated("touch made.txt".to_owned());
        let turn = |on| Turn { on, does: does.clone(), says: FINAL_TEXT };
        let model = Model::start(Script::Turns(vec![turn("touch it"), turn("once more")]));
        configure(&home, &model);
        let hub = Serving::open_hub(&home);
        let made = home.path().join("work/made.txt");

        let mut running = RunningCommand::start(&home, &[["touch it"].as_slice(), &ON_REQUEST].concat());
        let approval = running.wait_for_approval("touch made.txt");
        let thread = threads(&home)[0]["thread"].as_str().unwrap().to_owned();
        let page = hub.page(&format!("/codex/{thread}"));
        assert_eq!(page.contains("Approve for this session"), is_offered, "{package}: {page}");
        let approved = codex(&home, &["approve", "--for-session", &approval]);
        assert_eq!(approved.status.success(), is_offered, "{package}: {approved}");
        if !is_offered {
            assert!(codex(&home, &["deny", &approval]).status.success());
            running.end();
            continue;
        }
        let (text, code) = running.end();
        assert_eq!((output_lines(&text).last(), code), (Some(&FINAL_TEXT), Some(0)), "{package}: {text}");

        std::fs::remove_file(&made).unwrap();
        let repeated = codex(&home, &["--thread", &thread, "once more"]);
        assert_eq!(output_lines(&repeated.stdout), [FINAL_TEXT], "{package}, nothing is asked: {repeated}");
        assert!(made.exists(), "{package}: {repeated}");
    }
}
