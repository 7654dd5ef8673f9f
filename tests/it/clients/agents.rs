//! Two real coding agents against a scripted model: the model calls `expand_prompt`, and the expansion must stand
//! in the next request that the agent sends to the model.

use serde_json::{Value, json};

use super::{EXPANDED, home_with_research};
use crate::support::Finished;
use crate::support::model::{LAST_WORD, Model, Script};
use crate::support::real_clients::{RUN_DEADLINE, codex_config, node, package, run, without};
use crate::support::serving::Serving;

fn model() -> Model {
    let arguments = json!({"command": "research", "input": "tides"});
    Model::start(Script::Call { tool: "expand_prompt", arguments })
}

/// The result of the tool call, out of the last request that the model got.
fn result_seen(model: &Model, finished: &Finished) -> Value {
    assert!(finished.status.success(), "{finished}");
    assert!(finished.stdout.contains(LAST_WORD), "{finished}");
    let requests = model.requests();
    let last = requests.last().unwrap_or_else(|| panic!("the model was never asked\n{finished}"));
    let items = last.get("input").or_else(|| last.get("messages")).and_then(Value::as_array).unwrap();
    let result = items.iter().find(|item| item["type"] == "function_call_output" || item["role"] == "tool");
    result.unwrap_or_else(|| panic!("no tool result in {last:#}\n{finished}")).clone()
}

/// The text of a tool result, whatever the agent wraps it in, with the layers of JSON quoting taken off.
fn assert_expanded(result: &Value) {
    let text = result.to_string();
    let unquoted = text.replace('\\', "");
    let expected = EXPANDED.replace('\n', "n");
    assert!(unquoted.contains(&expected), "the expansion is not in {result:#}");
}

#[test]
fn codex_expands_a_prompt_through_connect() {
    if without("npm") {
        return;
    }
    let (home, _) = home_with_research();
    let _hub = Serving::socket_hub(&home);
    let model = model();
    let server = format!(
        "[mcp_servers.adjutant]\ncommand = {:?}\nargs = [\"connect\", \"prompts\"]\nrequired = true\n",
        env!("CARGO_BIN_EXE_adjutant")
    );
    let config = codex_config(&model.base_url()) + &server;
    home.write("codex/config.toml", config);
    home.write("work/README.md", "An empty desk.\n");
    let finished = run(
        home.client(&node())
            .arg(package("@openai/codex/bin/codex.js"))
            .args(["--sandbox", "read-only", "--ask-for-approval", "never", "exec"])
            .args(["--skip-git-repo-check", "--json", ":research tides"])
            .env("CODEX_HOME", home.path().join("codex"))
            .current_dir(home.path().join("work")),
        RUN_DEADLINE,
    );
    assert_expanded(&result_seen(&model, &finished));
}

#[test]
fn copilot_expands_a_prompt_over_http() {
    if without("npm") {
        return;
    }
    let (home, _) = home_with_research();
    let hub = Serving::hub(&home);
    let model = model();
    let servers = json!({"mcpServers": {"adjutant": {
        "type": "http", "url": hub.url("/mcp"), "tools": ["*"],
        "headers": {"Authorization": format!("Bearer {}", hub.token())},
    }}});
    home.write("work/README.md", "An empty desk.\n");
    let finished = run(
        home.client(&node())
            .arg(package("@github/copilot/npm-loader.js"))
            .args(["-p", ":research tides", "--allow-all-tools", "--stream", "off"])
            .args(["--additional-mcp-config", &servers.to_string()])
            .env("COPILOT_OFFLINE", "true")
            .env("COPILOT_PROVIDER_BASE_URL", model.base_url())
            .env("COPILOT_MODEL", "stub-model")
            .env("COPILOT_HOME", home.path().join("copilot"))
            .current_dir(home.path().join("work")),
        RUN_DEADLINE,
    );
    assert_expanded(&result_seen(&model, &finished));
}
