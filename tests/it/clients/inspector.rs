//! The MCP Inspector's command line as a scripted client, with a handshake (2025-11-25) and stateless (2026-07-28), over
//! stdio and over HTTP. It writes no warning, also none about a schema.

use std::path::Path;

use serde_json::Value;

use super::{EXPANDED, home_with_research};
use crate::support::real_clients::{RUN_DEADLINE, is_excluded, node, package, run};
use crate::support::serving::Serving;
use crate::support::{Finished, Home};

enum Server<'a> {
    Stdio(&'a Path),
    Http(&'a Serving),
}

fn inspect(home: &Home, era: &str, server: &Server, request: &[&str]) -> Finished {
    let mut command = home.client(&node());
    command.arg(package("@modelcontextprotocol/inspector/clients/launcher/build/index.js")).args([
        "--cli",
        "--protocol-era",
        era,
        "--format",
        "json",
        "-q",
    ]);
    match server {
        Server::Stdio(prompts) => {
            command.args(request).arg("--").arg(env!("CARGO_BIN_EXE_adjutant"));
            command.args(["mcp", "prompts", "--prompts-dir"]).arg(prompts)
        }
        Server::Http(hub) => command
            .args(["--transport", "http", "--server-url", &hub.url("/mcp")])
            .args(["--header", &format!("Authorization: Bearer {}", hub.token())])
            .args(request),
    };
    run(&mut command, RUN_DEADLINE)
}

fn answer(home: &Home, era: &str, server: &Server, request: &[&str]) -> Value {
    let finished = inspect(home, era, server, request);
    assert!(finished.status.success(), "{era} {request:?}: {finished}");
    assert_eq!(finished.stderr, "", "{era} {request:?}: {finished}");
    let answer: Value = serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{era} {request:?}: not JSON ({error})\n{finished}"));
    answer.get("result").unwrap_or(&answer).clone()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

fn check(era: &str, http: bool) {
    if is_excluded("npm") {
        return;
    }
    let (home, prompts) = home_with_research();
    let hub = http.then(|| Serving::hub(&home));
    let server = match &hub {
        Some(hub) => Server::Http(hub),
        None => Server::Stdio(&prompts),
    };

    // `--strict` holds every schema against the specification and fails by the exit code.
    let tools = answer(&home, era, &server, &["--method", "tools/list", "--strict"]);
    assert!(names(&tools["tools"]).contains(&"expand_prompt"), "{tools:#}");

    let arguments = r#"{"command":"research","input":"tides"}"#;
    let call = ["--method", "tools/call", "--tool-name", "expand_prompt", "--tool-args-json", arguments];
    let expanded = answer(&home, era, &server, &call);
    assert_eq!(expanded["structuredContent"]["prompt"], EXPANDED, "{expanded:#}");

    let listed = answer(&home, era, &server, &["--method", "prompts/list"]);
    assert!(names(&listed["prompts"]).contains(&"research"), "{listed:#}");

    let get = ["--method", "prompts/get", "--prompt-name", "research", "--prompt-args", "input=tides"];
    let prompt = answer(&home, era, &server, &get);
    assert_eq!(prompt["messages"][0]["content"]["text"], EXPANDED, "{prompt:#}");

    let arguments = r#"{"command":"nothing","input":""}"#;
    let call = ["--method", "tools/call", "--tool-name", "expand_prompt", "--tool-args-json", arguments];
    let refused = inspect(&home, era, &server, &call);
    assert_eq!(refused.status.code(), Some(5), "the Inspector's code for isError: {refused}");
}

#[test]
fn the_inspector_with_a_handshake_works_over_stdio() {
    check("legacy", false);
}

#[test]
fn the_inspector_with_a_handshake_works_over_http() {
    check("legacy", true);
}

#[test]
fn the_stateless_inspector_works_over_stdio() {
    check("modern", false);
}

#[test]
fn the_stateless_inspector_works_over_http() {
    check("modern", true);
}
