//! The rule of direction and the house rules that a grep can hold. The tables here are the ones in ARCHITECTURE.md.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which top-level module may name which others. Doors → app → rooms → ground.
const EDGES: &[(&str, &[&str])] = &[
    // Doors.
    (
        "cli",
        &[
            "agents",
            "app",
            "assistant",
            "clock",
            "codex",
            "config",
            "folders",
            "http",
            "install",
            "mcp",
            "names",
            "outbound",
            "popups",
            "process",
            "prompts",
            "recorder",
            "relay",
            "service",
            "socket",
            "telemetry",
            "tui",
            "visible",
            "yaml",
        ],
    ),
    ("http", &["agents", "app", "config", "mcp", "popups", "recorder", "web"]),
    (
        "mcp",
        &[
            "agents",
            "app",
            "assistant",
            "clock",
            "codex",
            "config",
            "events",
            "popups",
            "prompts",
            "recorder",
            "trace",
            "visible",
        ],
    ),
    ("relay", &["config", "mcp", "socket"]),
    ("socket", &["agents", "app", "codex", "config", "events", "git", "mcp", "popups", "process"]),
    ("tui", &["clock", "codex", "git", "popups", "socket", "visible"]),
    (
        "web",
        &[
            "agents",
            "app",
            "assistant",
            "clock",
            "codex",
            "config",
            "events",
            "folders",
            "git",
            "popups",
            "prompts",
            "visible",
        ],
    ),
    // The application.
    (
        "app",
        &[
            "agents",
            "assistant",
            "channels",
            "codex",
            "config",
            "events",
            "git",
            "llm",
            "outbound",
            "popups",
            "prompts",
            "recorder",
            "store",
            "trace",
            "visible",
        ],
    ),
    // Rooms: the ground only, never each other.
    (
        "agents",
        &["clock", "config", "events", "folders", "git", "names", "process", "recorder", "store", "yaml"],
    ),
    ("assistant", &["config", "events", "process", "store", "trace"]),
    ("codex", &["config", "events", "process", "recorder", "store", "trace", "visible"]),
    ("install", &["config"]),
    ("popups", &["clock", "config", "events", "store", "trace"]),
    ("prompts", &["config", "folders", "names", "yaml"]),
    // Ground.
    ("channels", &["config", "trace", "visible"]),
    ("clock", &[]),
    ("config", &[]),
    ("events", &[]),
    ("folders", &["config"]),
    ("git", &["process"]),
    ("llm", &["config", "outbound"]),
    ("names", &[]),
    ("outbound", &["trace"]),
    ("process", &["config"]),
    ("recorder", &["clock", "config"]),
    ("service", &["config"]),
    ("store", &["config"]),
    ("telemetry", &["config"]),
    ("trace", &[]),
    ("visible", &[]),
    ("yaml", &[]),
];

/// Which outside crate may be named where.
const CRATES: &[(&str, &[&str])] = &[
    ("reqwest", &["assistant", "channels", "outbound"]),
    ("rmcp", &["mcp", "http"]),
    ("axum", &["http", "web"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("indicatif", &["cli"]),
    ("jsonc_parser", &["install"]),
    ("listenfd", &["socket"]),
    ("socket2", &["socket"]),
    ("calcard", &["assistant"]),
    ("lettre", &["assistant"]),
    ("rrule", &["assistant"]),
    ("minijinja", &["web", "prompts"]),
    ("notify", &["folders"]),
    ("pulldown_cmark", &["web"]),
    ("notify_rust", &["channels"]),
    ("ratatui", &["tui"]),
    ("rrule", &["assistant"]),
    ("serde_saphyr", &["yaml"]),
    ("sqlx", &["store"]),
    ("toml", &["agents", "config"]),
    ("toml_edit", &["install"]),
];

fn sources() -> Vec<(String, PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    walk(&root, &mut found);
    found.sort();
    found
        .into_iter()
        .map(|path| {
            let relative = path.strip_prefix(&root).unwrap();
            let first = relative.components().next().unwrap().as_os_str().to_str().unwrap();
            let module = first.strip_suffix(".rs").unwrap_or(first).to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            (module, relative.to_owned(), text)
        })
        .collect()
}

/// The text without its `#[cfg(test)]` tail and without comment lines.
fn product_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| !line.trim_start().starts_with("#[cfg(test)]"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(number, line)| (number + 1, line))
}

/// The names that follow `prefix` in a line, at a word's start.
fn names_after<'a>(line: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(prefix).filter_map(move |(at, _)| {
        let before = line[..at].chars().next_back();
        // A name in quotes is a log target or a message.
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '"' | '=')) {
            return None;
        }
        let rest = &line[at + prefix.len()..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        Some(&rest[..end])
    })
}

#[test]
fn modules_name_only_what_the_table_allows() {
    let edges: BTreeMap<_, _> = EDGES.iter().copied().collect();
    let mut faults = Vec::new();
    for (module, path, text) in sources() {
        if module == "lib" || module == "main" {
            continue;
        }
        let Some(allowed) = edges.get(module.as_str()) else {
            faults.push(format!("{}: module `{module}` is not in the table of edges", path.display()));
            continue;
        };
        for (number, line) in product_lines(&text) {
            assert!(
                !line.contains("use crate::{"),
                "{}:{number}: one `use crate::…` a module",
                path.display()
            );
            for target in names_after(line, "crate::") {
                if target != module && edges.contains_key(target) && !allowed.contains(&target) {
                    faults.push(format!("{}:{number}: `{module}` must not name `{target}`", path.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn outside_crates_stay_behind_their_module() {
    let mut faults = Vec::new();
    for (module, path, text) in sources() {
        for (number, line) in product_lines(&text) {
            for (name, homes) in CRATES {
                let named = names_after(line, &format!("{name}::")).next().is_some();
                if named && !homes.contains(&module.as_str()) {
                    faults.push(format!("{}:{number}: `{name}` belongs to {homes:?}", path.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn error_codes_stand_in_one_file() {
    for (_, path, text) in sources() {
        if path == Path::new("mcp/error.rs") {
            continue;
        }
        for (number, line) in product_lines(&text) {
            assert!(
                !line.contains("-32"),
                "{}:{number}: codes belong to mcp/error.rs: {line}",
                path.display()
            );
        }
    }
}

#[test]
fn files_stay_small() {
    for (_, path, text) in sources() {
        let lines = text.lines().take_while(|line| !line.trim_start().starts_with("#[cfg(test)]")).count();
        assert!(lines <= 500, "{}: {lines} lines, the cap is 500 without tests", path.display());
    }
}

#[test]
fn no_module_is_a_drawer() {
    for (_, path, _) in sources() {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let drawers = ["util", "utils", "helpers", "common", "core", "misc", "manager"];
        assert!(!drawers.contains(&stem), "{}: name what it does", path.display());
    }
}

#[test]
fn no_test_file_is_forgotten() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = std::fs::read_to_string(folder.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_some_and(|e| e == "rs") && stem != "main" {
            assert!(main.contains(&format!("mod {stem};")), "tests/it/main.rs does not name `{stem}`");
        }
    }
}

#[test]
fn the_page_of_the_map_tells_the_same_edges() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md")).unwrap();
    assert!(page.lines().count() <= 250, "ARCHITECTURE.md is over 250 lines");
    for (module, allowed) in EDGES {
        let row = format!(
            "| `{module}` | {} |",
            match allowed {
                [] => "nothing".to_owned(),
                some => some.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
            }
        );
        assert!(page.contains(&row), "ARCHITECTURE.md lacks the row:\n{row}");
    }
}
