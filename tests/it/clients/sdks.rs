//! The official Python and TypeScript SDKs, with a handshake and stateless, over stdio and over HTTP. The scripts in
//! `tests/clients` do the same with each and print their results.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value, json};

use super::{EXPANDED, home_with_research};
use crate::support::Home;
use crate::support::real_clients;
use crate::support::real_clients::{RUN_DEADLINE, is_excluded, node, packages, run};
use crate::support::serving::Serving;

/// A separate server, as a client starts one; returns the script's last arguments.
fn over_stdio(_home: &Home, prompts: &Path) -> (Option<Serving>, Vec<OsString>) {
    let command = ["stdio", env!("CARGO_BIN_EXE_adjutant"), "mcp", "prompts", "--prompts-dir"];
    let mut arguments: Vec<OsString> = command.map(OsString::from).into();
    arguments.push(prompts.into());
    (None, arguments)
}

/// A running hub; the script's last arguments.
fn over_http(home: &Home, _prompts: &Path) -> (Option<Serving>, Vec<OsString>) {
    let hub = Serving::hub(home);
    let arguments = ["http".to_owned(), hub.url("/mcp"), hub.token()].map(OsString::from).into();
    (Some(hub), arguments)
}

fn script(name: &str) -> String {
    format!("{}/tests/clients/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn check_python(home: &Home, mode: &str, server: &[OsString]) -> Value {
    let mut command = home.client(&real_clients::python());
    command.arg(script("python_client.py")).arg(mode).args(server);
    checked_report(&run(&mut command, RUN_DEADLINE))
}

fn check_typescript(home: &Home, sdk: &str, server: &[OsString]) -> Value {
    let mut command = home.client(&node());
    command.arg(script("ts_client.mjs")).arg(packages()).arg(sdk).args(server);
    checked_report(&run(&mut command, RUN_DEADLINE))
}

/// Checks what every client must get, and returns the whole report for further checks.
fn checked_report(finished: &crate::support::Finished) -> Value {
    assert!(finished.status.success(), "{finished}");
    let report: Value = serde_json::from_str(finished.stdout.trim())
        .unwrap_or_else(|error| panic!("no report ({error})\n{finished}"));
    let tools = report["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("list_prompts")) && tools.contains(&json!("expand_prompt")), "{report:#}");
    assert_eq!(report["expanded"]["structuredContent"]["prompt"], EXPANDED, "{report:#}");
    let text: Value =
        serde_json::from_str(report["expanded"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, report["expanded"]["structuredContent"], "both forms agree");
    let listed = &report["listed"]["structuredContent"]["prompts"];
    assert!(
        listed.as_array().unwrap().contains(&json!({"name": "research", "description": "Research a topic."})),
        "{report:#}"
    );
    assert_eq!(report["unknown"]["isError"], true, "{report:#}");
    assert!(report["unknown"]["content"][0]["text"].as_str().unwrap().contains("research"), "a near name");
    assert!(report["prompts"].as_array().unwrap().contains(&json!("research")), "{report:#}");
    let message = &report["prompt"]["messages"][0];
    assert_eq!(message["role"], "user", "{report:#}");
    assert_eq!(message["content"]["text"], EXPANDED, "{report:#}");
    report
}

fn check_python_sdk(server: impl Fn(&Home, &Path) -> (Option<Serving>, Vec<OsString>)) {
    if is_excluded("python") {
        return;
    }
    let (home, prompts) = home_with_research();
    let (_hub, arguments) = server(&home, &prompts);
    for (mode, revision) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        assert_eq!(check_python(&home, mode, &arguments)["revision"], revision);
    }
}

fn check_typescript_sdk(server: impl Fn(&Home, &Path) -> (Option<Serving>, Vec<OsString>)) {
    if is_excluded("npm") {
        return;
    }
    let (home, prompts) = home_with_research();
    let (_hub, arguments) = server(&home, &prompts);
    for (sdk, era) in [("v1", "legacy"), ("v2-legacy", "legacy"), ("v2", "modern")] {
        assert_eq!(check_typescript(&home, sdk, &arguments)["era"], era);
    }
}

#[test]
fn the_python_sdk_works_over_stdio() {
    check_python_sdk(over_stdio);
}

#[test]
fn the_python_sdk_works_over_http() {
    check_python_sdk(over_http);
}

#[test]
fn the_typescript_sdk_works_over_stdio() {
    check_typescript_sdk(over_stdio);
}

#[test]
fn the_typescript_sdk_works_over_http() {
    check_typescript_sdk(over_http);
}
