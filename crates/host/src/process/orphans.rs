//! Runs without a hub, found by their spool folders and the table of processes.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::orphan_cleanup;
use super::protocol::{LOCK, RECORD};
use super::reattach::supervisor_of;

/// How deep below the spool a run's folder lies: a task's folder, then the run's.
const DEPTH: usize = 3;
/// Folders that are looked at; a spool holds some thousands when nobody ever tidied it.
const MAX_FOLDERS: usize = 20_000;

/// A run that has not ended in order.
#[derive(Debug)]
pub struct Orphan {
    /// Its spool folder.
    pub folder: PathBuf,
    /// Whether its supervisor lives; then it is none, if a hub listens to it.
    pub is_supervised: bool,
    /// What lives of a run without a supervisor.
    pub processes: u32,
}

/// Finds the runs below `spool` that have not ended, and what lives of them. Blocks on the disk.
pub fn orphans(spool: &Path) -> Vec<Orphan> {
    runs(spool).into_iter().filter_map(look).collect()
}

/// Tells whether a run below `spool` goes on, without a look at any process. Blocks on the disk.
pub fn has_runs(spool: &Path) -> bool {
    runs(spool).iter().any(|folder| supervisor_of(folder).is_some())
}

/// Returns the folders of the runs below `spool`.
fn runs(spool: &Path) -> Vec<PathBuf> {
    let mut open = vec![(spool.to_owned(), 0)];
    let mut found = Vec::new();
    let mut seen = 0;
    while let Some((folder, depth)) = open.pop() {
        seen += 1;
        if folder.join(RECORD).exists() {
            found.push(folder);
        } else if depth < DEPTH && seen < MAX_FOLDERS {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            open.extend(folders.map(|entry| (entry.path(), depth + 1)));
        }
    }
    found
}

fn look(folder: PathBuf) -> Option<Orphan> {
    if orphan_cleanup::read_outcome(&folder).is_some() {
        return None;
    }
    let lock = OpenOptions::new().read(true).open(folder.join(LOCK)).ok()?;
    let is_supervised = flock(&lock, FlockOperation::NonBlockingLockShared).is_err();
    let processes = if is_supervised { 0 } else { orphan_cleanup::count(&folder) };
    Some(Orphan { folder, is_supervised, processes })
}

/// Ends what a killed supervisor left of the run in `folder`, and returns how much of it could not be ended.
pub fn end_orphans(folder: &Path) -> u32 {
    orphan_cleanup::settle(folder).processes_left
}
