//! The processes below a supervisor.
//!
//! A supervisor is a child subreaper: all descendants of its runner stay below it, in any session or group. That none
//! is left is not read from a list, which may be outdated: the kernel reports that this process has no children.

mod procfs;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process_group, wait};

/// Time for which SIGKILL is repeated before surviving processes are reported.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) use procfs::{Process, carries, children, descendants, newest_first, read_process};

/// Makes this process the parent of orphaned descendants. On a system without this feature only the group of the runner
/// can be killed.
pub(super) fn become_subreaper() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}

/// Returns the resident memory of this process; `None` on a system without `/proc`.
pub fn resident_bytes() -> Option<u64> {
    read_process(getpid()).map(|process| process.resident)
}

/// Returns whether this process has no children, after dead ones are reaped.
pub(super) fn has_no_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

/// Sends `signal` to all living descendants of this process and returns their number.
pub(super) fn signal_descendants(signal: Signal) -> usize {
    let living: Vec<Process> = descendants(getpid()).into_iter().filter(Process::is_alive).collect();
    signal_all(&living, signal);
    living.len()
}

/// Kills all descendants of this process. Returns the number of survivors; 0 is confirmed by the kernel.
pub(super) fn end_all() -> u32 {
    let deadline = Instant::now() + KILL_TIMEOUT;
    while !has_no_children() {
        let living = signal_descendants(Signal::KILL);
        if Instant::now() >= deadline {
            return u32::try_from(living.max(1)).unwrap_or(u32::MAX);
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    0
}

/// Sends `signal` to the members of a leader's group but not to the leader. Returns whether there are any.
pub(super) fn signal_group(leader: Pid, signal: Signal) -> bool {
    let mut members = descendants(leader);
    members.retain(|process| process.is_alive() && process.group == leader.as_raw_nonzero().get());
    for process in &members {
        signal_one(process, signal);
    }
    !members.is_empty()
}

/// Sends `signal` to each of these processes that is still the same one. SIGKILL is sent to their groups first, because
/// the kernel kills a group at once, so that no member can start a process in between.
pub(super) fn signal_all(processes: &[Process], signal: Signal) {
    if signal == Signal::KILL {
        // From the process table, because the system calls fail for a group from outside of this container, which is 0.
        let own = read_process(getpid()).map(|own| own.group);
        let mut groups = BTreeSet::new();
        for process in processes {
            if Some(process.group) != own
                && groups.insert(process.group)
                && read_process(process.pid)
                    .is_some_and(|now| now.same(process) && now.group == process.group)
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

/// Opens a handle first and then checks the process, so that its id cannot be reused in between.
#[cfg(target_os = "linux")]
fn signal_one(process: &Process, signal: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    match pidfd_open(process.pid, PidfdFlags::empty()) {
        Ok(handle) if read_process(process.pid).is_some_and(|now| now.same(process)) => {
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

/// Returns the processor time of all reaped children.
pub(super) fn children_cpu() -> Duration {
    read_process(getpid()).map_or(Duration::ZERO, |own| own.children_cpu)
}
