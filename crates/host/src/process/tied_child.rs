//! A command that this process stands in front of: it has our environment and our folder, and goes when we go.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};

use rustix::process::getppid;

use super::again::own_image;
use super::child;

/// Starts a command with pipes for its stdin and stdout; `stderr` is ours to choose. It is killed when the calling
/// thread ends, however that ends, so call it from the main one.
pub(crate) fn start_between(argv: &[OsString], stderr: Stdio) -> io::Result<Child> {
    // It prepares itself, as a runner does: nothing of ours could run between fork and exec.
    child(own_image()?)
        .arg("supervise")
        .arg("--become")
        .arg(std::process::id().to_string())
        .args(argv)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
}

/// Becomes a command that goes with its parent: `PARENT PROGRAM [ARG]...`. Returns only when that failed.
pub(crate) fn become_child(words: impl IntoIterator<Item = OsString>) -> io::Error {
    let mut words = words.into_iter();
    let (Some(above), Some(program)) = (words.next(), words.next()) else {
        return io::Error::new(io::ErrorKind::InvalidInput, "the process in front starts this, not a person");
    };
    // The wish first, then a look whether it was too late already.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    if getppid().is_none_or(|parent| above != *parent.to_string()) {
        return io::Error::other("the process in front is gone");
    }
    child(program).args(words).exec()
}
