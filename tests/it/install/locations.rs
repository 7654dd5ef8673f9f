//! Which clients are found, where their files are, and which command they start.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::run_ok;
use crate::support::Home;

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_variables_of_a_client_decide_where_its_files_are() {
    let home = Home::new();
    let at = |name: &str| home.path().join("elsewhere").join(name);
    let all = ["claude", "codex", "copilot", "gemini", "opencode", "zed", "vscode"];
    let mut command = home.adjutant(["install"].iter().chain(&all));
    for variable in [
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "COPILOT_HOME",
        "GEMINI_CLI_HOME",
        "OPENCODE_CONFIG_DIR",
        "XDG_CONFIG_HOME",
    ] {
        command.env(variable, at(variable));
    }
    output(&mut command);
    for file in [
        "CLAUDE_CONFIG_DIR/.claude.json",
        "CLAUDE_CONFIG_DIR/settings.json",
        "CODEX_HOME/config.toml",
        "CODEX_HOME/hooks.json",
        "COPILOT_HOME/mcp-config.json",
        "COPILOT_HOME/hooks/adjutant.json",
        "GEMINI_CLI_HOME/.gemini/settings.json",
        "OPENCODE_CONFIG_DIR/opencode.json",
        "XDG_CONFIG_HOME/zed/settings.json",
        "XDG_CONFIG_HOME/Code/User/mcp.json",
    ] {
        assert!(read(&at(file)).contains("adjutant"), "{file}");
    }
    // The home itself got nothing but adjutant's own folder.
    let names: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| name == ".adjutant" || name == "elsewhere"), "{names:?}");
    let item = home.path().join("mine.jsonc");
    output(home.adjutant(["install", "opencode"]).env("OPENCODE_CONFIG", &item));
    assert!(read(&item).contains("connect"));
}

#[test]
fn install_without_a_name_sets_up_every_installed_client() {
    let home = Home::new();
    let nothing = home.adjutant(["install"]).env("PATH", home.path()).output().unwrap();
    assert_eq!(nothing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("hint: name the client"));
    home.write(".gemini/keep", "");
    home.write(".config/Code - Insiders/User/keep", "");
    home.write_program("bin/codex", "#!/bin/sh\n");
    let answer = output(home.adjutant(["install", "--json"]).env("PATH", home.path().join("bin")));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let names: Vec<_> = answer["items"].as_array().unwrap().iter().map(|client| &client["client"]).collect();
    assert_eq!(names, ["codex", "gemini", "vscode"]);
    assert!(home.path().join(".config/Code - Insiders/User/mcp.json").exists());
    let closed = output(home.adjutant(["uninstall", "--all", "--json"]).env("PATH", home.path().join("bin")));
    let closed: Value = serde_json::from_str(&closed).unwrap();
    assert!(
        closed["items"].as_array().unwrap().iter().all(|client| client["files"][0]["outcome"] == "removed")
    );
}

#[test]
fn uninstall_removes_the_folders_that_install_made() {
    let home = Home::new();
    home.write(".gemini/keep", "");
    let dry = home.run(["install", "copilot", "gemini", "--dry-run"], "");
    assert!(dry.stdout.contains("mcp-config.json would be created\n"), "{dry}");
    assert_eq!(dry.stderr, "dry run, nothing was written: would be added to Copilot CLI, Gemini CLI\n");
    let installed = home.run(["install", "copilot", "gemini"], "");
    assert!(installed.stdout.contains("mcp-config.json created\n"), "{installed}");
    assert!(installed.stderr.contains("\nadded to Copilot CLI, Gemini CLI\nnext: "), "{installed}");
    let again = home.run(["install", "copilot", "gemini"], "");
    assert_eq!(again.stderr, "unchanged in Copilot CLI, Gemini CLI\n");
    let removed = home.run(["uninstall", "copilot", "gemini"], "");
    assert_eq!(removed.stderr, "removed from Copilot CLI, Gemini CLI\n");
    let left: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == ".gemini" || name == ".adjutant"), "{left:?}");
    assert!(!home.path().join(".adjutant/backups").exists());
    // A folder that two clients share goes with the last of them.
    run_ok(&home, &["install", "claude-desktop", "zed"]);
    assert!(home.path().join(".config").exists());
    run_ok(&home, &["uninstall", "claude-desktop", "zed"]);
    assert!(!home.path().join(".config").exists());
    // A folder with a file of the user stays.
    run_ok(&home, &["install", "copilot"]);
    home.write(".copilot/hooks/mine.json", "{}");
    run_ok(&home, &["uninstall", "copilot"]);
    let kept: Vec<_> =
        fs::read_dir(home.path().join(".copilot")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, ["hooks"]);
}

#[test]
fn install_sets_up_every_variant_of_vs_code() {
    let home = Home::new();
    home.write(".config/VSCodium/User/keep", "");
    run_ok(&home, &["install", "vscode"]);
    let codium = home.path().join(".config/VSCodium/User/mcp.json");
    assert!(codium.exists());
    // Another variant is installed later, and each is a separate program.
    let code = home.path().join(".config/Code/User/mcp.json");
    home.write(".config/Code/User/mcp.json", "{}\n");
    let clients = || {
        let output: Value = serde_json::from_str(&home.run(["doctor", "--json"], "").stdout).unwrap();
        output["items"].as_array().unwrap().iter().find(|check| check["id"] == "clients").unwrap().clone()
    };
    assert!(clients()["detail"].as_str().unwrap().contains("VS Code") && clients()["status"] == "warn");
    run_ok(&home, &["install", "vscode"]);
    assert!(read(&codium).contains("connect") && read(&code).contains("connect"));
    assert_eq!(clients()["status"], "ok", "{}", clients());
    run_ok(&home, &["uninstall", "vscode"]);
    assert!(!codium.exists());
    assert_eq!(read(&code), "{}\n");
}

#[test]
fn install_writes_one_of_the_files_that_opencode_reads() {
    let home = Home::new();
    let plain = home.write(".config/opencode/opencode.json", "{\"theme\": \"tides\"}");
    run_ok(&home, &["install", "opencode"]);
    assert!(read(&plain).contains("connect"));
    let with_comments = home.write(".config/opencode/opencode.jsonc", "{} // mine\n");
    run_ok(&home, &["install", "opencode"]);
    assert_eq!(read(&with_comments), "{} // mine\n", "the entry is in the other file");
    run_ok(&home, &["uninstall", "opencode"]);
    assert_eq!(read(&plain), "{\"theme\": \"tides\"}");
    assert_eq!(read(&with_comments), "{} // mine\n");
    // A new entry goes to the file that may contain comments.
    run_ok(&home, &["install", "opencode"]);
    assert!(read(&with_comments).contains("connect") && !read(&plain).contains("connect"));
}

#[test]
fn a_correct_entry_keeps_its_wording() {
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_adjutant");
    let text = format!(
        "[mcp_servers]\nadjutant = {{command=\"{program}\", args = [\n  \"connect\", # all toolsets\n]}}\n"
    );
    let file = home.write(".codex/config.toml", &text);
    run_ok(&home, &["install", "codex"]);
    assert_eq!(read(&file), text);
    let dotted = format!(
        "mcp_servers.adjutant.command = '{program}' # ours\nmcp_servers.adjutant.args = [\"connect\"]\n"
    );
    home.write(".codex/config.toml", &dotted);
    run_ok(&home, &["install", "codex"]);
    assert_eq!(read(&file), dotted);
}

#[test]
fn the_entry_has_an_absolute_path_that_outlives_an_upgrade() {
    let home = Home::new();
    let bin = home.path().join("my bin");
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_adjutant"), bin.join("adjutant")).unwrap();
    output(home.adjutant(["install", "claude"]).env("PATH", &bin));
    let state: Value = serde_json::from_str(&read(&home.path().join(".claude.json"))).unwrap();
    let program = bin.join("adjutant");
    assert_eq!(state["mcpServers"]["adjutant"]["command"], json!(program));
    let settings: Value = serde_json::from_str(&read(&home.path().join(".claude/settings.json"))).unwrap();
    let hook = &settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"];
    assert_eq!(*hook, json!(format!("'{}' hook claude", program.display())));
    // A shell reads it as intended.
    let line = hook.as_str().unwrap();
    let mut shell = Command::new("sh");
    let ran = shell
        .args(["-c", line])
        .env("HOME", home.path())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    // Another program of that name on the PATH does not count.
    fs::remove_file(&program).unwrap();
    fs::write(&program, "#!/bin/sh\n").unwrap();
    output(home.adjutant(["install", "claude"]).env("PATH", &bin));
    let state: Value = serde_json::from_str(&read(&home.path().join(".claude.json"))).unwrap();
    assert_eq!(state["mcpServers"]["adjutant"]["command"], json!(env!("CARGO_BIN_EXE_adjutant")));
}

#[test]
fn the_entry_keeps_another_adjutant_home() {
    let home = Home::new();
    let other_home = home.path().join("other");
    let other_home = other_home.to_str().unwrap();
    run_ok(&home, &["install", "codex", "--home", other_home]);
    let config = read(&home.path().join(".codex/config.toml"));
    assert!(config.contains(&format!("args = [\"connect\", \"--home\", \"{other_home}\"]")), "{config}");
    let hooks = read(&home.path().join(".codex/hooks.json"));
    assert!(hooks.contains(&format!(" hook codex --home {other_home}\"")), "{hooks}");
    assert!(Path::new(other_home).join("backups").exists());
    run_ok(&home, &["install", "codex"]);
    assert!(read(&home.path().join(".codex/config.toml")).contains("args = [\"connect\"]"));
    // One for prompts and one for permissions.
    assert_eq!(read(&home.path().join(".codex/hooks.json")).matches("hook codex").count(), 2);
}

#[test]
fn the_hook_can_be_left_out() {
    let home = Home::new();
    run_ok(&home, &["install", "gemini", "codex"]);
    run_ok(&home, &["install", "gemini", "codex", "--no-hook"]);
    assert!(!read(&home.path().join(".gemini/settings.json")).contains("hook"));
    assert!(!read(&home.path().join(".codex/hooks.json")).contains("hook codex"));
}

#[test]
fn install_links_contain_the_whole_entry() {
    let home = Home::new();
    let links = run_ok(&home, &["install", "--link"]).stdout;
    let [cursor, vscode] = links.lines().collect::<Vec<_>>()[..] else { panic!("{links}") };
    let config =
        cursor.strip_prefix("cursor://anysphere.cursor-deeplink/mcp/install?name=adjutant&config=").unwrap();
    // Base64 is checked by an independent decoder.
    let script =
        "import base64, sys, urllib.parse as u; print(base64.b64decode(u.unquote(sys.argv[1])).decode())";
    let decoded = output(Command::new("python3").args(["-c", script, config]));
    let server = json!({"command": env!("CARGO_BIN_EXE_adjutant"), "args": ["connect"]});
    assert_eq!(serde_json::from_str::<Value>(&decoded).unwrap(), server);
    let config = vscode.strip_prefix("vscode:mcp/install?").unwrap();
    assert!(config.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)), "{config}");
    let script = "import sys, urllib.parse as u; print(u.unquote(sys.argv[1]))";
    let decoded: Value =
        serde_json::from_str(&output(Command::new("python3").args(["-c", script, config]))).unwrap();
    assert_eq!((&decoded["name"], &decoded["args"]), (&json!("adjutant"), &json!(["connect"])));
    let none = home.run(["install", "codex", "--link"], "");
    assert_eq!(none.status.code(), Some(2), "{none}");
    assert!(fs::read_dir(home.path()).unwrap().next().is_none(), "a link writes nothing");
}
