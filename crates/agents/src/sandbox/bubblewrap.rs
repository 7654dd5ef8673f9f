//! Command line of bubblewrap.
//!
//! Everything is read-only, `/tmp` and the sockets of other programs are replaced by empty folders, and the processes
//! are in a namespace that ends with its first one. What a run may write is mounted on top.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::runner_files;
use crate::definition::Permission;
use crate::runner::Runner;
use adjutant_base::config::delegation::Network;

/// Folders that a sandbox has empty: temporary files, and the sockets of the desktop, of containers and of services.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/run"];

/// Files below [`PRIVATE`] that name resolution reads.
const RESOLVER: [&str; 4] =
    ["/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/nscd"];

/// Files in the hub's folder that no run may read.
const SECRETS: [&str; 4] = ["agent-tokens", "approval-passphrase", "login-key", "token"];

/// The folder of the private copies in the folder of an attempt.
const COPIES: &str = "sandbox";

/// A run to be sandboxed. Paths are absolute and without links.
#[derive(Debug)]
pub(crate) struct SandboxedRun<'a> {
    pub(crate) runner: &'a Runner,
    pub(crate) permission: Permission,
    /// The folder that the agent works in.
    pub(crate) workspace: &'a Path,
    /// The folder for the files of the attempt.
    pub(crate) scratch: &'a Path,
    /// Folders that the run reads and that may be below a private one.
    pub(crate) visible: Vec<PathBuf>,
    /// Folders that the configuration lets the runner write.
    pub(crate) writable: &'a [PathBuf],
    /// The runner's environment.
    pub(crate) env: &'a [(OsString, OsString)],
}

/// The mounts by their place. The order of paths mounts a folder before the folders in it.
type Mounts = BTreeMap<PathBuf, (&'static str, PathBuf)>;

/// Returns the command line up to the command. The error is a sentence fragment.
pub(super) fn command_line(
    program: &Path,
    run: &SandboxedRun<'_>,
    network: Network,
    hub: Option<&Path>,
) -> Result<Vec<OsString>, String> {
    let mut line = beginning(program);
    if network == Network::Off {
        line.push("--unshare-net".into());
    }
    for (place, (option, source)) in mounts(run, hub)? {
        line.push(option.into());
        if option != "--tmpfs" {
            line.push(source.into());
        }
        line.push(place.into());
    }
    line.push("--chdir".into());
    line.push(run.workspace.into());
    line.extend(["--setenv", "TMPDIR", "/tmp", "--unsetenv", "XDG_RUNTIME_DIR", "--"].map(Into::into));
    Ok(line)
}

/// Returns a command that succeeds where a sandbox works; with `is_nested`, where a second one works in it.
pub(super) fn probe(program: &Path, is_nested: bool) -> Vec<OsString> {
    let mut line = beginning(program);
    let mut mounts = Mounts::from(PRIVATE.map(private));
    show(&mut mounts, program);
    for (place, (option, source)) in mounts {
        line.push(option.into());
        line.extend((option != "--tmpfs").then(|| source.into()));
        line.push(place.into());
    }
    line.push("--".into());
    if is_nested {
        line.extend(beginning(program));
        line.push("--".into());
    }
    line.extend([program.into(), "--version".into()]);
    line
}

/// Without capabilities and in a user namespace, so that no mount can be undone. Codex needs user namespaces for its own
/// sandbox, so they stay allowed.
fn beginning(program: &Path) -> Vec<OsString> {
    let options = [
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--cap-drop",
        "ALL",
        "--die-with-parent",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
    ];
    [program.into()].into_iter().chain(options.map(OsString::from)).collect()
}

fn private(folder: &str) -> (PathBuf, (&'static str, PathBuf)) {
    (folder.into(), ("--tmpfs", folder.into()))
}

fn mount(mounts: &mut Mounts, option: &'static str, path: &Path) {
    mounts.insert(path.to_owned(), (option, path.to_owned()));
}

/// Makes a path below a private folder visible.
fn show(mounts: &mut Mounts, path: &Path) {
    if PRIVATE.iter().any(|private| path.starts_with(private) && path != Path::new(private)) {
        mount(mounts, "--ro-bind-try", path);
    }
}

fn mounts(run: &SandboxedRun<'_>, hub: Option<&Path>) -> Result<Mounts, String> {
    let failed = |path: &Path, error: std::io::Error| {
        format!("`{}` cannot be prepared for the sandbox: {error}", path.display())
    };
    let mut mounts = Mounts::from(PRIVATE.map(private));
    let value = |wanted: &str| run.env.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let home = value("HOME").map(PathBuf::from);
    let programs: Vec<PathBuf> = value("PATH").into_iter().flat_map(std::env::split_paths).collect();
    let seen = RESOLVER.map(PathBuf::from).into_iter().chain(run.visible.iter().cloned());
    for path in seen.chain(home).chain(programs).chain(hub.map(Path::to_owned)) {
        show(&mut mounts, &path);
        // The folder that a link names is another path.
        if let Ok(real) = path.canonicalize() {
            show(&mut mounts, &real);
        }
    }
    // A workspace may hold the folder of the hub, or be in it.
    if let Some(hub) = hub.and_then(|hub| hub.canonicalize().ok()) {
        mount(&mut mounts, "--ro-bind", &hub);
        for secret in SECRETS.map(|name| hub.join(name)).into_iter().filter(|path| path.exists()) {
            mounts.insert(secret, ("--ro-bind", "/dev/null".into()));
        }
    }
    if run.permission == Permission::WorkspaceWrite {
        mount(&mut mounts, "--bind", run.workspace);
        let git = run.workspace.join(".git");
        if git.exists() {
            mount(&mut mounts, "--ro-bind", &git);
        }
    } else {
        mount(&mut mounts, "--ro-bind", run.workspace);
    }
    let own = runner_files::files(run.runner, run.env);
    for folder in own.folders.iter().chain(run.writable) {
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let folder = folder.canonicalize().map_err(|error| failed(folder, error))?;
        mount(&mut mounts, "--bind", &folder);
        for file in runner_files::configuration(&folder) {
            mount(&mut mounts, "--ro-bind", &file);
        }
    }
    if let Some(folder) = &own.private {
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let folder = folder.canonicalize().map_err(|error| failed(folder, error))?;
        for entry in std::fs::read_dir(&folder).map_err(|error| failed(&folder, error))?.flatten() {
            // A link may lead nowhere.
            mount(&mut mounts, "--ro-bind-try", &entry.path());
        }
        mount(&mut mounts, "--tmpfs", &folder);
    }
    for (number, file) in own.copied.iter().filter_map(|file| file.canonicalize().ok()).enumerate() {
        let copies = run.scratch.join(COPIES);
        std::fs::create_dir_all(&copies).map_err(|error| failed(&copies, error))?;
        let copy = copies.join(number.to_string());
        std::fs::copy(&file, &copy).map_err(|error| failed(&file, error))?;
        mounts.insert(file, ("--bind", copy));
    }
    mount(&mut mounts, "--bind", run.scratch);
    Ok(mounts)
}

#[cfg(test)]
mod tests;
