use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{RunRoot, command_line, mount_point, probe};
use crate::definition::Permission;
use crate::runner::Runner;
use crate::sandbox::SandboxedRun;

/// A home with the folders of the runners, below `/tmp`, which a sandbox has empty.
fn home() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::Builder::new().prefix("adj").tempdir_in("/tmp").unwrap();
    let home = folder.path().canonicalize().unwrap();
    for path in ["work/.git", ".codex", ".config/opencode/agents", "hub/spool/task/scratch-1"] {
        std::fs::create_dir_all(home.join(path)).unwrap();
    }
    for file in [".codex/config.toml", "hub/login-key"] {
        std::fs::write(home.join(file), "").unwrap();
    }
    (folder, home)
}

/// The command line of a run in `workspace`.
fn line(home: &Path, runner: &Runner, workspace: &str, has_network: bool) -> Result<Vec<String>, String> {
    let env = [("HOME", home.as_os_str()), ("PATH", "/usr/bin".as_ref())];
    let run = SandboxedRun {
        runner,
        permission: Permission::WorkspaceWrite,
        workspace: &home.join(workspace),
        scratch: &home.join("hub/spool/task/scratch-1"),
        visible: vec!["/tmp/elsewhere".into()],
        has_network,
        socket: None,
        writable: &[],
        env: &env.map(|(name, value)| (name.into(), value.into())),
    };
    let state = home.join(format!("hub/spool/task/{}.podman", runner.name()));
    let folders = (state.as_path(), &RunRoot::new());
    let line = command_line(Path::new("/bin/podman"), &run, Some(&home.join("hub")), folders)?;
    Ok(line.into_iter().map(|word| word.into_string().unwrap()).collect())
}

#[test]
fn a_container_has_the_mounts_of_the_sandbox_and_no_image() {
    let (_folder, home) = home();
    let lines = [(Runner::Codex, true), (Runner::Opencode, false)].map(|(runner, has_network)| {
        let line = line(&home, &runner, "work", has_network).unwrap();
        let network = line.iter().position(|word| word == "--network").unwrap();
        assert_eq!(line[network + 1], if has_network { "host" } else { "none" });
        let run_root = line.iter().position(|word| word == "--runroot").unwrap() + 1;
        assert!(line[run_root].len() <= 50, "podman takes no longer path: {}", line[run_root]);
        let mounts = line.windows(2).filter(|pair| pair[0] == "--volume" || pair[0] == "--tmpfs");
        // The other folders of the root are those of this machine.
        let shown = mounts.filter(|pair| pair[0] == "--tmpfs" || pair[1].contains(home.to_str().unwrap()));
        let shown: Vec<String> =
            shown.map(|pair| pair.join(" ").replace(home.to_str().unwrap(), "~")).collect();
        assert!(line.iter().any(|word| word == "/etc:/etc:ro"), "{line:?}");
        assert!(!line.iter().any(|word| word.starts_with("/proc:") || word.starts_with("/dev:")), "{line:?}");
        format!("{}\n{}", runner.name(), shown.join("\n"))
    });
    insta::assert_snapshot!(lines.join("\n\n"));
    let root = home.join("hub/spool/task/codex.podman/root");
    assert_eq!(root.join("tmp").metadata().unwrap().permissions().mode() & 0o7777, 0o1777);
    assert!(std::fs::read_dir(root.join("etc")).unwrap().next().is_none());
}

#[test]
fn a_folder_that_podman_cannot_mount_is_named() {
    let (_folder, home) = home();
    std::fs::create_dir(home.join("a:b")).unwrap();
    let reason = line(&home, &Runner::Codex, "a:b", true).unwrap_err();
    assert_eq!(
        reason,
        format!("podman cannot mount `{}`, because it has a colon", home.join("a:b").display())
    );
}

#[test]
fn a_probe_of_codex_has_a_sandbox_in_the_container() {
    let (_folder, home) = home();
    for (number, nested) in [None, Some(Path::new("/usr/bin/bwrap"))].into_iter().enumerate() {
        let (state, run_root) = (home.join(number.to_string()), RunRoot::new());
        let line = probe(Path::new("/usr/bin/podman"), nested, (&state, &run_root)).unwrap();
        assert_eq!(line.contains(&"/usr/bin/bwrap".into()), nested.is_some());
        assert_eq!(line.last(), Some(&":".into()));
    }
}

#[test]
fn the_kernels_table_names_the_places_of_mounts() {
    let line = br"36 35 98:0 /a /mnt/two\040words\134 rw,noatime master:1 - ext3 /dev/root rw";
    assert_eq!(mount_point(line), Some(PathBuf::from(r"/mnt/two words\")));
    assert_eq!(mount_point(b""), None);
}
