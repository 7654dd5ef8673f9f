//! The official conformance suite over HTTP: against the product, which passes what applies to it, and against the
//! fixture on the product's HTTP layers, which passes everything. `docs/conformance.md` states the numbers.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;

use crate::support::real_clients::{RUN_DEADLINE, is_excluded, node, package, run};
use crate::support::serving::{Serving, conformance_server};
use crate::support::{Finished, Home, Peer};

/// The suite's two release lines: the one that knows requirement sets, and the last release.
const SUITE: (&str, &str) = ("0.2.0-alpha.12", "@modelcontextprotocol/conformance/dist/index.js");
const RELEASED: (&str, &str) = ("0.1.16", "conformance-released/dist/index.js");

/// The result of one run of a suite.
struct Run {
    finished: Finished,
    /// The required scenarios that failed.
    broken: BTreeSet<String>,
    /// The scenarios that failed and that no revision requires: those of extensions, and newer ones.
    broken_unscored: BTreeSet<String>,
    /// A row of the table in `docs/conformance.md`.
    row: String,
}

fn suite(name: &str, suite: (&str, &str), url: &str, set: &[&str]) -> Run {
    let home = Home::new();
    let mut command = home.client(&node());
    command.arg(package(suite.1)).args(["server", "--url", url]).args(set);
    let finished = run(&mut command, RUN_DEADLINE);
    let (passed, failed) = total(&finished.stdout).unwrap_or_else(|| panic!("no total\n{finished}"));
    let (summary, unscored) = finished.stdout.split_once("Not scored for").unwrap_or((&finished.stdout, ""));
    let summary = summary.split("=== SUMMARY ===").nth(1).unwrap_or_default();
    let scenarios = |mark: &str| -> (BTreeSet<String>, BTreeSet<String>) {
        let names = summary.lines().filter_map(|line| line.strip_prefix(mark)?.split(':').next());
        names.map(ToOwned::to_owned).partition(|name| !unscored.contains(&format!(" {name} (")))
    };
    let ((whole, _), (broken, broken_unscored)) = (scenarios("✓ "), scenarios("✗ "));
    let row = format!(
        "| {name} | {} | {} | {} of {} | {passed} of {} |",
        suite.0,
        set[1],
        whole.len(),
        whole.len() + broken.len(),
        passed + failed
    );
    Run { finished, broken, broken_unscored, row }
}

/// Reads `Total: 83 passed, 0 failed`.
fn total(output: &str) -> Option<(u32, u32)> {
    let line = output.lines().find_map(|line| line.strip_prefix("Total: "))?;
    let (passed, failed) = line.split_once(" passed, ")?;
    Some((passed.parse().ok()?, failed.strip_suffix(" failed")?.parse().ok()?))
}

/// Asserts that the document has this row of its table; with `ADJUTANT_WRITE_DOCS` set it is written there. The last
/// cell also counts checks that no protocol version requires, which vary with timing: it is not compared.
fn assert_documented(run: &Run) {
    let row = run.row.as_str();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/conformance.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let compared: String = row.split_inclusive('|').take(5).collect();
    if document.lines().any(|line| line.starts_with(&compared)) {
        return;
    }
    assert!(
        std::env::var_os("ADJUTANT_WRITE_DOCS").is_some(),
        "docs/conformance.md lacks this row, which ADJUTANT_WRITE_DOCS=1 would put there:\n{row}\n{}",
        run.finished
    );
    // The first three cells identify the run.
    let start: String = row.split_inclusive('|').take(4).collect();
    let lines = document.lines().map(|line| if line.starts_with(&start) { row } else { line });
    let written = lines.collect::<Vec<_>>().join("\n") + "\n";
    assert!(written.contains(row), "docs/conformance.md has no row that begins with\n{start}");
    std::fs::write(path, written).unwrap();
}

/// Runs the suite against the product and compares the failed scenarios with the expected ones, in both directions.
fn check_product(revision: &str) {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    write_prompts(&home);
    let hub = Serving::open_hub(&home);
    let run = suite("product", SUITE, &hub.url("/mcp"), &["--requirements", revision]);
    assert_eq!(run.broken, expected(revision), "found, and expected in tests/clients\n{}", run.finished);
    assert_documented(&run);
}

/// Writes the user's prompts that the suite requests and that are texts.
fn write_prompts(home: &Home) {
    let argument =
        |name: &str| format!("  - name: {name}\n    description: Of the suite\n    required: true\n");
    let files = [
        ("test_simple_prompt", String::new(), "This is a simple prompt for testing."),
        (
            "test_prompt_with_arguments",
            argument("arg1") + &argument("arg2"),
            "Prompt with arguments: arg1='{{arg1}}', arg2='{{arg2}}'",
        ),
        ("test_input_required_result_prompt", argument("context"), "Work in this context: {{context}}"),
    ];
    for (name, arguments, body) in files {
        let arguments = if arguments.is_empty() { arguments } else { format!("arguments:\n{arguments}") };
        let text = format!("---\ndescription: Of the suite.\n{arguments}---\n{body}\n");
        home.write(&format!(".adjutant/prompts/{name}.md"), text);
    }
}

/// The scenarios that the product is known to fail at a protocol version.
fn expected(revision: &str) -> BTreeSet<String> {
    let file = format!("{}/tests/clients/expected-failures-{revision}.yml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let name = |line: &str| line.trim().strip_prefix("- ")?.split_whitespace().next().map(ToOwned::to_owned);
    text.lines().filter_map(name).collect()
}

/// The product on stdin and stdout, with a bridge that adds HTTP: it fails what it fails over HTTP, and the one
/// scenario about HTTP.
fn check_over_stdio(revision: &str) {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    write_prompts(&home);
    let _hub = Serving::socket_hub(&home);
    let adjutant = env!("CARGO_BIN_EXE_adjutant").as_ref();
    let server = [adjutant, "connect".as_ref(), "--no-start".as_ref()];
    let run =
        bridged(&home, &server, |url| suite("product over stdio", SUITE, url, &["--requirements", revision]));
    let mut known = expected(revision);
    known.insert(ABOUT_HTTP.to_owned());
    assert_eq!(run.broken, known, "found, and expected in tests/clients\n{}", run.finished);
    assert_documented(&run);
}

/// The scenario about HTTP, which fails on any other transport.
const ABOUT_HTTP: &str = "dns-rebinding-protection";

/// Runs a suite against a server on stdin and stdout, at the address of the bridge.
fn bridged<T>(home: &Home, server: &[&OsStr], suite: impl FnOnce(&str) -> T) -> T {
    let bridge = format!("{}/tests/clients/stdio_bridge.mjs", env!("CARGO_MANIFEST_DIR"));
    let mut command = home.client(&node());
    command.arg(bridge).args(server);
    let bridge = Peer::start(&mut command);
    let run = suite(&bridge.line());
    let (ended, _) = bridge.finish();
    assert!(ended.success(), "the bridge ended with {ended}");
    run
}

#[test]
fn the_product_over_stdio_passes_the_suite_of_2025_11_25() {
    check_over_stdio("2025-11-25");
}

#[test]
fn the_product_over_stdio_passes_the_suite_of_2026_07_28() {
    check_over_stdio("2026-07-28");
}

#[test]
fn the_product_over_http_passes_the_suite_of_2025_11_25() {
    check_product("2025-11-25");
}

#[test]
fn the_product_over_http_passes_the_suite_of_2026_07_28() {
    check_product("2026-07-28");
}

/// The scenarios of the skills extension, which are in no set of requirements, and the checks that pass. The suite skips
/// the directories of skills, because the product declares none.
const SKILLS: [(&str, &str); 3] = [
    ("sep-2640-skills-directory", "1/1"),
    ("sep-2640-skills-enumeration", "32/32"),
    ("sep-2640-skills-manifest", "6/6"),
];

fn check_skills(home: &Home, url: &str) {
    for (scenario, passed) in SKILLS {
        let mut command = home.client(&node());
        command.arg(package(SUITE.1)).args(["server", "--url", url, "--scenario", scenario]);
        let finished = run(&mut command, RUN_DEADLINE);
        let result = format!("Passed: {passed}, 0 failed, 0 warnings");
        assert!(finished.status.success() && finished.stdout.contains(&result), "{result}? {finished}");
    }
}

#[test]
fn the_products_prompts_pass_the_suite_of_skills_over_http() {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    write_prompts(&home);
    let hub = Serving::open_hub(&home);
    check_skills(&home, &hub.url("/mcp"));
}

#[test]
fn the_products_prompts_pass_the_suite_of_skills_over_stdio() {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    write_prompts(&home);
    let server = [env!("CARGO_BIN_EXE_adjutant"), "mcp", "prompts"].map(OsStr::new);
    bridged(&home, &server, |url| check_skills(&home, url));
}

/// The fixture: every scenario passes, also those that no revision requires.
fn check_fixture(line: (&str, &str), set: &[&str]) {
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    let fixture = Serving::fixture(&home);
    let run = suite("fixture", line, &fixture.url("/mcp"), set);
    assert!(run.finished.status.success(), "{}", run.finished);
    assert_eq!(run.broken_unscored, BTreeSet::new(), "{}", run.finished);
    assert_documented(&run);
}

#[test]
fn the_fixture_over_http_passes_the_suite_of_2025_11_25() {
    check_fixture(SUITE, &["--requirements", "2025-11-25"]);
}

#[test]
fn the_fixture_over_http_passes_the_suite_of_2026_07_28() {
    check_fixture(SUITE, &["--requirements", "2026-07-28"]);
}

/// The fixture on stdin and stdout: every scenario passes but the one about HTTP and those in `partly`, of which some
/// checks pass; of the scenarios that no revision requires `unscored` fail.
fn check_fixture_over_stdio(revision: &str, partly: &[&str], unscored: &[&str]) {
    if is_excluded("npm") {
        return;
    }
    let server = conformance_server();
    let run = bridged(&Home::new(), &[server.as_os_str(), "--stdio".as_ref()], |url| {
        suite("fixture over stdio", SUITE, url, &["--requirements", revision])
    });
    let known = partly.iter().chain([&ABOUT_HTTP]).map(|&name| name.to_owned()).collect();
    assert_eq!(run.broken, known, "{}", run.finished);
    assert_eq!(
        run.broken_unscored,
        unscored.iter().map(|&name| name.to_owned()).collect(),
        "{}",
        run.finished
    );
    assert_documented(&run);
}

#[test]
fn the_fixture_over_stdio_passes_the_suite_of_2025_11_25() {
    check_fixture_over_stdio("2025-11-25", &[], &[]);
}

#[test]
fn the_fixture_over_stdio_passes_the_suite_of_2026_07_28() {
    // Four of its thirty checks need a status of HTTP, or a header that contradicts the body.
    let headers = ["http-custom-header-server-validation", "http-header-validation", "tasks-request-headers"];
    check_fixture_over_stdio("2026-07-28", &["server-stateless"], &headers);
}

#[test]
fn the_fixture_passes_the_released_suite() {
    check_fixture(RELEASED, &["--suite", "all"]);
}
