//! `adjutant supervise --enter`: prepares the process that becomes the runner.
//!
//! A child cannot be prepared between fork and exec without unsafe code, so it prepares itself: this program runs
//! in it first, for a millisecond.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use rustix::process::{getppid, setsid};

use super::super::child;
use super::super::supervisor_protocol::NOT_STARTED;
use super::write_file;

/// Becomes the runner: `SUPERVISOR SPOOL PROGRAM ARGV0 [ARG]...`. Returns only if that fails; the reason is written to
/// the spool.
pub fn enter(arguments: impl IntoIterator<Item = OsString>) -> io::Error {
    let mut arguments = arguments.into_iter();
    let (Some(supervisor), Some(spool), Some(program), Some(name)) =
        (arguments.next(), arguments.next(), arguments.next(), arguments.next())
    else {
        return io::Error::new(
            io::ErrorKind::InvalidInput,
            "the supervisor starts this command; it is not for users",
        );
    };
    // The signal is requested first, because the supervisor may end before the check.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let parent = getppid().map(|parent| parent.to_string());
    if parent.is_none_or(|parent| supervisor != *parent) {
        return io::Error::other("the supervisor has ended");
    }
    let error = match setsid() {
        Ok(_) => child(program).arg0(name).args(arguments).exec(),
        Err(error) => error.into(),
    };
    let _ = write_file(&PathBuf::from(spool).join(NOT_STARTED), error.to_string().as_bytes());
    error
}
