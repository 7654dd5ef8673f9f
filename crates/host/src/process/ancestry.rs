//! Whose descendant a process is. What a supervisor started stays below it, so the table of processes tells a run's
//! own processes from strangers, whatever variables they dropped.

use rustix::process::{Pid, getpid};

use super::MARK;
use super::descendants::look;

/// Generations that are looked at; deeper than any real tree.
const DEEPEST: usize = 1_000;

/// What the table of processes says of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ancestry {
    /// There is no such table here.
    Unknown,
    /// There is no process of that number any more.
    Gone,
    /// The process itself, its parent, and so on.
    Above(Vec<u32>),
}

/// Looks up the line of a process.
pub fn ancestry(pid: u32) -> Ancestry {
    if look(getpid()).is_none() {
        return Ancestry::Unknown;
    }
    let mut line = Vec::new();
    let mut next = i32::try_from(pid).ok().and_then(Pid::from_raw);
    while let Some(process) = next.and_then(look)
        && line.len() < DEEPEST
    {
        line.push(process.pid.as_raw_nonzero().get().unsigned_abs());
        next = Pid::from_raw(process.parent);
    }
    if line.is_empty() { Ancestry::Gone } else { Ancestry::Above(line) }
}

/// Returns the process that started another, or that adopted it.
pub fn parent(pid: u32) -> Option<u32> {
    let process = look(Pid::from_raw(i32::try_from(pid).ok()?)?)?;
    u32::try_from(process.parent).ok()
}

/// Tells whether a process leads its session, as one in the background does. A session may have been started outside
/// of the container that we run in; its leader has the number 0 here, which is no process to the calls that ask for one.
pub fn leads_session(pid: u32) -> bool {
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw).and_then(look);
    process.is_some_and(|process| process.session == process.pid.as_raw_nonzero().get())
}

/// Returns what the program of a process calls itself, for a person; `None` when the process is gone.
pub fn program(pid: u32) -> Option<String> {
    Some(std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned())
}

/// Tells whether a process was started within a run, of whatever hub: it carries the mark.
pub fn is_marked(pid: u32) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let is_mark =
        |entry: &[u8]| entry.strip_prefix(MARK.as_bytes()).is_some_and(|rest| rest.starts_with(b"="));
    environment.split(|byte| *byte == 0).any(is_mark)
}

/// Counts the supervisors of any hub that this process runs below.
pub fn supervisors_above() -> u32 {
    let Ancestry::Above(line) = ancestry(std::process::id()) else { return 0 };
    let supervises = |pid: &&u32| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).nth(1) == Some(b"supervise".as_slice())
    };
    u32::try_from(line.iter().filter(supervises).count()).unwrap_or(u32::MAX)
}
