//! Ancestors of processes. Processes of a run stay below their supervisor, so the process table identifies them even if
//! they dropped all variables.

use rustix::process::{Pid, getpid};

use super::MARK;
use super::descendants::read_process;

/// Maximum generations; deeper than any real tree.
const MAX_GENERATIONS: usize = 1_000;

/// The ancestors of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ancestry {
    /// The system has no process table.
    Unknown,
    /// There is no process with this id.
    NoProcess,
    /// The process itself, its parent, and so on.
    Above(Vec<u32>),
}

/// Returns the ancestors of a process.
pub fn ancestry(pid: u32) -> Ancestry {
    if read_process(getpid()).is_none() {
        return Ancestry::Unknown;
    }
    let mut line = Vec::new();
    let mut next = i32::try_from(pid).ok().and_then(Pid::from_raw);
    while let Some(process) = next.and_then(read_process)
        && line.len() < MAX_GENERATIONS
    {
        line.push(process.pid.as_raw_nonzero().get().unsigned_abs());
        next = Pid::from_raw(process.parent);
    }
    if line.is_empty() { Ancestry::NoProcess } else { Ancestry::Above(line) }
}

/// Returns the parent of a process.
pub fn parent(pid: u32) -> Option<u32> {
    let process = read_process(Pid::from_raw(i32::try_from(pid).ok()?)?)?;
    u32::try_from(process.parent).ok()
}

/// Whether a process leads its session, as a process in the background does. The leader of a session that was started
/// outside of this container has the id 0, which the system calls do not accept.
pub fn leads_session(pid: u32) -> bool {
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw).and_then(read_process);
    process.is_some_and(|process| process.session == process.pid.as_raw_nonzero().get())
}

/// Returns the name of a process for display; `None` if it has ended.
pub fn program(pid: u32) -> Option<String> {
    Some(std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned())
}

/// Whether a process belongs to a run of any hub, by the mark in its environment.
pub fn is_marked(pid: u32) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let is_mark =
        |entry: &[u8]| entry.strip_prefix(MARK.as_bytes()).is_some_and(|rest| rest.starts_with(b"="));
    environment.split(|byte| *byte == 0).any(is_mark)
}

/// Counts the supervisors among the ancestors of this process.
pub fn supervisors_above() -> u32 {
    let Ancestry::Above(line) = ancestry(std::process::id()) else { return 0 };
    let supervises = |pid: &&u32| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).nth(1) == Some(b"supervise".as_slice())
    };
    u32::try_from(line.iter().filter(supervises).count()).unwrap_or(u32::MAX)
}
