//! Ancestors of processes. Processes of a run stay below their supervisor, so the process table identifies them even if
//! they dropped all variables.

use std::path::PathBuf;

use rustix::process::{Pid, getpid};

use super::MARK;
use super::descendants::{children, read_process};
use super::supervisor::GUARDED;

/// Maximum generations that are read; deeper than any real tree.
const MAX_GENERATIONS: usize = 1_000;

/// A process in a line of ancestors, with data of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ancestor {
    pub pid: u32,
    /// The parent's number; 0 for a process outside of the hub's container.
    pub parent: u32,
    /// Start time in clock ticks since boot; unique together with the process number.
    pub started: u64,
    /// The number of the first process of its session; 0 for a process outside of the hub's container.
    pub session: u32,
    pub group: u32,
    /// The number of its controlling terminal; 0 without one.
    pub terminal: i32,
    /// The user who started the process, even if it runs with the rights of another user.
    pub user: u32,
}

impl Ancestor {
    /// Returns whether the process leads its session, as a terminal's shell or a background process does.
    pub fn leads_session(&self) -> bool {
        self.session == self.pid
    }

    /// Returns whether both are the same process, and not two with the same number.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }

    /// Returns whether root runs the process and another user `below` it, as for a login. Another user than root is no
    /// sign: a range of subordinate users (`/etc/subuid`) gives each user the numbers of others, but never root's.
    pub fn starts_logins(&self, below: &Self) -> bool {
        self.user == 0 && below.user != 0
    }

    /// Returns whether the process opened this terminal: it holds the controlling end. False if its files cannot be read.
    pub fn has_opened(&self, terminal: i32) -> bool {
        if terminal == 0 {
            return false;
        }
        // The number of a pseudo-terminal: the low 8 bits, and from bit 20 on the others.
        let index = (terminal & 0xff) | ((terminal >> 12) & !0xff);
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.pid)).into_iter().flatten();
        files.filter_map(Result::ok).any(|file| {
            std::fs::read_link(file.path()).is_ok_and(|to| to.ends_with("ptmx"))
                && std::fs::read_to_string(format!(
                    "/proc/{}/fdinfo/{}",
                    self.pid,
                    file.file_name().display()
                ))
                .is_ok_and(|info| {
                    let named = info.lines().find_map(|line| line.strip_prefix("tty-index:"));
                    // An older kernel does not say which terminal it is.
                    named.is_none_or(|number| number.trim().parse() == Ok(index))
                })
        })
    }
}

/// Returns the leader of the session of the first process in `line`, and the processes above the leader. `None` if the
/// leader is not in `line`, as for a process that was detached from its parents.
pub fn session(line: &[Ancestor]) -> Option<(&Ancestor, &[Ancestor])> {
    let number = line.first()?.session;
    let is_leader = |process: &Ancestor| process.pid == number || (number == 0 && process.parent <= 1);
    let at = line.iter().position(is_leader)?;
    Some((&line[at], &line[at + 1..]))
}

/// Returns a process, its parent, and so on. Empty without such a process; `None` on a system without a process table.
pub fn ancestry(pid: u32) -> Option<Vec<Ancestor>> {
    read_process(getpid())?;
    let mut line = Vec::new();
    let mut next = ancestor(pid);
    while let Some(process) = next
        && line.len() < MAX_GENERATIONS
    {
        line.push(process);
        next = ancestor(process.parent);
    }
    Some(line)
}

/// Reads one process; `None` without a process of that number.
pub fn ancestor(pid: u32) -> Option<Ancestor> {
    let process = read_process(Pid::from_raw(i32::try_from(pid).ok()?)?)?;
    // The owner of the folder is not used, because it is root for every process that forbids core dumps.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    Some(Ancestor {
        pid,
        parent: process.parent.unsigned_abs(),
        started: process.start,
        session: process.session.unsigned_abs(),
        group: process.group.unsigned_abs(),
        terminal: process.terminal,
        user: users.split_ascii_whitespace().next()?.parse().ok()?,
    })
}

/// Returns whether a process that was seen before still runs. A zombie does not run.
pub fn is_running(process: &Ancestor) -> bool {
    let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
    let now = pid.and_then(read_process);
    now.is_some_and(|now| now.start == process.started && now.is_alive())
}

/// Returns the process that adopted the detached process `pid`: a child subreaper, other than the first process and a
/// manager of services below it. No process can leave it: the kernel gives it everything that loses its parents.
pub fn adopter(pid: u32) -> Option<Ancestor> {
    let line = ancestry(pid)?;
    let [process, parent, ..] = line.as_slice() else { return None };
    let is_detached = |process: &Ancestor| process.leads_session() && process.terminal == 0;
    let is_manager = parent.pid == 1 || parent.parent == 1 && is_detached(parent);
    (is_detached(process) && !is_manager).then_some(*parent)
}

/// Returns the first process of a process's session, or the process itself if that one is not above it.
pub fn session_leader(pid: u32) -> Option<Ancestor> {
    let line = ancestry(pid)?;
    session(&line).map(|(leader, _)| *leader).or_else(|| line.first().copied())
}

/// Returns the start time of this process's oldest child, in clock ticks since boot.
pub fn oldest_child() -> Option<u64> {
    children(getpid())?.into_iter().filter_map(read_process).map(|child| child.start).min()
}

/// Returns whether a process runs the same program as this one.
pub fn is_this_program(pid: u32) -> bool {
    let program = |pid: &str| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    program(&pid.to_string()).is_some_and(|path| Some(path) == program("self"))
}

/// Returns the name of a process for display; `None` if it has ended.
pub fn program(pid: u32) -> Option<String> {
    Some(std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned())
}

/// Returns whether a process belongs to a run of any hub, by the mark in its environment.
pub fn is_marked(pid: u32) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let is_mark =
        |entry: &[u8]| entry.strip_prefix(MARK.as_bytes()).is_some_and(|rest| rest.starts_with(b"="));
    environment.split(|byte| *byte == 0).any(is_mark)
}

/// Counts the supervisors among the ancestors of this process.
pub fn supervisors_above() -> u32 {
    let line = ancestry(std::process::id()).unwrap_or_default();
    u32::try_from(line.iter().filter(|process| supervises(process)).count()).unwrap_or(u32::MAX)
}

/// Returns the folder of the run that this process belongs to; `None` outside of all runs, and in a sandbox, from which
/// nothing shows the supervisor.
pub fn folder_of_own_run() -> Option<PathBuf> {
    let line = ancestry(std::process::id())?;
    let supervisor = line.iter().find(|process| supervises(process))?;
    // A supervisor works in the folder of its run.
    std::fs::read_link(format!("/proc/{}/cwd", supervisor.pid)).ok()
}

fn supervises(process: &Ancestor) -> bool {
    let arguments = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
    let mut words = arguments.split(|byte| *byte == 0).skip(1);
    words.next() == Some(b"supervise") && words.next().is_some_and(|word| word == GUARDED.as_bytes())
}
