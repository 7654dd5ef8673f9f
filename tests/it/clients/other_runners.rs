//! A delegated task of the real Claude Code, Gemini CLI and opencode, each with a scripted model, in the sandbox and without it.
//! [`super::delegation`] has more about Codex and Copilot.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::model::{FINAL_TEXT, Model, Script};
use crate::support::real_clients::{RUN_DEADLINE, is_excluded, node, package, packages, run};
use crate::support::task_fixture::TaskFixture;

/// Puts the real CLI on the fixture's PATH, logged in to the model as its user would be.
fn install(fixture: &TaskFixture, runner: &str, model: &Model) {
    let base = model.base_url();
    let root = base.strip_suffix("/v1").unwrap();
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let (variables, program) = match runner {
        "claude" => (
            format!(
                "ANTHROPIC_BASE_URL={root} ANTHROPIC_API_KEY=stub CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
                 DISABLE_AUTOUPDATER=1"
            ),
            package(&format!("@anthropic-ai/claude-code-linux-{machine}/claude")).display().to_string(),
        ),
        "gemini" => {
            let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
            fixture.home.write(".gemini/settings.json", settings.to_string());
            (
                format!("GEMINI_API_KEY=stub GOOGLE_GEMINI_BASE_URL={root}"),
                format!("{} {}", node().display(), package("@google/gemini-cli/bundle/gemini.js").display()),
            )
        }
        _ => {
            let provider = json!({
                "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": base, "apiKey": "x"},
                "models": {"stub-model": {"tool_call": true}},
            });
            let config =
                json!({"autoupdate": false, "provider": {"stub": provider}, "model": "stub/stub-model"});
            fixture.home.write(".config/opencode/opencode.json", config.to_string());
            // It would install its package for plugins, which nothing here uses, from the registry.
            let lock = json!({"packages": {"": {"dependencies": {"@opencode-ai/plugin": "1"}}}});
            fixture.home.write(".config/opencode/package-lock.json", lock.to_string());
            std::fs::create_dir(fixture.home.path().join(".config/opencode/node_modules")).unwrap();
            (
                ["MODELS_FETCH", "LSP_DOWNLOAD", "AUTOUPDATE", "SHARE"]
                    .map(|feature| format!("OPENCODE_DISABLE_{feature}=1"))
                    .join(" "),
                package(&format!("opencode-linux-{machine}/bin/opencode")).display().to_string(),
            )
        }
    };
    fixture.program(runner, &format!("#!/bin/sh\nexport {variables}\nexec {program} \"$@\"\n"));
}

fn check(runner: &str) {
    if is_excluded("npm") {
        return;
    }
    let probe = Command::new("bwrap").args(["--unshare-user", "--ro-bind", "/", "/", "true"]).output();
    let has_sandbox = probe.is_ok_and(|output| output.status.success());
    // The programs may be below `/tmp`, which a sandbox has empty.
    let programs = packages().canonicalize().unwrap();
    for sandbox in ["none", "auto"].into_iter().take(1 + usize::from(has_sandbox)) {
        let model = Model::start(Script::Answer);
        let fixture = TaskFixture::new();
        install(&fixture, runner, &model);
        fixture.commit_all();
        let config = format!(
            "[tasks]\nsandbox = \"{sandbox}\"\n[[runners]]\nname = \"{runner}\"\nwritable = [\"{}\"]\n",
            programs.display()
        );
        fixture.home.write(".adjutant/config.toml", config);
        // Without a model Gemini CLI asks one which model suits the task, and the scripted one does not answer that.
        let model_line = if runner == "gemini" { "model: gemini-2.5-pro\n" } else { "" };
        fixture.agent("reviewer", &format!("runner: {runner}\n{model_line}"));
        let _hub = fixture.hub();
        let arguments = ["delegate", "reviewer", "look at the project", "--json"];
        let finished = run(fixture.adjutant(&arguments).current_dir(fixture.folder("work")), RUN_DEADLINE);
        let result: Value =
            serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished}"));
        let outcome = &result["outcome"];
        assert_eq!(outcome["status"], "succeeded", "{sandbox}: {result:#}");
        assert_eq!(
            outcome["message"].as_str().unwrap_or_default().trim(),
            FINAL_TEXT,
            "{sandbox}: {result:#}"
        );
        let report = &outcome["run_report"];
        let attempt = &report["attempts"][0];
        assert!(attempt["runner"] == runner && attempt["session"].is_string(), "{sandbox}: {report:#}");
        assert!(sandbox == "none" || attempt["held_by"] == "kernel (bubblewrap)", "{report:#}");
        assert_eq!(report["processes_left"], 0, "{sandbox}: {report:#}");
        let asked = model.requests();
        assert!(asked.iter().any(|body| body.to_string().contains("You review.")), "{sandbox}: {asked:?}");
        fixture.assert_no_survivors();
    }
}

#[test]
fn claude_does_a_delegated_task() {
    check("claude");
}

#[test]
fn gemini_does_a_delegated_task() {
    check("gemini");
}

#[test]
fn opencode_does_a_delegated_task() {
    check("opencode");
}
