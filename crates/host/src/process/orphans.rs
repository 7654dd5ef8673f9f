//! Runs without a hub or without a supervisor: their search below a spool folder, and their end.
//!
//! When a supervisor is killed, its guard ends the other processes of the run. When the guard is killed too, they are found
//! by the mark in their environment, by their session, or by their parent, and are not counted.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, getpid, kill_process};

use super::descendants::{self, Process};
use super::supervised_run::Outcome;
use super::supervisor_protocol::{LOCK, Limits, OUTCOME, RECORD, Record};
use super::{MARK, supervisor};

/// Time for a supervisor to end after it closed its pipe, and for killed processes to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(15);
/// Number of searches in a row that must find no process of a run before the run counts as ended. One search is not enough: a
/// process that forks and ends, or that starts another program, while the table is read is in no list and has no
/// environment to read.
const EMPTY_SEARCHES: u32 = 5;
/// Depth of the folders of runs below the spool: the folder of a task, then the folder of the run.
const MAX_DEPTH: usize = 3;
/// Maximum folders that are searched; a spool without pruning has some thousands.
const MAX_FOLDERS: usize = 20_000;
/// The name of a worktree next to the folders of runs. An agent may write there, so a record there is not a supervisor's.
pub const WORKTREE: &str = "tree";
/// The beginning of the name of a folder for the files of an attempt, of which the same holds.
pub const SCRATCH: &str = "scratch-";

/// A run without an outcome.
#[derive(Debug)]
pub struct Orphan {
    /// Its spool folder.
    pub folder: PathBuf,
    /// Set if the supervisor is alive. If a hub is connected to it as well, the run is not an orphan.
    pub is_supervised: bool,
    /// Number of living processes of a run without a supervisor.
    pub processes: u32,
}

/// Returns the runs below `spool` without an outcome. Blocks on the disk.
pub fn orphans(spool: &Path) -> Vec<Orphan> {
    let orphan = |folder: PathBuf| {
        if read_outcome(&folder).is_some() {
            return None;
        }
        let lock = OpenOptions::new().read(true).open(folder.join(LOCK)).ok()?;
        let is_supervised = flock(&lock, FlockOperation::NonBlockingLockShared).is_err();
        let members = || read_record(&folder).map_or(0, |record| members(&record).len());
        let processes = if is_supervised { 0 } else { u32::try_from(members()).unwrap_or(u32::MAX) };
        Some(Orphan { folder, is_supervised, processes })
    };
    run_folders(spool).into_iter().filter_map(orphan).collect()
}

/// Returns whether a run below `spool` has a living supervisor. Reads no process table. Blocks on the disk.
pub fn has_runs(spool: &Path) -> bool {
    run_folders(spool).iter().any(|folder| supervisor_of(folder).is_some())
}

/// Returns the limits of a run, as its supervisor recorded them.
pub(super) fn limits(spool: &Path) -> Limits {
    read_record(spool).map(|record| record.limits).unwrap_or_default()
}

/// Kills a process and everything below it.
pub(super) fn kill_tree(top: Pid) {
    descendants::signal_all(&descendants::descendants(top), Signal::KILL);
    let _ = kill_process(top, Signal::KILL);
}

/// Puts a file in the place of a run's folder, so that a supervisor that is late starts nothing. Fails if the folder is
/// there.
pub(super) fn prevent(spool: &Path) -> io::Result<()> {
    File::create_new(spool).map(drop)
}

/// Continues the supervisor and the guard of a run, which somebody may have stopped.
pub(super) fn wake(spool: &Path) {
    let supervisor = supervisor_of(spool).and_then(|pid| Pid::from_raw(pid.cast_signed()));
    for pid in supervisor.into_iter().chain(guard_of(spool)) {
        let _ = kill_process(pid, Signal::CONT);
    }
}

/// Kills the supervisor of a run, whose guard ends the other processes then; or the guard, where no supervisor is alive.
pub(super) fn kill_supervisor(spool: &Path) {
    let supervisor = supervisor_of(spool).and_then(|pid| Pid::from_raw(pid.cast_signed()));
    if let Some(pid) = supervisor.or_else(|| guard_of(spool)) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Kills the processes of a run after its supervisor was killed. Returns how many of them survive.
pub fn end_orphans(folder: &Path) -> u32 {
    finish_orphan(folder).processes_left
}

/// Returns the supervisor of a running run.
pub fn supervisor_of(spool: &Path) -> Option<u32> {
    let lock = OpenOptions::new().read(true).open(spool.join(LOCK)).ok()?;
    // A free lock means that the supervisor has ended, and its process id may be reused.
    flock(&lock, FlockOperation::NonBlockingLockShared).err()?;
    read_record(spool).and_then(|record| u32::try_from(record.supervisor).ok())
}

/// Returns the folders of the runs below `spool`. Blocks on the disk.
pub fn run_folders(spool: &Path) -> Vec<PathBuf> {
    let mut open = vec![(spool.to_owned(), 0)];
    let mut found = Vec::new();
    let mut searched = 0;
    while let Some((folder, depth)) = open.pop() {
        searched += 1;
        if folder.join(RECORD).exists() {
            found.push(folder);
        } else if depth < MAX_DEPTH && searched < MAX_FOLDERS {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            let is_agents =
                |name: &OsStr| name == WORKTREE || name.as_bytes().starts_with(SCRATCH.as_bytes());
            let folders = entries.flatten().filter(|entry| {
                entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_agents(&entry.file_name())
            });
            open.extend(folders.map(|entry| (entry.path(), depth + 1)));
        }
    }
    found
}

/// Returns the outcome of a run, if its supervisor recorded one.
pub(super) fn read_outcome(spool: &Path) -> Option<Outcome> {
    serde_json::from_slice(&std::fs::read(spool.join(OUTCOME)).ok()?).ok()
}

/// Returns the record that the supervisor wrote at the start of a run.
fn read_record(spool: &Path) -> Option<Record> {
    serde_json::from_slice(&std::fs::read(spool.join(RECORD)).ok()?).ok()
}

/// Returns the guard of a run while it is alive.
fn guard_of(spool: &Path) -> Option<Pid> {
    let (pid, start) = read_record(spool)?.guard?;
    let guard = descendants::read_process(Pid::from_raw(pid)?)?;
    (guard.start == start && guard.is_alive()).then_some(guard.pid)
}

/// Waits until the supervisor and its guard have ended, kills the processes that they left, and returns the outcome of the
/// run. A supervisor or guard that does not end in time is killed.
pub(super) fn finish_orphan(spool: &Path) -> Outcome {
    let is_over = || {
        let Ok(lock) = OpenOptions::new().read(true).open(spool.join(LOCK)) else { return true };
        flock(&lock, FlockOperation::NonBlockingLockShared).is_ok()
            && (read_outcome(spool).is_some() || guard_of(spool).is_none())
    };
    // First the supervisor may do it, then its guard.
    for _ in 0..2 {
        wake(spool);
        let deadline = Instant::now() + KILL_TIMEOUT;
        while !is_over() && Instant::now() < deadline {
            std::thread::park_timeout(Duration::from_millis(5));
        }
        if is_over() {
            break;
        }
        kill_supervisor(spool);
    }
    if let Some(outcome) = read_outcome(spool) {
        return outcome;
    }
    let survivors = read_record(spool).map_or(0, |record| kill_members(&record));
    let outcome = Outcome { processes_left: survivors, ..Outcome::unobserved(spool) };
    if let Ok(json) = serde_json::to_vec(&outcome) {
        let _ = supervisor::write_file(&spool.join(OUTCOME), &json);
    }
    outcome
}

/// Kills the processes of a run. Returns how many of them survive.
fn kill_members(record: &Record) -> u32 {
    let deadline = Instant::now() + KILL_TIMEOUT;
    let mut empty_searches = 0;
    loop {
        let living = members(record);
        empty_searches = if living.is_empty() { empty_searches + 1 } else { 0 };
        descendants::signal_all(&living, Signal::KILL);
        if empty_searches == EMPTY_SEARCHES || Instant::now() >= deadline {
            return u32::try_from(living.len()).unwrap_or(u32::MAX);
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Returns the living processes of a run.
fn members(record: &Record) -> Vec<Process> {
    let variable = format!("{MARK}={}", record.mark);
    let own = getpid();
    // The mark is read right after the process, because a process that starts others may live for a millisecond.
    let is_member = |process: &Process| {
        (process.session == record.runner && process.start >= record.runner_start)
            || descendants::carries(process.pid, &variable)
    };
    let (mut members, mut others): (Vec<Process>, Vec<Process>) = descendants::newest_first()
        .filter(|process| process.is_alive() && process.pid != own)
        .partition(is_member);
    let mut pids: BTreeSet<i32> = members.iter().map(Process::id).collect();
    loop {
        let (children, rest): (Vec<Process>, Vec<Process>) =
            others.into_iter().partition(|process| pids.contains(&process.parent));
        if children.is_empty() {
            return members;
        }
        pids.extend(children.iter().map(Process::id));
        members.extend(children);
        others = rest;
    }
}
