//! The cleanup of runs whose supervisor was killed.
//!
//! The runner's own process dies with its supervisor, which the kernel sees to. What the runner had started is found
//! by the mark in its environment, by its session, or by its parent, and ended here.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Signal, getpid};

use super::descendants;
use super::descendants::Process;
use super::protocol::{LOCK, OUTCOME, RECORD, Record};
use super::run::Outcome;
use super::{MARK, supervisor};

/// How long a supervisor that closed its pipe may take to be gone, and how long SIGKILL is repeated.
const KILL_TIMEOUT: Duration = Duration::from_secs(15);

/// Returns how a run ended, if its supervisor wrote that down.
pub(super) fn read_outcome(spool: &Path) -> Option<Outcome> {
    serde_json::from_slice(&std::fs::read(spool.join(OUTCOME)).ok()?).ok()
}

/// Returns what the supervisor wrote down of a run when it started.
pub(super) fn read_record(spool: &Path) -> Option<Record> {
    serde_json::from_slice(&std::fs::read(spool.join(RECORD)).ok()?).ok()
}

/// Waits until the supervisor is gone, ends what it did not end, and returns how the run ended.
pub(super) fn settle(spool: &Path) -> Outcome {
    let give_up = Instant::now() + KILL_TIMEOUT;
    if let Ok(lock) = OpenOptions::new().read(true).open(spool.join(LOCK)) {
        while flock(&lock, FlockOperation::NonBlockingLockShared).is_err() && Instant::now() < give_up {
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
    if let Some(outcome) = read_outcome(spool) {
        return outcome;
    }
    let left = read_record(spool).map_or(0, |record| end(&record));
    let outcome = Outcome { processes_left: left, ..Outcome::unseen(spool) };
    if let Ok(json) = serde_json::to_vec(&outcome) {
        let _ = supervisor::write_file(&spool.join(OUTCOME), &json);
    }
    outcome
}

/// Returns how many processes live of a run whose supervisor is gone.
pub(super) fn count(spool: &Path) -> u32 {
    let living = read_record(spool).map_or(0, |record| members(&record).len());
    u32::try_from(living).unwrap_or(u32::MAX)
}

/// Kills what is left of a run, and returns how much of it could not be killed.
fn end(record: &Record) -> u32 {
    let give_up = Instant::now() + KILL_TIMEOUT;
    loop {
        let living = members(record);
        if living.is_empty() {
            return 0;
        }
        descendants::signal_all(&living, Signal::KILL);
        if Instant::now() >= give_up {
            return u32::try_from(living.len()).unwrap_or(u32::MAX);
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Returns the living processes of a run.
fn members(record: &Record) -> Vec<Process> {
    let variable = format!("{MARK}={}", record.mark);
    let own = getpid();
    let mut others: Vec<Process> =
        descendants::all().into_iter().filter(|process| process.lives() && process.pid != own).collect();
    let mut members: Vec<Process> = Vec::new();
    let mut numbers = BTreeSet::new();
    loop {
        let (found, rest): (Vec<Process>, Vec<Process>) = others.into_iter().partition(|process| {
            numbers.contains(&process.parent)
                || (process.session == record.runner && process.start >= record.runner_start)
                || descendants::carries(process.pid, &variable)
        });
        if found.is_empty() {
            return members;
        }
        numbers.extend(found.iter().map(|process| process.pid.as_raw_nonzero().get()));
        members.extend(found);
        others = rest;
    }
}
