//! The processes below a supervisor.
//!
//! A supervisor is a child subreaper: whatever its runner starts stays below it, in whatever session or group, and
//! whoever of them dies. "None is left" is not read from a list, which may be old, but from the kernel, which says
//! that this process has no children any more.

mod procfs;

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process_group, wait};

pub(super) use procfs::{Process, all, carries, descendants, look};

/// Keeps every descendant of this process below it. Where the system has no such thing only the runner's group
/// can be ended.
pub(super) fn become_subreaper() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}

/// Asks the kernel whether this process has any child. Children that are dead are buried on the way.
pub(super) fn has_no_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

/// Sends `signal` to everything that lives below this process and returns how many that were.
pub(super) fn signal_descendants(signal: Signal) -> usize {
    let living: Vec<Process> = descendants(getpid()).into_iter().filter(Process::lives).collect();
    signal_all(&living, signal);
    living.len()
}

/// Sends `signal` to each of these processes, if it is still the same one, and, where that is SIGKILL, to their
/// groups: the kernel does a group at once, so that no member can start another in between.
pub(super) fn signal_all(processes: &[Process], signal: Signal) {
    if signal == Signal::KILL {
        // Not by asking for it: a group from outside of our container has the number 0, which those calls cannot tell.
        let own = look(getpid()).map(|own| own.group);
        let mut groups = BTreeSet::new();
        for process in processes {
            if Some(process.group) != own
                && groups.insert(process.group)
                && look(process.pid).is_some_and(|now| now.same(process) && now.group == process.group)
                && let Some(group) = Pid::from_raw(process.group)
            {
                let _ = kill_process_group(group, signal);
            }
        }
    }
    for process in processes {
        signal_one(process, signal);
    }
}

/// The handle is taken first and the process looked at again then: its number cannot go to another one in between.
#[cfg(target_os = "linux")]
fn signal_one(process: &Process, signal: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    match pidfd_open(process.pid, PidfdFlags::empty()) {
        Ok(handle) if look(process.pid).is_some_and(|now| now.same(process)) => {
            let _ = pidfd_send_signal(handle, signal);
        }
        Ok(_) | Err(rustix::io::Errno::SRCH) => {}
        Err(_) => {
            let _ = rustix::process::kill_process(process.pid, signal);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn signal_one(process: &Process, signal: Signal) {
    let _ = rustix::process::kill_process(process.pid, signal);
}

/// Returns the processor time of all children that were waited for.
pub(super) fn children_cpu() -> Duration {
    look(getpid()).map_or(Duration::ZERO, |own| own.children_cpu)
}
