//! The architecture rules that the compiler does not hold. The tables here are the ones in ARCHITECTURE.md.

mod imports;
mod public_items;
pub(crate) mod sources;
mod unused_dependencies;

use std::collections::BTreeMap;
use std::path::Path;

use sources::{Source, crates, root, sources};

/// The layers from below, with the crates of each. `adjutant` is the root package.
const LAYERS: &[(&str, &[&str])] = &[
    ("infrastructure", &["base", "host", "net", "store"]),
    ("domain", &["agents", "assistant", "codex", "permissions", "prompts", "questions"]),
    ("app", &["app"]),
    ("interface", &["mcp", "web", "http", "terminal", "workers", "adjutant"]),
];

/// The only interfaces that use others: a listener mounts what it serves, and the command line starts everything.
const INTERFACES_ON_INTERFACES: &[(&str, &[&str])] = &[
    ("http", &["mcp", "web"]),
    ("terminal", &["mcp"]),
    ("adjutant", &["http", "mcp", "terminal", "workers"]),
];

/// The path below which each outside crate may be named.
const OUTSIDE_CRATES: &[(&str, &[&str])] = &[
    ("aho_corasick", &["crates/host/src/recorder/redact"]),
    ("async_nats", &["crates/workers"]),
    ("axum", &["crates/http", "crates/web"]),
    ("calcard", &["crates/assistant/src/calendar"]),
    ("clap", &["src/cli"]),
    ("clap_complete", &["src/cli"]),
    ("clap_mangen", &["src/cli"]),
    ("flate2", &["crates/web/src/compression", "src/cli/licenses"]),
    ("indicatif", &["src/cli"]),
    ("jsonc_parser", &["src/install"]),
    ("jsonwebtoken", &["crates/net/src/openid"]),
    ("lettre", &["crates/assistant/src/dispatch"]),
    ("listenfd", &["crates/terminal/src/socket"]),
    ("minijinja", &["crates/prompts", "crates/web"]),
    ("nkeys", &["crates/workers"]),
    ("notify", &["crates/host/src/file_catalogue"]),
    ("notify_rust", &["crates/net/src/channels"]),
    ("pulldown_cmark", &["crates/base/src/text", "crates/terminal/src/tui/widgets", "crates/web"]),
    ("ratatui", &["crates/terminal/src/tui"]),
    ("ratatui_textarea", &["crates/terminal/src/tui/widgets"]),
    ("reqwest", &["crates/assistant/src/dispatch", "crates/net"]),
    ("rmcp", &["crates/http", "crates/mcp"]),
    ("roxmltree", &["crates/assistant/src/calendar"]),
    ("serde_saphyr", &["crates/base/src/text"]),
    ("socket2", &["crates/terminal/src/socket"]),
    ("sqlx", &["crates/store"]),
    ("tokio_rustls", &["crates/http"]),
    // `src/install` has a module of that name.
    ("toml", &["crates/agents", "crates/base/src/config", "crates/prompts", "src/install"]),
    ("toml_edit", &["src/install"]),
    ("unicode_normalization", &["crates/prompts"]),
];

/// Returns the crates of this workspace that each crate depends on, by their folders' names.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let manifest = |krate: &str| {
        let folder = if krate == "adjutant" { root().to_owned() } else { root().join("crates").join(krate) };
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let (_, section) = text.split_once("\n[dependencies]\n").unwrap();
        let section = section.split("\n[").next().unwrap();
        let names =
            section.lines().filter_map(|line| line.strip_prefix("adjutant-")?.split(['.', ' ']).next());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    crates()
        .into_iter()
        .chain(["adjutant".to_owned()])
        .map(|krate| (krate.clone(), manifest(&krate)))
        .collect()
}

fn layer_of(krate: &str) -> usize {
    let found = LAYERS.iter().position(|(_, crates)| crates.contains(&krate));
    found.unwrap_or_else(|| panic!("crate `{krate}` is in no layer"))
}

#[test]
fn crates_depend_on_lower_layers_only() {
    for (krate, dependencies) in dependencies() {
        let layer = layer_of(&krate);
        for dependency in dependencies {
            let below = layer_of(&dependency) < layer;
            let infrastructure = layer == 0 && layer_of(&dependency) == 0;
            let mounted = INTERFACES_ON_INTERFACES
                .iter()
                .any(|(from, to)| *from == krate && to.contains(&dependency.as_str()));
            assert!(below || infrastructure || mounted, "`{krate}` must not depend on `{dependency}`");
        }
    }
}

#[test]
fn architecture_md_shows_the_dependencies_of_each_crate() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(page.lines().count() <= 250, "ARCHITECTURE.md is over 250 lines");
    for (krate, dependencies) in dependencies() {
        let names: Vec<_> = dependencies.iter().map(|name| format!("`{name}`")).collect();
        let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        let row = format!("| `{krate}` | {names} |");
        assert!(page.contains(&row), "ARCHITECTURE.md lacks the row:\n{row}");
    }
}

#[test]
fn architecture_md_names_files_that_exist() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let quoted = page.split('`').skip(1).step_by(2);
    for path in quoted.filter(|text| text.starts_with("crates/") || text.starts_with("src/")) {
        if !path.contains('<') {
            assert!(root().join(path).exists(), "ARCHITECTURE.md names {path}, which does not exist");
        }
    }
    // Where the crate is clear, a path is shortened at its beginning.
    let sources = sources();
    for path in page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|text| text.split('.').next_back() == Some("rs") && !text.contains('<'))
    {
        let exists = root().join(path).exists() || sources.iter().any(|source| source.path.ends_with(path));
        assert!(exists, "ARCHITECTURE.md names {path}, which does not exist");
    }
}

#[test]
fn no_two_files_import_each_other() {
    let sources = sources();
    let mut faults = Vec::new();
    for krate in crates().into_iter().chain(["adjutant".to_owned()]) {
        let own: Vec<&Source> = sources.iter().filter(|source| source.krate == krate).collect();
        for circle in imports::cycles(&imports::imports(&own)) {
            let names: Vec<_> = circle.iter().map(|module| module.join("::")).collect();
            faults.push(format!("{krate}: {}", names.join(", ")));
        }
    }
    assert!(
        faults.is_empty(),
        "files that import each other, directly or round about:\n{}",
        faults.join("\n")
    );
}

#[test]
fn each_outside_crate_is_used_in_its_module_only() {
    let mut faults = Vec::new();
    for source in sources() {
        for (number, line) in source.product_lines() {
            for (name, homes) in OUTSIDE_CRATES {
                let home = homes.iter().any(|home| {
                    source.path.starts_with(home) || source.path == Path::new(&format!("{home}.rs"))
                });
                if !home && names_crate(line, name) {
                    faults.push(format!("{}:{number}: `{name}` belongs to {homes:?}", source.path.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Whether a line holds a path that begins with a crate's name. A name in quotes is a log target or a message.
fn names_crate(line: &str, name: &str) -> bool {
    line.match_indices(&format!("{name}::")).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '_' | ':' | '"' | '=')))
    })
}

#[test]
fn public_items_are_used_by_another_crate() {
    let unused = public_items::unused(&sources());
    assert!(unused.is_empty(), "`pub(crate)` is enough for these:\n{}", unused.join("\n"));
}

#[test]
fn public_items_are_documented() {
    let bare = public_items::undocumented(&sources());
    assert!(
        bare.is_empty(),
        "these need a doc comment with their arguments and result:\n{}",
        bare.join("\n")
    );
}

#[test]
fn error_codes_are_in_one_file() {
    for source in sources() {
        if source.path == Path::new("crates/mcp/src/error.rs") {
            continue;
        }
        for (number, line) in source.product_lines() {
            let place = source.path.display();
            assert!(
                !line.contains("-32"),
                "{place}:{number}: codes belong to crates/mcp/src/error.rs: {line}"
            );
        }
    }
}

#[test]
fn no_source_file_exceeds_500_lines() {
    for source in sources() {
        let product = source.text.lines().take_while(|line| !line.trim_start().starts_with("#[cfg(test)]"));
        let lines = product.count();
        assert!(lines <= 500, "{}: {lines} lines, the cap is 500 without tests", source.path.display());
    }
}

#[test]
fn no_module_has_a_catch_all_name() {
    let drawers = ["util", "utils", "helpers", "common", "core", "misc", "manager"];
    for source in sources() {
        let stem = source.path.file_stem().unwrap().to_str().unwrap();
        assert!(!drawers.contains(&stem), "{}: name what it does", source.path.display());
    }
}

#[test]
fn main_names_every_test_file() {
    let folder = root().join("tests/it");
    let main = std::fs::read_to_string(folder.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_some_and(|e| e == "rs") && stem != "main" {
            assert!(main.contains(&format!("mod {stem};")), "tests/it/main.rs does not name `{stem}`");
        }
    }
}
