//! A child with this process's environment and folder that ends with this process.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};

use rustix::process::getppid;

use super::child;
use super::reexec::current_image;

/// Starts a command with pipes for its stdin and stdout; `stderr` is ours to choose. It is killed when the calling
/// thread ends, however that ends, so call it from the main one.
pub fn spawn_tied(argv: &[OsString], stderr: Stdio) -> io::Result<Child> {
    // It prepares itself, as a runner does: nothing of ours could run between fork and exec.
    child(current_image()?)
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
pub fn become_child(words: impl IntoIterator<Item = OsString>) -> io::Error {
    let mut words = words.into_iter();
    let (Some(above), Some(program)) = (words.next(), words.next()) else {
        return io::Error::new(
            io::ErrorKind::InvalidInput,
            "another process starts this command; it is not for users",
        );
    };
    // The wish first, then a look whether it was too late already.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    if getppid().is_none_or(|parent| above != *parent.to_string()) {
        return io::Error::other("the process in front is gone");
    }
    child(program).args(words).exec()
}
