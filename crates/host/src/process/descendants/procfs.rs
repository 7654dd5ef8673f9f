//! The table of processes in `/proc`. It is empty on a system without `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use rustix::process::Pid;

/// A process at the time it was looked at.
#[derive(Clone, Debug)]
pub(in crate::process) struct Process {
    pub(in crate::process) pid: Pid,
    pub(in crate::process) parent: i32,
    pub(in crate::process) group: i32,
    pub(in crate::process) session: i32,
    state: char,
    /// Ticks since boot; with the number it names a process for ever.
    pub(in crate::process) start: u64,
    /// Resident bytes.
    pub(in crate::process) resident: u64,
    /// Processor time of the children that it waited for.
    pub(in crate::process) children_cpu: Duration,
}

impl Process {
    /// Tells whether this is the same process, not another one with its number.
    pub(in crate::process) fn same(&self, other: &Self) -> bool {
        self.pid == other.pid && self.start == other.start
    }

    /// Tells whether it still runs; a zombie is only a number that nobody asked for.
    pub(in crate::process) fn lives(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Looks at one process. `None` when there is none of that number.
pub(in crate::process) fn look(pid: Pid) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything, parentheses too.
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
        start: fields.get(19)?.parse().ok()?,
        resident: pages * rustix::param::page_size() as u64,
        children_cpu: Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1)),
    })
}

/// Looks at every process of the machine.
pub(in crate::process) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let number = entry.ok()?.file_name().to_str()?.parse().ok()?;
            look(Pid::from_raw(number)?)
        })
        .collect()
}

/// Looks at everything below `root`, zombies too.
pub(in crate::process) fn descendants(root: Pid) -> Vec<Process> {
    let Some(mut open) = children(root) else { return descendants_by_parent(root) };
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    while let Some(pid) = open.pop() {
        if seen.insert(pid.as_raw_nonzero())
            && let Some(process) = look(pid)
        {
            found.push(process);
            open.extend(children(pid).unwrap_or_default());
        }
    }
    found
}

/// The children of a process as the kernel lists them, thread by thread. `None` where it does not.
fn children(pid: Pid) -> Option<Vec<Pid>> {
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
    for process in all() {
        below.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut open = vec![root.as_raw_nonzero().get()];
    while let Some(parent) = open.pop() {
        for process in below.remove(&parent).unwrap_or_default() {
            open.push(process.pid.as_raw_nonzero().get());
            found.push(process);
        }
    }
    found
}

/// Tells whether a process was started with this variable in its environment.
pub(in crate::process) fn carries(pid: Pid, variable: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
        environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    })
}
