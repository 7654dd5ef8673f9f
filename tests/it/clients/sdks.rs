//! Five client libraries, with a handshake and stateless, over stdio and over HTTP. The scripts in `tests/clients` do the
//! same with each and print their results; none writes a warning to stderr.
//!
//! | library | with a handshake | stateless |
//! |---|---|---|
//! | Python: `mcp` 2 and `fastmcp` 4 | 2025-11-25 | 2026-07-28 |
//! | TypeScript: `@modelcontextprotocol/sdk` 1 | 2025-11-25 | not in this version |
//! | TypeScript: `@modelcontextprotocol/client` 2 and `@ai-sdk/mcp` 2 | 2025-11-25 | 2026-07-28 |

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

/// Checks what every client must get, and returns the whole report for further checks.
fn checked_report(finished: &crate::support::Finished) -> Value {
    assert!(finished.status.success() && finished.stderr.is_empty(), "{finished}");
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

const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

fn check_python(library: &str, server: impl Fn(&Home, &Path) -> (Option<Serving>, Vec<OsString>)) {
    if is_excluded("python") {
        return;
    }
    let (home, prompts) = home_with_research();
    let (_hub, arguments) = server(&home, &prompts);
    for (mode, revision) in [("legacy", HANDSHAKE), ("auto", STATELESS)] {
        let mut command = home.client(&real_clients::python());
        command.arg(script("python_client.py")).args([library, mode]).args(&arguments);
        assert_eq!(checked_report(&run(&mut command, RUN_DEADLINE))["revision"], revision, "{library}");
    }
}

fn check_typescript(
    library: &str,
    eras: &[(&str, &str)],
    server: impl Fn(&Home, &Path) -> (Option<Serving>, Vec<OsString>),
) {
    if is_excluded("npm") {
        return;
    }
    let (home, prompts) = home_with_research();
    let (_hub, arguments) = server(&home, &prompts);
    for (era, revision) in eras {
        let mut command = home.client(&node());
        command.arg(script("ts_client.mjs")).arg(packages()).args([library, era]).args(&arguments);
        assert_eq!(checked_report(&run(&mut command, RUN_DEADLINE))["revision"], *revision, "{library}");
    }
}

const BOTH_ERAS: [(&str, &str); 2] = [("legacy", HANDSHAKE), ("modern", STATELESS)];

#[test]
fn the_python_sdk_works_over_stdio() {
    check_python("mcp", over_stdio);
}

#[test]
fn the_python_sdk_works_over_http() {
    check_python("mcp", over_http);
}

#[test]
fn fastmcp_works_over_stdio() {
    check_python("fastmcp", over_stdio);
}

#[test]
fn fastmcp_works_over_http() {
    check_python("fastmcp", over_http);
}

#[test]
fn the_first_typescript_sdk_works_over_stdio() {
    check_typescript("v1", &BOTH_ERAS[..1], over_stdio);
}

#[test]
fn the_first_typescript_sdk_works_over_http() {
    check_typescript("v1", &BOTH_ERAS[..1], over_http);
}

#[test]
fn the_typescript_sdk_works_over_stdio() {
    check_typescript("v2", &BOTH_ERAS, over_stdio);
}

#[test]
fn the_typescript_sdk_works_over_http() {
    check_typescript("v2", &BOTH_ERAS, over_http);
}

#[test]
fn the_ai_sdk_works_over_stdio() {
    check_typescript("ai", &BOTH_ERAS, over_stdio);
}

#[test]
fn the_ai_sdk_works_over_http() {
    check_typescript("ai", &BOTH_ERAS, over_http);
}
