use std::ffi::OsString;
use std::path::Path;

use super::{command_line, probe};
use crate::definition::Permission;
use crate::runner::Runner;
use crate::sandbox::SandboxedRun;

/// The line after what every sandbox begins with, one option a line, with `~` for the home.
fn shown(line: &[OsString], home: &Path) -> String {
    let words: Vec<&str> = line.iter().map(|word| word.to_str().unwrap()).collect();
    let after = words.iter().position(|word| *word == "--proc").unwrap() + 2;
    let text = words[after..].join(" ").replace(home.to_str().unwrap(), "~");
    text.replace(" --", "\n--")
}

#[test]
fn a_level_is_a_list_of_mounts() {
    let folder = tempfile::Builder::new().prefix("adj").tempdir_in("/tmp").unwrap();
    let home = folder.path().canonicalize().unwrap();
    for path in ["work/.git", ".codex/sessions", ".copilot", ".config/opencode", "hub/spool/task/scratch-1"] {
        std::fs::create_dir_all(home.join(path)).unwrap();
    }
    let files = [".codex/config.toml", ".copilot/config.json", ".copilot/mcp-config.json"];
    for file in files.into_iter().chain([".config/opencode/opencode.json", "hub/login-key"]) {
        std::fs::write(home.join(file), "").unwrap();
    }
    let env = [("HOME", home.as_os_str()), ("PATH", "/usr/bin".as_ref())];
    let env = env.map(|(name, value)| (name.into(), value.into()));
    let cases = [
        (Runner::Codex, Permission::ReadOnly, true),
        (Runner::Copilot, Permission::WorkspaceWrite, false),
        (Runner::Opencode, Permission::ReadOnly, true),
    ];
    let lines = cases.map(|(runner, permission, has_network)| {
        let run = SandboxedRun {
            runner: &runner,
            permission,
            workspace: &home.join("work"),
            scratch: &home.join("hub/spool/task/scratch-1"),
            visible: vec!["/usr/bin/codex".into(), "/tmp/elsewhere".into()],
            has_network,
            socket: None,
            writable: &[home.join("cache")],
            env: &env,
        };
        let line = command_line(Path::new("/bin/bwrap"), &run, Some(&home.join("hub"))).unwrap();
        format!("{} {}\n{}", runner.name(), permission.name(), shown(&line, &home))
    });
    insta::assert_snapshot!(lines.join("\n\n"));
}

#[test]
fn a_probe_of_codex_has_a_sandbox_in_the_sandbox() {
    let count = |is_nested| {
        let line = probe(Path::new("/tmp/bin/bwrap"), is_nested);
        assert!(line.contains(&"/tmp/bin/bwrap".into()) && line.last() == Some(&"--version".into()));
        line.iter().filter(|word| *word == "--unshare-user").count()
    };
    assert_eq!((count(false), count(true)), (1, 2));
}
