//! Configurations that are broken, read-only, linked, of another program, or changing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::run_ok;
use crate::support::Home;
use crate::support::terminal::Terminal;

/// Every file below the home with its content, to see that nothing was written.
fn tree(home: &Home) -> BTreeMap<String, Vec<u8>> {
    fn walk(folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                walk(&path, found);
            }
            let name = path.to_string_lossy().into_owned();
            found.insert(name, fs::read(&path).unwrap_or_default());
        }
    }
    let mut found = BTreeMap::new();
    walk(home.path(), &mut found);
    found
}

/// Asserts that a command fails with these texts and writes nothing.
#[track_caller]
fn refused(home: &Home, arguments: &[&str], words: &[&str]) {
    let before = tree(home);
    let finished = home.run(arguments, "");
    assert_eq!(finished.status.code(), Some(1), "{finished}");
    for word in words {
        assert!(finished.stderr.contains(word), "{word:?} is not in\n{finished}");
    }
    assert_eq!(tree(home), before, "{arguments:?}");
}

#[test]
fn a_broken_configuration_is_reported_with_its_line_and_not_changed() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"a\" 1\n  }\n}\n");
    refused(
        &home,
        &["install", "cursor"],
        &[".cursor/mcp.json cannot be changed", "line 3, column 9", "hint:"],
    );
    refused(&home, &["uninstall", "cursor"], &["line 3, column 9"]);
    home.write(".codex/config.toml", "model = \"o\"\n[mcp_servers\n");
    refused(&home, &["install", "codex"], &["config.toml cannot be changed", "line 2"]);
    home.write(".codex/config.toml", "model = \"o\"\nmcp_servers = 3\n");
    refused(
        &home,
        &["install", "codex"],
        &["line 2: `mcp_servers` is not a separate table", "hint: change the file by hand"],
    );
    home.write(".cursor/mcp.json", "{\"mcpServers\": {},\n\"mcpServers\": {}}");
    refused(&home, &["install", "cursor"], &["line 2: `mcpServers` is a duplicate"]);
    home.write(".cursor/mcp.json", b"{\n\"a\": \"\xff\"}");
    refused(&home, &["install", "cursor"], &["line 2 is not UTF-8", "hint: save it as UTF-8"]);
    // The file of hooks counts as well: a change that cannot be completed is not begun.
    home.write(".codex/config.toml", "model = \"o\"\n");
    home.write(".codex/hooks.json", "{\"hooks\": [");
    refused(&home, &["install", "codex"], &["hooks.json cannot be changed: line 1"]);
}

#[test]
fn a_client_that_fails_does_not_stop_the_others() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{");
    home.write(".config/zed/settings.json", "{}");
    let finished = home.run(["install", "cursor", "zed", "--json"], "");
    assert_eq!(finished.status.code(), Some(1), "{finished}");
    let answer: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert!(answer["items"][0]["error"].as_str().unwrap().contains("line 1"), "{answer:#}");
    let zed = &answer["items"][1]["files"][0];
    assert_eq!((&zed["outcome"], &zed["written"]), (&json!("changed"), &json!(true)));
    assert!(zed["diff"].as_str().unwrap().contains("+  \"context_servers\": {"), "{answer:#}");
    assert!(fs::read_to_string(zed["backup"].as_str().unwrap()).unwrap().starts_with("{}"));
    assert!(fs::read_to_string(home.path().join(".config/zed/settings.json")).unwrap().contains("connect"));
}

#[test]
fn another_server_named_adjutant_is_replaced_by_force_only() {
    let home = Home::new();
    for (client, file, text) in [
        (
            "cursor",
            ".cursor/mcp.json",
            r#"{"mcpServers": {"adjutant": {"command": "/opt/army", "args": ["march"]}}}"#,
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.adjutant]\ncommand = \"/opt/army\"\nargs = [\"march\"]\n",
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            r#"{"mcp": {"adjutant": {"command": ["/opt/army", "march"]}}}"#,
        ),
        (
            "gemini",
            ".gemini/settings.json",
            r#"{"mcpServers": {"adjutant": {"httpUrl": "https://army.example/mcp"}}}"#,
        ),
    ] {
        let path = home.write(file, text);
        refused(&home, &["install", client], &["a different server named `adjutant`", "army", "--force"]);
        run_ok(&home, &["uninstall", client]);
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "it is not ours to remove");
        run_ok(&home, &["install", client, "--force"]);
        let new = fs::read_to_string(&path).unwrap();
        assert!(new.contains("connect") && !new.contains("army"), "{new}");
        run_ok(&home, &["uninstall", client]);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_plugin_of_another_author_is_replaced_by_force_only() {
    let home = Home::new();
    let plugin = home.write(".config/opencode/plugins/adjutant.js", "export const Mine = 1\n");
    refused(&home, &["install", "opencode"], &["adjutant.js was not written by Adjutant", "--force"]);
    run_ok(&home, &["uninstall", "opencode"]);
    assert_eq!(fs::read_to_string(&plugin).unwrap(), "export const Mine = 1\n");
    run_ok(&home, &["install", "opencode", "--force"]);
    assert!(fs::read_to_string(&plugin).unwrap().contains("permission.asked"));
    run_ok(&home, &["uninstall", "opencode"]);
    assert_eq!(fs::read_to_string(&plugin).unwrap(), "export const Mine = 1\n");
}

#[test]
fn a_linked_configuration_stays_a_link_and_is_reported() {
    let home = Home::new();
    let real = home.write("dotfiles/codex.toml", "model = \"o\"\n");
    fs::create_dir(home.path().join(".codex")).unwrap();
    let link = home.path().join(".codex/config.toml");
    symlink("../dotfiles/codex.toml", &link).unwrap();
    let output = run_ok(&home, &["install", "codex"]);
    let target = real.canonicalize().unwrap();
    assert!(output.stdout.contains(&format!("a link to {}", target.display())), "{output}");
    assert!(link.is_symlink() && fs::read_to_string(&real).unwrap().contains("[mcp_servers.adjutant]"));
    run_ok(&home, &["uninstall", "codex"]);
    assert!(link.is_symlink() && fs::read_to_string(&real).unwrap() == "model = \"o\"\n");
    fs::remove_file(&real).unwrap();
    refused(&home, &["install", "codex"], &["it is a broken link"]);
    symlink(&link, &real).unwrap();
    refused(&home, &["install", "codex"], &["config.toml: Too many levels of symbolic links"]);
    symlink("nowhere", home.path().join(".cursor")).unwrap();
    refused(&home, &["install", "cursor"], &[".cursor: it is a broken link"]);
}

#[test]
fn a_read_only_configuration_is_not_written() {
    let home = Home::new();
    let file = home.write(".cursor/mcp.json", "{}\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    refused(&home, &["install", "cursor"], &["cannot write", ".cursor/mcp.json: it is read-only"]);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused(&home, &["install", "cursor"], &["it is not a file"]);
    // A pipe would block until another process writes into it.
    fs::remove_dir(&file).unwrap();
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    let finished = home.run(["install", "cursor"], "");
    assert!(finished.stderr.contains("it is not a file"), "{finished}");
}

#[test]
fn uninstall_without_a_backup_removes_the_entry() {
    let home = Home::new();
    let file = home.write(".cursor/mcp.json", "{\"mine\": 1}\n");
    let output = run_ok(&home, &["install", "cursor", "--json"]);
    let output: Value = serde_json::from_str(&output.stdout).unwrap();
    fs::remove_file(output["items"][0]["files"][0]["backup"].as_str().unwrap()).unwrap();
    run_ok(&home, &["uninstall", "cursor"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"mine\": 1}\n");
}

#[test]
fn every_install_keeps_a_backup_of_each_file() {
    let home = Home::new();
    // Three times within a second or two, so that the same stamp comes again.
    for version in 1..=3 {
        home.write(".cursor/mcp.json", format!("{{\"version\": {version}}}\n"));
        run_ok(&home, &["install", "cursor"]);
    }
    let copies =
        fs::read_dir(home.path().join(".adjutant/backups")).unwrap().map(|entry| entry.unwrap().path());
    let copies = copies.filter(|copy| !copy.to_string_lossy().ends_with(".change.json"));
    let mut copies: Vec<_> = copies.map(|copy| fs::read_to_string(copy).unwrap()).collect();
    copies.sort();
    assert_eq!(copies, [1, 2, 3].map(|version| format!("{{\"version\": {version}}}\n")));
    // Two folders of one program, with files of one name.
    let install = |verb: &str, folder: &str| {
        let mut command = home.adjutant([verb, "codex"]);
        let output = command.env("CODEX_HOME", home.path().join(folder)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let files = ["work", "play"]
        .map(|folder| (folder, home.write(&format!("{folder}/config.toml"), format!("# {folder}"))));
    for (folder, _) in &files {
        install("install", folder);
    }
    for (folder, file) in &files {
        install("uninstall", folder);
        assert_eq!(
            fs::read_to_string(file).unwrap(),
            format!("# {folder}"),
            "the line end that was not there"
        );
    }
}

#[test]
fn the_permissions_of_a_configuration_are_kept() {
    let home = Home::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = home.write(".cursor/mcp.json", "{}\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    run_ok(&home, &["install", "cursor", "codex"]);
    assert_eq!(mode(&file), 0o640);
    // New files and backups may contain secrets.
    assert_eq!(mode(&home.path().join(".codex/config.toml")), 0o600);
    let backups = home.path().join(".adjutant/backups");
    assert_eq!(mode(&backups), 0o700);
    let kept: Vec<_> = fs::read_dir(&backups).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(kept.len() >= 2 && kept.iter().all(|file| mode(file) == 0o600), "{kept:?}");
    // A byte-order mark stays, too.
    let marked = home.write(".config/zed/settings.json", "\u{feff}{}\n");
    run_ok(&home, &["install", "zed"]);
    assert!(fs::read_to_string(&marked).unwrap().starts_with("\u{feff}{\n  \"context_servers\""));
}

#[test]
fn uninstall_keeps_later_changes_of_other_programs() {
    let home = Home::new();
    let file = home.write(".claude.json", "{\n  \"numStartups\": 1\n}\n");
    run_ok(&home, &["install", "claude"]);
    let text = fs::read_to_string(&file).unwrap().replace("\"numStartups\": 1", "\"numStartups\": 2");
    fs::write(&file, text).unwrap();
    run_ok(&home, &["uninstall", "claude"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"numStartups\": 2\n}\n");
}

#[test]
fn uninstall_without_an_entry_changes_nothing() {
    let home = Home::new();
    let install = home.adjutant(["install"]).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(install.status.code(), Some(1));
    let output = home.adjutant(["uninstall"]).env("PATH", "/nowhere").output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.contains("there is nothing to remove"), "{words}");
}

#[test]
fn a_dry_run_writes_nothing() {
    let home = Home::new();
    home.write(".codex/config.toml", "model = \"o\"\n");
    home.write(".claude.json", "{\"secret\":\"s\",\"oauth\":{\"x\":1}}");
    let before = tree(&home);
    let output = run_ok(&home, &["install", "--dry-run"]);
    assert_eq!(tree(&home), before);
    assert!(output.stdout.contains("+[mcp_servers.adjutant]"), "{output}");
    assert!(output.stdout.contains("Claude Code: ~/.claude.json would be changed"), "{output}");
    assert!(output.stderr.contains("nothing was written"), "{output}");
}

#[test]
fn the_user_is_asked_at_a_terminal_and_a_file_changed_meanwhile_is_not_written() {
    let home = Home::new();
    let file = home.write(".cursor/mcp.json", "{}\n");
    let mut terminal = Terminal::start(&home, &["install", "cursor"], 100, 30, &[]);
    terminal.shows("Write this? [Y/n]");
    terminal.send("n\r");
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
    let mut terminal = Terminal::start(&home, &["install", "cursor"], 100, 30, &[]);
    terminal.shows("Write this? [Y/n]");
    fs::write(&file, "{\"mcpServers\": {}}\n").unwrap();
    terminal.send("\r");
    terminal.shows("changed by another program");
    assert_eq!(terminal.exit_code(), 1);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"mcpServers\": {}}\n");
}

#[test]
fn invisible_and_control_characters_of_a_configuration_are_shown() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"a\u{202e}\": \"b\" // \u{1b}[2J\n  }\n}\n");
    let output = run_ok(&home, &["install", "cursor", "--dry-run"]).stdout;
    assert!(
        output.contains("+    \"adjutant\": {") && !output.contains(['\u{202e}', '\u{1b}']),
        "{output:?}"
    );
}

#[test]
fn a_hostile_project_changes_no_configuration() {
    let home = Home::new();
    let evil = r#"{"mcpServers": {"adjutant": {"command": "/evil", "args": ["connect"]}}}"#;
    for file in
        [".mcp.json", ".cursor/mcp.json", ".gemini/settings.json", ".vscode/mcp.json", "opencode.json"]
    {
        home.write(&format!("project/{file}"), evil);
    }
    home.write("project/.codex/config.toml", "[mcp_servers.adjutant]\ncommand = \"/evil\"\n");
    let project = home.path().join("project");
    let before = tree(&home);
    let clients = ["claude", "codex", "cursor", "gemini", "opencode", "vscode"];
    let output = home.adjutant(["install"].iter().chain(&clients)).current_dir(&project).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let after = tree(&home);
    for (file, text) in &before {
        assert_eq!(after.get(file), Some(text), "{file}");
    }
    for (file, text) in after.iter().filter(|(file, _)| !before.contains_key(*file)) {
        assert!(!String::from_utf8_lossy(text).contains("/evil"), "{file}");
    }
    assert!(home.path().join(".claude.json").exists() && home.path().join(".codex/config.toml").exists());
}
