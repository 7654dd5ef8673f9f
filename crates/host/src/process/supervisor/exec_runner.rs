//! `adjutant supervise --enter`: the last step before the runner, in the process that becomes it.
//!
//! A child cannot be prepared between fork and exec without unsafe code, so it prepares itself: this program runs
//! in it first, for a millisecond.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use rustix::process::{getppid, setsid};

use super::super::child;
use super::super::protocol::NOT_STARTED;
use super::write_file;

/// Becomes the runner: `SUPERVISOR SPOOL PROGRAM ARGV0 [ARG]...`. Returns only when that failed; the supervisor
/// finds the reason in its spool.
pub fn enter(words: impl IntoIterator<Item = OsString>) -> io::Error {
    let mut words = words.into_iter();
    let (Some(supervisor), Some(spool), Some(program), Some(name)) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return io::Error::new(
            io::ErrorKind::InvalidInput,
            "the supervisor starts this command; it is not for users",
        );
    };
    // Signals first, then a look whether it was too late already.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let parent = getppid().map(|parent| parent.to_string());
    if parent.is_none_or(|parent| supervisor != *parent) {
        return io::Error::other("the supervisor is gone");
    }
    let error = match setsid() {
        Ok(_) => child(program).arg0(name).args(words).exec(),
        Err(error) => error.into(),
    };
    let _ = write_file(&PathBuf::from(spool).join(NOT_STARTED), error.to_string().as_bytes());
    error
}
