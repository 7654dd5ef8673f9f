//! The same story with every version and both of its protocols: a turn, a reply, a command that is allowed and one
//! that is not, a patch, an interrupt, two threads, a model that refuses.

use super::{Running, codex, install, said, threads};
use crate::support::Home;
use crate::support::model::{LAST_WORD, Model, Script, Turn};
use crate::support::real_clients::{node, package, without};
use crate::support::serving::Serving;

/// A Codex of a version, spoken with in one way.
struct Version {
    package: &'static str,
    backend: &'static str,
    /// How a command is asked for that a person has to allow.
    asks: fn(String) -> Script,
    /// With which policy and sandbox.
    asking: [&'static str; 4],
    /// Its sandbox lets an allowed patch be written here, which 0.92's does not.
    writes: bool,
}

const ON_REQUEST: [&str; 4] = ["--approval-policy", "on-request", "--sandbox", "read-only"];
const UNTRUSTED: [&str; 4] = ["--approval-policy", "untrusted", "--sandbox", "workspace-write"];
const PATCH: &str =
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: note.txt\n+hello\n*** End Patch\nEOF";

/// Has the Codex in the home ask this model.
pub(super) fn configure(home: &Home, model: &Model) {
    let base = model.base_url();
    let config = format!(
        r#"model = "stub-model"
model_provider = "stub"
chatgpt_base_url = "{base}/backend-api"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
apps = false
plugins = false
remote_models = false
[model_providers.stub]
name = "stub"
base_url = "{base}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"#
    );
    home.write(".codex/config.toml", config);
}

/// Puts the Codex of a package into the home.
pub(super) fn installed(home: &Home, name: &str, backend: &str) {
    let program = package(&format!("{name}/bin/codex.js"));
    let script = format!("#!/bin/sh\nexec '{}' '{}' \"$@\"\n", node().display(), program.display());
    install(home, &script, backend);
}

fn story(version: &Version) {
    if without("npm") {
        return;
    }
    let home = Home::new();
    installed(&home, version.package, version.backend);
    let model = Model::start(Script::Answer);
    configure(&home, &model);
    let mut hub = Serving::socket_hub(&home);

    let first = codex(&home, &["hello", "--approval-policy", "never", "--sandbox", "read-only"]);
    assert!(first.status.success(), "{first}");
    assert_eq!(said(&first.stdout), [LAST_WORD], "{first}");
    assert!(first.stdout.starts_with("[mcp "), "{first}");
    let thread = first.stderr.trim().strip_prefix("thread ").unwrap().to_owned();

    // Two threads at once, one of them the first.
    let reply = Running::start(&home, &["--thread", &thread, "and again"]);
    let second = Running::start(&home, &["another", "--approval-policy", "never"]);
    for running in [reply, second] {
        let (text, code) = running.end();
        assert_eq!((said(&text), code), (vec![LAST_WORD], Some(0)), "{text}");
    }
    assert_eq!(threads(&home).len(), 2);
    let requests = model.requests();
    let replied = requests.iter().any(|request| {
        let text = request["input"].to_string();
        text.contains("hello") && text.contains("and again") && text.contains(LAST_WORD)
    });
    assert!(replied, "the reply did not come with the first turn");

    // Two replies to one thread at once: each has its turn and its answer.
    let both =
        ["one more", "and another one"].map(|reply| Running::start(&home, &["--thread", &thread, reply]));
    for running in both {
        let (text, code) = running.end();
        assert_eq!((said(&text).last(), code), (Some(&LAST_WORD), Some(0)), "{text}");
    }
    let last = model.requests().pop().unwrap()["input"].to_string();
    assert!(last.contains("one more") && last.contains("and another one"), "{last}");

    // The hub is killed and started anew: app-server takes its threads up, mcp-server has forgotten them.
    hub.kill();
    hub = Serving::socket_hub(&home);
    let again = codex(&home, &["--thread", &thread, "after the restart"]);
    if version.backend == "mcp-server" {
        assert_eq!(again.status.code(), Some(1), "{again}");
        assert!(again.stderr.contains("Session not found for thread_id"), "{again}");
    } else {
        assert_eq!(said(&again.stdout).last(), Some(&LAST_WORD), "{again}");
        let last = model.requests().pop().unwrap()["input"].to_string();
        assert!(last.contains("hello") && last.contains("after the restart"), "{last}");
    }

    let model = Model::start((version.asks)("touch made.txt".to_owned()));
    configure(&home, &model);
    for allow in [false, true] {
        let mut running = Running::start(&home, &[["touch it"].as_slice(), &version.asking].concat());
        let approval = running.wait_for_approval("touch made.txt");
        let decided = if allow {
            codex(&home, &["approve", &approval])
        } else {
            codex(&home, &["deny", &approval, "not today"])
        };
        assert!(decided.status.success(), "{decided}");
        let (text, code) = running.end();
        assert_eq!(said(&text).last(), Some(&LAST_WORD), "{text}");
        assert_eq!(code, Some(0), "{text}");
        assert_eq!(home.path().join("work/made.txt").exists(), allow, "{text}");
    }

    let model = Model::start(Script::Shell(PATCH.to_owned()));
    configure(&home, &model);
    let mut running = Running::start(&home, &[["write it"].as_slice(), &version.asking].concat());
    let approval = running.wait_for_approval("note.txt");
    assert!(codex(&home, &["approve", &approval]).status.success());
    let (text, code) = running.end();
    assert_eq!((said(&text).last(), code), (Some(&LAST_WORD), Some(0)), "{text}");
    assert!(!version.writes || home.path().join("work/note.txt").exists(), "{text}");

    let model = Model::start(Script::Silence);
    configure(&home, &model);
    let mut running = Running::start(&home, &["wait", "--approval-policy", "never"]);
    running.wait_for("user");
    if version.backend == "mcp-server" {
        let id = threads(&home)[0]["thread"].as_str().unwrap().to_owned();
        let steered = codex(&home, &["steer", &id, "mind the tide"]);
        let told = "error: codex mcp-server takes nothing into a running turn\nhint: send it as a reply";
        assert!(steered.stderr.starts_with(told), "{steered}");
    }
    running.interrupt();
    let (text, code) = running.end();
    assert_eq!((said(&text), code), (vec!["[turn interrupted]"], Some(130)), "{text}");

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
    story(&Version {
        package: "@openai/codex",
        backend: "auto",
        asks: Script::Escalated,
        asking: ON_REQUEST,
        writes: true,
    });
}

#[test]
fn codex_0_153_works_over_app_server() {
    story(&Version {
        package: "codex-0-153",
        backend: "app-server",
        asks: Script::Escalated,
        asking: ON_REQUEST,
        writes: true,
    });
}

#[test]
fn codex_0_153_works_over_mcp_server() {
    story(&Version {
        package: "codex-0-153",
        backend: "mcp-server",
        asks: Script::Escalated,
        asking: ON_REQUEST,
        writes: true,
    });
}

#[test]
fn codex_0_92_works_over_app_server() {
    story(&Version {
        package: "codex-0-92",
        backend: "app-server",
        asks: Script::Escalated,
        asking: ON_REQUEST,
        writes: false,
    });
}

#[test]
fn codex_0_92_works_over_mcp_server() {
    story(&Version {
        package: "codex-0-92",
        backend: "mcp-server",
        asks: Script::Shell,
        asking: UNTRUSTED,
        writes: false,
    });
}

/// Codex leaves it out of what it says a command may be answered with, and takes it all the same.
#[test]
fn a_command_can_be_approved_for_the_whole_session() {
    if without("npm") {
        return;
    }
    for package in ["@openai/codex", "codex-0-153", "codex-0-92"] {
        let home = Home::new();
        installed(&home, package, "app-server");
        let does = Script::Escalated("touch made.txt".to_owned());
        let turn = |on| Turn { on, does: does.clone(), says: LAST_WORD };
        let model = Model::start(Script::Turns(vec![turn("touch it"), turn("once more")]));
        configure(&home, &model);
        let hub = Serving::open_hub(&home);
        let made = home.path().join("work/made.txt");

        let mut running = Running::start(&home, &[["touch it"].as_slice(), &ON_REQUEST].concat());
        let approval = running.wait_for_approval("touch made.txt");
        let thread = threads(&home)[0]["thread"].as_str().unwrap().to_owned();
        let page = hub.page(&format!("/codex/{thread}"));
        assert!(page.contains("Approve for this session"), "{package}: {page}");
        let approved = codex(&home, &["approve", "--for-session", &approval]);
        assert!(approved.status.success(), "{package}: {approved}");
        let (text, code) = running.end();
        assert_eq!((said(&text).last(), code), (Some(&LAST_WORD), Some(0)), "{package}: {text}");

        std::fs::remove_file(&made).unwrap();
        let again = codex(&home, &["--thread", &thread, "once more"]);
        assert_eq!(said(&again.stdout), [LAST_WORD], "{package}, nothing is asked: {again}");
        assert!(made.exists(), "{package}: {again}");
    }
}
