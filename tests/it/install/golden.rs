//! Every client's files before and after, byte for byte: installed, installed again, removed with and without the
//! backup.
//!
//! `golden/CLIENT.golden` has a part for each case (`####`), with the files before, after, and after the removal of the
//! entry where that differs from before. A plugin is there once, in the first case. A carriage return is shown as `␍`, a tab as `␉`, a missing line end as `⏎`.
//! `INSTA_UPDATE=always` writes the result into the file, for a review.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::run_ok;
use crate::support::Home;

/// Files by their path below the home.
type Files = BTreeMap<String, String>;

struct Case {
    name: String,
    before: Files,
    after: Files,
    /// The result of `uninstall` where it differs from before.
    removed: Files,
}

/// Stands for the text that the file has in the first case.
const SAME: &str = "(as in the first case)\n";

const PROGRAM: &str = env!("CARGO_BIN_EXE_adjutant");

fn golden_file(client: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/install/golden/{client}.golden"))
}

fn escape(text: &str) -> String {
    let text = text.replace(PROGRAM, "/bin/adjutant").replace('\r', "␍").replace('\t', "␉");
    if text.ends_with('\n') { text } else { text + "⏎\n" }
}

fn unescape(text: &str) -> String {
    let text = text.strip_suffix("⏎\n").unwrap_or(text);
    text.replace("/bin/adjutant", PROGRAM)
        .replace('␍', "\r")
        .replace('␉', "\t")
        .replace(&format!("/old{PROGRAM}"), "/old/bin/adjutant")
}

fn read(client: &str) -> Vec<Case> {
    let text = fs::read_to_string(golden_file(client)).unwrap();
    let cases = text.split("#### ").skip(1).map(|part| {
        let (name, files) = part.split_once('\n').unwrap();
        let mut case =
            Case { name: name.to_owned(), before: Files::new(), after: Files::new(), removed: Files::new() };
        for file in files.split("==== ").skip(1) {
            let (label, text) = file.split_once('\n').unwrap();
            let (when, path) = label.split_once(' ').unwrap();
            let files = match when {
                "before" => &mut case.before,
                "after" => &mut case.after,
                "without" => &mut case.removed,
                other => panic!("{other}?"),
            };
            files.insert(path.to_owned(), unescape(text));
        }
        case
    });
    let mut cases: Vec<Case> = cases.collect();
    let first = cases[0].after.clone();
    for (path, text) in cases.iter_mut().flat_map(|case| &mut case.after).filter(|(_, text)| *text == SAME) {
        text.clone_from(&first[path]);
    }
    cases
}

fn render(cases: &[Case]) -> String {
    let mut text = String::new();
    for (number, case) in cases.iter().enumerate() {
        text += &format!("#### {}\n", case.name);
        for (when, files) in [("before", &case.before), ("after", &case.after), ("without", &case.removed)] {
            for (path, content) in files {
                let is_plugin = path.ends_with("/adjutant.js");
                let is_same = number > 0 && is_plugin && cases[0].after.get(path) == Some(content);
                let content = if is_same { SAME.to_owned() } else { escape(content) };
                text += &format!("==== {when} {path}\n{content}");
            }
        }
    }
    text
}

/// All files below the home but adjutant's own.
fn files(home: &Home) -> Files {
    fn walk(root: &Path, folder: &Path, found: &mut Files) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && name != ".adjutant" {
                walk(root, &path, found);
            } else if path.is_file() {
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut found = Files::new();
    walk(home.path(), home.path(), &mut found);
    found
}

#[track_caller]
fn check(client: &str) {
    let update = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    let mut cases = read(client);
    assert!(cases.len() >= 9, "{client} has few cases");
    for case in &mut cases {
        let at = format!("{client}, {}", case.name);
        let home = Home::new();
        for (path, text) in &case.before {
            home.write(path, text);
        }
        run_ok(&home, &["install", client]);
        let after = files(&home);
        let repeated = run_ok(&home, &["install", client]);
        assert_eq!(files(&home), after, "{at}: installed again");
        assert!(!repeated.stdout.contains('+'), "{at}: {}", repeated.stdout);

        run_ok(&home, &["uninstall", client]);
        let without = files(&home);
        let closed = run_ok(&home, &["uninstall", client]);
        assert!(closed.stdout.lines().all(|line| line.ends_with("unchanged")), "{at}: {}", closed.stdout);

        // Another program's change makes the backup useless: then only the entry is removed, and the meaning is the
        // same.
        for (path, text) in &after {
            home.write(path, text);
        }
        run_ok(&home, &["uninstall", client]);
        for (path, text) in files(&home) {
            let before = without.get(&path).map_or("", String::as_str);
            assert_eq!(meaning(&path, &text), meaning(&path, before), "{at}: {path} without a change record");
            let emptied = ["no file", "nothing", "an empty", "no servers", "ours"]
                .iter()
                .any(|word| case.name.contains(word));
            if !emptied && case.before.contains_key(&path) {
                assert_eq!(text.trim_end(), before.trim_end(), "{at}: {path} without a change record");
            }
        }

        let without = if without == case.before { Files::new() } else { without };
        if update {
            (case.after, case.removed) = (after, without);
        } else {
            assert_eq!(after, case.after, "{at}: installed");
            assert_eq!(without, case.removed, "{at}: removed");
        }
    }
    if update {
        fs::write(golden_file(client), render(&cases)).unwrap();
    }
}

/// The meaning of a configuration, without white space, comments and empty values.
fn meaning(path: &str, text: &str) -> String {
    let comment = if path == ".codex/config.toml" { "#" } else { "//" };
    let lines = text.lines().map(|line| line.split(comment).next().unwrap_or_default());
    let text: String = lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect();
    // Copilot's file of hooks has this member too.
    let text = text.replace("\"version\":1", "").replace(",}", "}");
    if text == "{}" { String::new() } else { text }
}

#[test]
fn the_files_of_claude_code_match() {
    check("claude");
}

#[test]
fn the_files_of_claude_desktop_match() {
    check("claude-desktop");
}

#[test]
fn the_files_of_codex_match() {
    check("codex");
}

#[test]
fn the_files_of_copilot_match() {
    check("copilot");
}

#[test]
fn the_files_of_cursor_match() {
    check("cursor");
}

#[test]
fn the_files_of_gemini_match() {
    check("gemini");
}

#[test]
fn the_files_of_opencode_match() {
    check("opencode");
}

#[test]
fn the_files_of_vscode_match() {
    check("vscode");
}

#[test]
fn the_files_of_zed_match() {
    check("zed");
}

#[test]
fn the_page_of_each_client_shows_the_written_entries() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = 0;
    let folder = root.join("tests/it/install/golden");
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let client = name.strip_suffix(".golden").unwrap();
        let page = fs::read_to_string(root.join(format!("docs/clients/{client}.md"))).unwrap();
        let cases = read(client);
        let fresh = cases.iter().find(|case| case.name == "no file").unwrap();
        assert!(page.contains(&format!("```sh\nadjutant install {client}\n```\n")), "{client}");
        for (path, text) in &fresh.after {
            let language = path.rsplit('.').next().unwrap();
            let block = format!("`~/{path}`\n\n```{language}\n{}```\n", escape(text));
            assert!(page.contains(&block), "docs/clients/{client}.md does not show this:\n{block}");
            found += 1;
        }
    }
    assert_eq!(found, 13, "nine clients, five of them with a hook, one of which shares the file");
}
