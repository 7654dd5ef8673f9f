//! Two real coding agents against a scripted model: the model calls `expand_prompt`, and the next request of the agent
//! must contain the expansion.

use serde_json::{Value, json};

use super::{EXPANDED, home_with_research};
use crate::support::Finished;
use crate::support::model::{FINAL_TEXT, Model, Script};
use crate::support::real_clients::{RUN_DEADLINE, codex_config, is_excluded, node, package, run};
use crate::support::serving::Serving;

fn calling_model() -> Model {
    let arguments = json!({"command": "research", "input": "tides"});
    Model::start(Script::Call { tool: "expand_prompt", arguments })
}

/// The result of the tool call, from the last request to the model.
fn tool_result(model: &Model, finished: &Finished) -> Value {
    assert!(finished.status.success(), "{finished}");
    assert!(finished.stdout.contains(FINAL_TEXT), "{finished}");
    let requests = model.requests();
    let last = requests.last().unwrap_or_else(|| panic!("the model was never asked\n{finished}"));
    let items = last.get("input").or_else(|| last.get("messages")).and_then(Value::as_array).unwrap();
    let result = items.iter().find(|item| item["type"] == "function_call_output" || item["role"] == "tool");
    result.unwrap_or_else(|| panic!("no tool result in {last:#}\n{finished}")).clone()
}

/// Asserts the text of a tool result, without the layers of JSON quoting that an agent adds.
fn assert_expanded(result: &Value) {
    let text = result.to_string();
    let unquoted = text.replace('\\', "");
    let expected = EXPANDED.replace('\n', "n");
    assert!(unquoted.contains(&expected), "the expansion is not in {result:#}");
}

#[test]
fn codex_expands_a_prompt_through_connect() {
    if is_excluded("npm") {
        return;
    }
    let (home, _) = home_with_research();
    let _hub = Serving::socket_hub(&home);
    let model = calling_model();
    let server = format!(
        "[mcp_servers.adjutant]\ncommand = {:?}\nargs = [\"connect\", \"prompts\"]\nrequired = true\n",
        env!("CARGO_BIN_EXE_adjutant")
    );
    let config = codex_config(&model.base_url()) + &server;
    home.write("codex/config.toml", config);
    home.write("work/README.md", "An empty project.\n");
    let finished = run(
        home.client(&node())
            .arg(package("@openai/codex/bin/codex.js"))
            .args(["--sandbox", "read-only", "--ask-for-approval", "never", "exec"])
            .args(["--skip-git-repo-check", "--json", ":research tides"])
            .env("CODEX_HOME", home.path().join("codex"))
            .current_dir(home.path().join("work")),
        RUN_DEADLINE,
    );
    assert_expanded(&tool_result(&model, &finished));
}

#[test]
fn copilot_expands_a_prompt_over_http() {
    if is_excluded("npm") {
        return;
    }
    let (home, _) = home_with_research();
    let hub = Serving::hub(&home);
    let model = calling_model();
    let servers = json!({"mcpServers": {"adjutant": {
        "type": "http", "url": hub.url("/mcp"), "tools": ["*"],
        "headers": {"Authorization": format!("Bearer {}", hub.token())},
    }}});
    home.write("work/README.md", "An empty project.\n");
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
    assert_expanded(&tool_result(&model, &finished));
}
