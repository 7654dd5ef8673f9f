//! A child with the environment and folder of this process that ends with this process.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};

use rustix::process::getppid;

use super::child;
use super::reexec::current_image;

/// The stage before a command; it prints a failure to start as JSON.
pub const BECOME_WITH_JSON: &str = "--become-with-json";

/// Starts a command with pipes for its stdin and stdout. The kernel kills it when the calling thread ends, so call this
/// function from the main thread. A failure is printed on its stderr, as JSON if `json`.
pub fn spawn_tied(argv: &[OsString], stderr: Stdio, json: bool) -> io::Result<Child> {
    // The child prepares itself, as a runner does, because nothing can run between fork and exec without unsafe code.
    child(current_image()?)
        .arg("supervise")
        .arg(if json { BECOME_WITH_JSON } else { "--become" })
        .arg(std::process::id().to_string())
        .args(argv)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
}

/// Becomes a command that dies with its parent: `PARENT PROGRAM [ARG]...`. Returns only if that fails.
pub fn become_child(arguments: impl IntoIterator<Item = OsString>) -> io::Error {
    let mut arguments = arguments.into_iter();
    let (Some(expected), Some(program)) = (arguments.next(), arguments.next()) else {
        return io::Error::new(
            io::ErrorKind::InvalidInput,
            "another process starts this command; it is not for users",
        );
    };
    // The signal is requested first, because the parent may end before the check.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    if getppid().is_none_or(|parent| expected != *parent.to_string()) {
        return io::Error::other("the parent process has ended");
    }
    child(program).args(arguments).exec()
}
