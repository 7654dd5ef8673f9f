//! Command line of podman. The container has no image: an empty folder is its root, and what it reads of the machine is
//! mounted into it. Podman keeps its state in a folder of the run, so nothing of a killed run is left in the user's own.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::mounts::{Mount, Mounts, PRIVATE, SandboxedRun, least, mounts};
use adjutant_host::temporary_folder;

/// A temporary folder of podman, which is removed when this is dropped. It is below `/tmp`, which every sandbox has empty: podman
/// takes a path of 50 bytes at most, and no run may find the sockets of the container of another run.
#[derive(Debug)]
pub(crate) struct RunRoot(PathBuf);

impl RunRoot {
    pub(super) fn new() -> Self {
        let path = temporary_folder::path();
        Self(path.file_name().map_or_else(|| path.clone(), |name| Path::new("/tmp").join(name)))
    }
}

impl Drop for RunRoot {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Folders that podman makes itself.
const OWN: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Options of `podman`, after those that name its folders.
const GLOBAL: [&str; 8] = [
    "--storage-driver",
    "vfs",
    "--cgroup-manager",
    "cgroupfs",
    "--events-backend",
    "none",
    "--log-level",
    "error",
];

/// Options of `podman run`. Without capabilities no mount can be undone. Codex makes namespaces for its own sandbox, so
/// the system calls for them stay allowed. A private IPC namespace would leave a mount on the machine after a kill.
const RUN: [&str; 26] = [
    "--rm",
    "--interactive",
    "--log-driver",
    "none",
    "--ulimit",
    "host",
    "--ipc",
    "none",
    "--pid",
    "private",
    "--uts",
    "private",
    "--no-hosts",
    "--cap-drop",
    "all",
    "--security-opt",
    "no-new-privileges",
    "--security-opt",
    "seccomp=unconfined",
    "--security-opt",
    "unmask=ALL",
    "--security-opt",
    "label=disable",
    "--read-only",
    "--read-only-tmpfs=false",
    "--env-host",
];

/// Returns the command line up to the command; podman's files are below `state` and `run_root`. The error is a sentence fragment.
pub(super) fn command_line(
    program: &Path,
    run: &SandboxedRun<'_>,
    hub: Option<&Path>,
    (state, run_root): (&Path, &RunRoot),
) -> Result<Vec<OsString>, String> {
    let mut line = beginning(program, run.has_network, state, run_root);
    line.extend(["--env".into(), "TMPDIR=/tmp".into(), "--workdir".into(), run.workspace.into()]);
    line.extend(root(mounts(run, hub)?, state)?);
    Ok(line)
}

/// Returns a command that succeeds where a container works; with `nested`, where that bubblewrap works in it.
pub(super) fn probe(
    program: &Path,
    nested: Option<&Path>,
    (state, run_root): (&Path, &RunRoot),
) -> Result<Vec<OsString>, String> {
    let mut line = beginning(program, false, state, run_root);
    line.extend(root(least(program), state)?);
    if let Some(bubblewrap) = nested {
        line.push(bubblewrap.into());
        line.extend(
            ["--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--dev", "/dev"].map(Into::into),
        );
        line.extend(["--proc", "/proc", "--"].map(Into::into));
    }
    // Podman itself would make files for its version.
    line.extend(["/bin/sh", "-c", ":"].map(Into::into));
    Ok(line)
}

fn beginning(program: &Path, has_network: bool, state: &Path, run_root: &RunRoot) -> Vec<OsString> {
    let folders = [
        ("--root", state.join("storage")),
        ("--runroot", run_root.0.clone()),
        ("--tmpdir", state.join("tmp")),
    ];
    let mut line: Vec<OsString> = vec![program.into()];
    for (option, folder) in folders {
        line.extend([option.into(), folder.into()]);
    }
    line.extend(GLOBAL.iter().chain(&["run"]).chain(&RUN).map(Into::into));
    line.extend(["--network", if has_network { "host" } else { "none" }].map(Into::into));
    // The user of the machine is the same user in the container. The administrator is that anyway.
    if Path::new("/proc/self").metadata().is_ok_and(|own| own.uid() != 0) {
        line.extend(["--userns", "keep-id"].map(Into::into));
    }
    line
}

/// Makes the root of the container. Returns the options that mount the machine and `mounts` into it, and the root.
fn root(mut mounts: Mounts, state: &Path) -> Result<Vec<OsString>, String> {
    let failed = |error: io::Error| format!("the root of the container cannot be made: {error}");
    let root = state.join("root");
    std::fs::create_dir_all(&root).map_err(failed)?;
    for entry in std::fs::read_dir("/").map_err(failed)?.flatten() {
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        let place = root.join(entry.file_name());
        if kind.is_symlink() {
            symlink(std::fs::read_link(&path).map_err(failed)?, place).map_err(failed)?;
        } else if kind.is_dir() {
            std::fs::create_dir(&place).map_err(failed)?;
            // An empty folder of the run gets the mode of the folder under it.
            let mode = if is_private(&path) { 0o1777 } else { 0o755 };
            std::fs::set_permissions(&place, std::fs::Permissions::from_mode(mode)).map_err(failed)?;
            if !is_below(&path, &OWN) {
                mounts.entry(path.clone()).or_insert(Mount::ReadOnly(path));
            }
        }
    }
    // A read-only mount leaves the mounts below it writable, so each of them is mounted read-only too.
    let table = std::fs::read("/proc/self/mountinfo").map_err(failed)?;
    for path in table.split(|byte| *byte == b'\n').filter_map(mount_point) {
        if path != Path::new("/") && !is_below(&path, &OWN) && !is_below(&path, &PRIVATE) && path.exists() {
            mounts.entry(path.clone()).or_insert(Mount::ReadOnly(path));
        }
    }
    let mut options = Vec::new();
    for (place, mount) in mounts {
        let (source, mode) = match mount {
            Mount::Empty if is_private(&place) => {
                let mut value = place.into_os_string();
                value.push(":rw,exec,mode=1777,notmpcopyup");
                options.extend(["--tmpfs".into(), value]);
                continue;
            }
            // A new file system would belong to the administrator of the container. A run has one such folder at most.
            Mount::Empty => {
                let folder = state.join("empty");
                std::fs::create_dir_all(&folder).map_err(failed)?;
                (folder, "rw")
            }
            Mount::ReadOnlyIfThere(path) if !path.exists() => continue,
            Mount::ReadOnly(path) | Mount::ReadOnlyIfThere(path) | Mount::Link(path) => (path, "ro"),
            Mount::Writable(path) => (path, "rw"),
        };
        if [&source, &place].iter().any(|path| path.as_os_str().as_bytes().contains(&b':')) {
            return Err(format!("podman cannot mount `{}`, because it has a colon", place.display()));
        }
        let mut value = source.into_os_string();
        value.push(":");
        value.push(place);
        value.push(":");
        value.push(mode);
        options.extend(["--volume".into(), value]);
    }
    options.extend(["--rootfs".into(), root.into()]);
    Ok(options)
}

fn is_private(path: &Path) -> bool {
    PRIVATE.iter().any(|private| path == Path::new(private))
}

fn is_below(path: &Path, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Returns the place of a mount in a line of the kernel's table, which writes a special byte as `\040`.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let field = line.split(|byte| *byte == b' ').nth(4)?;
    let (mut path, mut at) = (Vec::new(), 0);
    while at < field.len() {
        let digits = field.get(at + 1..at + 4).filter(|_| field[at] == b'\\');
        let special = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        path.push(special.unwrap_or(field[at]));
        at += if special.is_some() { 4 } else { 1 };
    }
    Some(OsString::from_vec(path).into())
}

#[cfg(test)]
mod tests;
