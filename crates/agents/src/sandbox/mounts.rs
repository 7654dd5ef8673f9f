//! Mounts of a sandbox: everything is read-only, `/tmp` and the sockets of other programs are replaced by empty folders,
//! and what a run may write is mounted on top.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::runner_files;
use crate::definition::Permission;
use crate::runner::Runner;

/// Folders that a sandbox has empty: temporary files, and the sockets of the desktop, of containers and of services.
pub(super) const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/run"];

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
    /// Paths that the run reads and that may be below a private one.
    pub(crate) visible: Vec<PathBuf>,
    /// Whether the run has the network of the machine.
    pub(crate) has_network: bool,
    /// The socket of the proxy of a run that has it not.
    pub(crate) socket: Option<&'a Path>,
    /// Folders that the configuration lets the runner write.
    pub(crate) writable: &'a [PathBuf],
    /// The runner's environment.
    pub(crate) env: &'a [(OsString, OsString)],
}

/// The content of a place of the sandbox. A path is one of the machine.
#[derive(Debug)]
pub(super) enum Mount {
    ReadOnly(PathBuf),
    /// Left out where the path does not exist.
    ReadOnlyIfThere(PathBuf),
    Writable(PathBuf),
    /// An empty folder of the run.
    Empty,
}

/// The mounts by their place. The order of paths mounts a folder before the folders in it.
pub(super) type Mounts = BTreeMap<PathBuf, Mount>;

/// Returns the mounts of a sandbox in which nothing can be written, with `program` in it.
pub(super) fn least(program: &Path) -> Mounts {
    let mut mounts = Mounts::from(PRIVATE.map(|folder| (folder.into(), Mount::Empty)));
    show(&mut mounts, program);
    mounts
}

fn mount(mounts: &mut Mounts, kind: fn(PathBuf) -> Mount, path: &Path) {
    mounts.insert(path.to_owned(), kind(path.to_owned()));
}

/// Makes a path below a private folder visible.
fn show(mounts: &mut Mounts, path: &Path) {
    if PRIVATE.iter().any(|private| path.starts_with(private) && path != Path::new(private)) {
        mount(mounts, Mount::ReadOnlyIfThere, path);
    }
}

/// Returns the mounts of a run. The error is a sentence fragment.
pub(super) fn mounts(run: &SandboxedRun<'_>, hub: Option<&Path>) -> Result<Mounts, String> {
    let failed = |path: &Path, error: std::io::Error| {
        format!("`{}` cannot be prepared for the sandbox: {error}", path.display())
    };
    let mut mounts = Mounts::from(PRIVATE.map(|folder| (folder.into(), Mount::Empty)));
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
        mount(&mut mounts, Mount::ReadOnly, &hub);
        for secret in SECRETS.map(|name| hub.join(name)).into_iter().filter(|path| path.exists()) {
            mounts.insert(secret, Mount::ReadOnly("/dev/null".into()));
        }
    }
    if run.permission == Permission::WorkspaceWrite {
        mount(&mut mounts, Mount::Writable, run.workspace);
        let git = run.workspace.join(".git");
        if git.exists() {
            mount(&mut mounts, Mount::ReadOnly, &git);
        }
    } else {
        mount(&mut mounts, Mount::ReadOnly, run.workspace);
    }
    let own = runner_files::files(run.runner, run.env);
    for folder in own.folders.iter().chain(run.writable) {
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let folder = folder.canonicalize().map_err(|error| failed(folder, error))?;
        mount(&mut mounts, Mount::Writable, &folder);
        for file in runner_files::configuration(&folder) {
            mount(&mut mounts, Mount::ReadOnly, &file);
        }
    }
    if let Some(folder) = &own.private {
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let folder = folder.canonicalize().map_err(|error| failed(folder, error))?;
        for entry in std::fs::read_dir(&folder).map_err(|error| failed(&folder, error))?.flatten() {
            // A link may lead nowhere.
            mount(&mut mounts, Mount::ReadOnlyIfThere, &entry.path());
        }
        mounts.insert(folder, Mount::Empty);
    }
    for (number, file) in own.copied.iter().filter_map(|file| file.canonicalize().ok()).enumerate() {
        let copies = run.scratch.join(COPIES);
        std::fs::create_dir_all(&copies).map_err(|error| failed(&copies, error))?;
        let copy = copies.join(number.to_string());
        std::fs::copy(&file, &copy).map_err(|error| failed(&file, error))?;
        mounts.insert(file, Mount::Writable(copy));
    }
    mount(&mut mounts, Mount::Writable, run.scratch);
    Ok(mounts)
}
