//! The process table in `/proc`. It is empty on a system without `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use rustix::process::Pid;

/// An entry of the process table.
#[derive(Clone, Debug)]
pub(in crate::process) struct Process {
    pub(in crate::process) pid: Pid,
    pub(in crate::process) parent: i32,
    pub(in crate::process) group: i32,
    pub(in crate::process) session: i32,
    /// The number of its controlling terminal; 0 without one.
    pub(in crate::process) terminal: i32,
    state: char,
    /// Start time in ticks since boot; unique together with the id.
    pub(in crate::process) start: u64,
    /// Resident bytes.
    pub(in crate::process) resident: u64,
    /// Processor time of its reaped children.
    pub(in crate::process) children_cpu: Duration,
}

impl Process {
    /// Returns whether both are the same process, and not two with the same id.
    pub(in crate::process) fn same(&self, other: &Self) -> bool {
        self.pid == other.pid && self.start == other.start
    }

    pub(in crate::process) fn id(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Returns whether it runs and is not a zombie.
    pub(in crate::process) fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Reads one process; `None` if there is none with this id.
pub(in crate::process) fn read_process(pid: Pid) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold any character, also parentheses.
    let stat = String::from_utf8_lossy(&stat);
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<i64>().ok();
    let ticks = u64::try_from(number(13)? + number(14)?).ok()?;
    let pages = u64::try_from(number(21)?).unwrap_or(0);
    Some(Process {
        pid,
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        terminal: fields.get(4)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
        resident: pages * rustix::param::page_size() as u64,
        children_cpu: Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1)),
    })
}

/// Reads the processes of the machine one by one, those with the highest ids first, which are the newest as long as the ids
/// have not begun again.
pub(in crate::process) fn newest_first() -> impl Iterator<Item = Process> {
    let mut ids: Vec<i32> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    ids.sort_unstable();
    ids.into_iter().rev().filter_map(|id| read_process(Pid::from_raw(id)?))
}

/// Reads all descendants of `root`, also zombies.
pub(in crate::process) fn descendants(root: Pid) -> Vec<Process> {
    let Some(mut open) = children(root) else { return descendants_by_parent(root) };
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    while let Some(pid) = open.pop() {
        if seen.insert(pid.as_raw_nonzero())
            && let Some(process) = read_process(pid)
        {
            found.push(process);
            open.extend(children(pid).unwrap_or_default());
        }
    }
    found
}

/// Returns the children of a process as the kernel lists them, by thread. `None` if it does not list them.
pub(in crate::process) fn children(pid: Pid) -> Option<Vec<Pid>> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let thread = thread.ok()?.path();
        match fs::read_to_string(thread.join("children")) {
            Ok(list) => found.extend(
                list.split_ascii_whitespace().filter_map(|number| Pid::from_raw(number.parse().ok()?)),
            ),
            // A thread that ended meanwhile has no folder; a kernel without the list has the folder.
            Err(_) if fs::exists(&thread).unwrap_or(false) => return None,
            Err(_) => {}
        }
    }
    Some(found)
}

fn descendants_by_parent(root: Pid) -> Vec<Process> {
    let mut below: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
    for process in newest_first() {
        below.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut open = vec![root.as_raw_nonzero().get()];
    while let Some(parent) = open.pop() {
        for process in below.remove(&parent).unwrap_or_default() {
            open.push(process.id());
            found.push(process);
        }
    }
    found
}

/// Returns whether a process was started with this variable in its environment.
pub(in crate::process) fn carries(pid: Pid, variable: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
        environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    })
}
