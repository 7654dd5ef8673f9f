//! Mounts of a sandbox: everything is read-only, `/tmp`, the sockets of other programs and the files of the hub are
//! replaced by empty folders, and what a run may write is mounted on top.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::runner_files;
use crate::definition::Permission;
use crate::runner::Runner;
use crate::worktrees::{EMPTY, WORKTREE};
use adjutant_base::config;

/// Folders that a sandbox has empty: temporary files, and the sockets of the desktop, of containers and of services.
pub(super) const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/run"];

/// Files below [`PRIVATE`] that name resolution reads.
const RESOLVER: [&str; 4] =
    ["/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/nscd"];

/// The only folder in the hub's folder that every run may read.
const PROMPTS: &str = "prompts";

/// Folders in the hub's folder that are the hub's alone.
const HUB_ONLY: [&str; 2] = ["backups", "logs"];

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
    /// The socket of the proxy, for a run that may reach a list of hosts.
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
    /// A link to a file, or the file where the sandbox can make no link.
    Link(PathBuf),
    /// An empty folder of the run.
    Empty,
}

/// The mounts by their place. The order of paths mounts a folder before the folders in it.
pub(super) type Mounts = BTreeMap<PathBuf, Mount>;

/// Returns the mounts of a sandbox in which nothing can be written, with `program` in it.
pub(super) fn least(program: &Path) -> Mounts {
    let mut mounts = Mounts::from(PRIVATE.map(|folder| (folder.into(), Mount::Empty)));
    for path in program.canonicalize().iter().map(PathBuf::as_path).chain([program]) {
        show(&mut mounts, &PRIVATE.map(Path::new), path);
    }
    mounts
}

fn mount(mounts: &mut Mounts, kind: fn(PathBuf) -> Mount, path: &Path) {
    mounts.insert(path.to_owned(), kind(path.to_owned()));
}

/// Makes a path below a `hidden` folder visible. Call it for a folder before the paths in it.
fn show(mounts: &mut Mounts, hidden: &[&Path], path: &Path) {
    let above = hidden.iter().filter(|folder| path.starts_with(folder) && path != **folder);
    let Some(innermost) = above.max_by_key(|folder| folder.as_os_str().len()) else { return };
    let is_shown = |place: &Path| place.starts_with(innermost) && place != *innermost && place != path;
    if path.is_symlink() && mounts.keys().any(|place| is_shown(place) && path.starts_with(place)) {
        // A visible folder has the link, and nothing can be mounted on it.
        return;
    }
    match path.canonicalize() {
        // A program finds its other files by the end of the link. A cover of the hub's folder takes no link.
        Ok(real) if path.is_symlink() && real.is_file() && PRIVATE.map(Path::new).contains(innermost) => {
            mounts.insert(path.to_owned(), Mount::Link(real));
        }
        _ => mount(mounts, Mount::ReadOnlyIfThere, path),
    }
}

/// Returns whether `path` has files of the hub, or of the runs in a folder of `spools` other than their worktrees.
fn is_internal(path: &Path, hub: Option<&Path>, spools: &[PathBuf]) -> bool {
    let is_below = |name: &str| hub.is_some_and(|hub| path.starts_with(hub.join(name)));
    let is_run = |spool: &PathBuf| {
        path.strip_prefix(spool).is_ok_and(|below| {
            let (task, folder) = (below.iter().next(), below.iter().nth(1));
            task != Some(OsStr::new(EMPTY)) && folder != Some(OsStr::new(WORKTREE))
        })
    };
    hub == Some(path) || HUB_ONLY.into_iter().any(is_below) || spools.iter().any(is_run)
}

/// Returns the mounts of a run. The error is a sentence fragment.
pub(super) fn mounts(run: &SandboxedRun<'_>, hub: Option<&Path>) -> Result<Mounts, String> {
    let failed = |path: &Path, error: io::Error| {
        format!("`{}` cannot be prepared for the sandbox: {error}", path.display())
    };
    let hub = hub.and_then(|hub| hub.canonicalize().ok());
    let hub = hub.as_deref();
    // A run's files are two levels below the folder of all runs, which is the hub's or one of this process.
    let spool = run.scratch.ancestors().nth(2).unwrap_or(run.scratch);
    let spools: Vec<PathBuf> = hub.map(config::spool).into_iter().chain([spool.to_owned()]).collect();
    if is_internal(run.workspace, hub, &spools) {
        return Err(format!("`{}` has files of the hub, which no run may see", run.workspace.display()));
    }
    let mut mounts = Mounts::from(PRIVATE.map(|folder| (folder.into(), Mount::Empty)));
    let hidden: Vec<&Path> = PRIVATE.iter().map(Path::new).chain(hub).chain([spool]).collect();
    let value = |wanted: &str| run.env.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let home = value("HOME").map(PathBuf::from);
    let programs: Vec<PathBuf> = value("PATH").into_iter().flat_map(std::env::split_paths).collect();
    let seen = RESOLVER.map(PathBuf::from).into_iter().chain(run.visible.iter().cloned());
    let prompts = hub.map(|hub| hub.join(PROMPTS));
    for path in home.into_iter().chain(programs).chain(prompts).chain(seen) {
        // A link and the folder that it names are two paths, and the run may use both.
        for path in [path.canonicalize().ok(), Some(path)].into_iter().flatten() {
            if !is_internal(&path, hub, &spools) {
                show(&mut mounts, &hidden, &path);
            }
        }
    }
    // Of a worker, whose folder is in that of the hub, it is the worker's own.
    let serving = spool.parent().filter(|folder| hub.is_some_and(|hub| folder.starts_with(hub))).or(hub);
    let socket = serving.map(config::linked_socket);
    if let Some(folder) = socket.as_deref().and_then(Path::parent) {
        show(&mut mounts, &hidden, folder);
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
    let own = Some(spool).filter(|spool| !hub.is_some_and(|hub| spool.starts_with(hub)));
    for (folder, name) in hub.map(|hub| (hub, "hub")).into_iter().chain(own.map(|spool| (spool, "spool"))) {
        let cover = run.scratch.with_extension(name);
        make_cover(&mounts, folder, &cover).map_err(|error| failed(&cover, error))?;
        if let Some(socket) = socket.as_deref().filter(|_| hub == Some(folder)) {
            let link = config::default_socket(&cover);
            symlink(socket, &link).map_err(|error| failed(&link, error))?;
        }
        mounts.insert(folder.to_owned(), Mount::ReadOnly(cover));
    }
    Ok(mounts)
}

/// Makes the folder that a run sees in the place of `folder`: empty but for the places of the mounts in it.
fn make_cover(mounts: &Mounts, folder: &Path, cover: &Path) -> io::Result<()> {
    // The last hub may have prepared the same run.
    let _ = std::fs::remove_dir_all(cover);
    std::fs::create_dir_all(cover)?;
    for (place, mount) in mounts {
        let Ok(below) = place.strip_prefix(folder) else { continue };
        let place = cover.join(below);
        match mount {
            Mount::ReadOnly(path)
            | Mount::ReadOnlyIfThere(path)
            | Mount::Writable(path)
            | Mount::Link(path)
                if !path.is_dir() =>
            {
                if let Some(above) = place.parent().filter(|_| path.exists()) {
                    std::fs::create_dir_all(above)?;
                    std::fs::File::create(place)?;
                }
            }
            Mount::ReadOnly(_)
            | Mount::ReadOnlyIfThere(_)
            | Mount::Writable(_)
            | Mount::Link(_)
            | Mount::Empty => {
                std::fs::create_dir_all(place)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Mount, SandboxedRun, mounts};
    use crate::definition::Permission;
    use crate::runner::Runner;

    /// Returns what a run in the folder `work` of a home sees in the place of the hub's folder, or why it is refused.
    fn seen(home: &Path, work: &str) -> Result<Vec<String>, String> {
        let run = SandboxedRun {
            runner: &Runner::Codex,
            permission: Permission::ReadOnly,
            workspace: &home.join(work),
            scratch: &home.join("hub/spool/own/scratch-1"),
            visible: vec![home.join("hub/bin/runner"), home.join("hub/spool/other"), home.join("hub/logs")],
            has_network: true,
            socket: None,
            writable: &[],
            env: &[("HOME".into(), home.into())],
        };
        let mounts = mounts(&run, Some(&home.join("hub")))?;
        let Some(Mount::ReadOnly(cover)) = mounts.get(&home.join("hub")) else { panic!("{mounts:?}") };
        let (mut seen, mut open) = (Vec::new(), vec![cover.clone()]);
        while let Some(folder) = open.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                let below = path.strip_prefix(cover).unwrap();
                let is_mounted = mounts.contains_key(&home.join("hub").join(below));
                let kind = if is_mounted {
                    "mount"
                } else if path.is_symlink() {
                    "link"
                } else {
                    "folder"
                };
                seen.push(format!("{kind} {}", below.display()));
                open.extend(Some(path.clone()).filter(|path| path.is_dir() && !path.is_symlink()));
            }
        }
        seen.sort();
        Ok(seen)
    }

    #[test]
    fn a_run_sees_no_files_of_the_hub_and_of_other_runs() {
        let folder = tempfile::Builder::new().prefix("adj").tempdir_in("/tmp").unwrap();
        let home = folder.path().canonicalize().unwrap();
        let folders =
            ["bin", "logs", "prompts", "spool/empty", "spool/hub", "spool/other/run-1", "spool/other/tree"];
        let folders = folders.map(|name| PathBuf::from("hub").join(name));
        for path in folders.iter().map(PathBuf::as_path).chain([
            Path::new("work"),
            Path::new("hub/spool/own/tree"),
            Path::new("hub/spool/own/scratch-1"),
        ]) {
            std::fs::create_dir_all(home.join(path)).unwrap();
        }
        for file in ["bin/runner", "config.toml", "login-key", "spool/other/run-1/control"] {
            std::fs::write(home.join("hub").join(file), "").unwrap();
        }
        let shared = [
            "folder bin",
            "folder spool",
            "folder spool/own",
            "link hub.sock",
            "mount bin/runner",
            "mount prompts",
            "mount spool/hub",
            "mount spool/own/scratch-1",
        ];
        for (work, own) in [
            ("work", None),
            ("hub/spool/own/tree", Some("mount spool/own/tree")),
            ("hub/spool/empty", Some("mount spool/empty")),
        ] {
            let mut expected: Vec<&str> = shared.into_iter().chain(own).collect();
            expected.sort_unstable();
            assert_eq!(seen(&home, work).unwrap(), expected, "{work}");
        }
        for work in ["hub", "hub/spool", "hub/spool/other", "hub/spool/other/run-1", "hub/logs"] {
            let reason =
                format!("`{}` has files of the hub, which no run may see", home.join(work).display());
            assert_eq!(seen(&home, work), Err(reason));
        }
    }

    #[test]
    fn a_run_of_a_worker_has_the_socket_of_the_worker_in_the_place_of_the_hub_s() {
        let folder = tempfile::Builder::new().prefix("adj").tempdir_in("/tmp").unwrap();
        let hub = folder.path().canonicalize().unwrap().join("hub");
        for name in ["spool/hub", "worker/spool/hub", "worker/spool/own/tree", "worker/spool/own/scratch-1"] {
            std::fs::create_dir_all(hub.join(name)).unwrap();
        }
        let spool = hub.join("worker/spool");
        let run = SandboxedRun {
            runner: &Runner::Codex,
            permission: Permission::WorkspaceWrite,
            workspace: &spool.join("own/tree"),
            scratch: &spool.join("own/scratch-1"),
            visible: Vec::new(),
            has_network: true,
            socket: None,
            writable: &[],
            env: &[("HOME".into(), folder.path().into())],
        };
        let mounts = mounts(&run, Some(&hub)).unwrap();
        let Some(Mount::ReadOnly(cover)) = mounts.get(&hub) else { panic!("{mounts:?}") };
        assert_eq!(std::fs::read_link(cover.join("hub.sock")).unwrap(), spool.join("hub/hub.sock"));
        assert!(mounts.contains_key(&spool.join("hub")) && !mounts.contains_key(&hub.join("spool/hub")));
    }
}
