//! Command line of bubblewrap. The processes are in a namespace that ends with its first one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::mounts::{Mount, SandboxedRun, least, mounts};

/// Returns the command line up to the command. The error is a sentence fragment.
pub(super) fn command_line(
    program: &Path,
    run: &SandboxedRun<'_>,
    hub: Option<&Path>,
) -> Result<Vec<OsString>, String> {
    let mut line = beginning(program);
    if !run.has_network {
        line.push("--unshare-net".into());
    }
    line.extend(mounts(run, hub)?.into_iter().flat_map(options));
    line.push("--chdir".into());
    line.push(run.workspace.into());
    line.extend(["--setenv", "TMPDIR", "/tmp", "--unsetenv", "XDG_RUNTIME_DIR", "--"].map(Into::into));
    Ok(line)
}

/// Returns a command that succeeds where a sandbox works; with `is_nested`, where a second one works in it.
pub(super) fn probe(program: &Path, is_nested: bool) -> Vec<OsString> {
    let mut line = beginning(program);
    line.extend(least(program).into_iter().flat_map(options));
    line.push("--".into());
    if is_nested {
        line.extend(beginning(program));
        line.push("--".into());
    }
    line.extend([program.into(), "--version".into()]);
    line
}

/// Returns the beginning of every command line. The run has no capabilities and is in a user namespace, so that no
/// mount can be undone. Codex needs user namespaces for its own sandbox, so they stay allowed.
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

fn options((place, mount): (PathBuf, Mount)) -> impl Iterator<Item = OsString> {
    let (option, source) = match mount {
        Mount::ReadOnly(source) => ("--ro-bind", Some(source)),
        Mount::ReadOnlyIfThere(source) => ("--ro-bind-try", Some(source)),
        Mount::Writable(source) => ("--bind", Some(source)),
        Mount::Link(target) => ("--symlink", Some(target)),
        Mount::Empty => ("--tmpfs", None),
    };
    [option.into()].into_iter().chain(source.map(Into::into)).chain([place.into()])
}

#[cfg(test)]
mod tests;
