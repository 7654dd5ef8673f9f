//! Worktrees of tasks on the disk: the ones in use, and kept ones with changes that may exist nowhere else.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::task::TaskId;
use adjutant_host::git::{has_locked_entry, remove_kept_worktree};
use adjutant_host::process;

/// The name of a task's worktree in the task's folder.
pub(crate) const WORKTREE: &str = process::WORKTREE;

/// The name of the empty folder next to the folders of tasks; no task has it.
pub(crate) const EMPTY: &str = "empty";

/// A worktree of a task.
#[derive(Clone, Debug)]
pub struct Worktree {
    pub task: TaskId,
    pub path: PathBuf,
    /// When its task ended, or last wrote a file of its own.
    pub since: SystemTime,
    /// Whether its task may still run.
    pub in_use: bool,
}

impl Worktree {
    /// Returns the bytes of its files.
    pub fn bytes(&self) -> u64 {
        bytes(&self.path)
    }

    /// Removes it with all files in it, and its entry in the repository. One that is in use is left.
    pub fn remove(&self) -> io::Result<()> {
        if self.in_use {
            return Err(io::Error::other("its task may still run"));
        }
        remove_kept_worktree(&self.path, self.task.as_str())?;
        // The folder of a failed task has files that show why it failed.
        let _ = self.path.parent().map(std::fs::remove_dir);
        Ok(())
    }
}

/// Returns the worktrees below the folder of runs, the oldest first.
pub fn list(spool: &Path) -> Vec<Worktree> {
    let mut worktrees: Vec<Worktree> = folders(spool)
        .filter_map(|folder| {
            let (path, task) = (folder.join(WORKTREE), TaskId::parse(folder.file_name()?.to_str()?)?);
            let since = folder.metadata().and_then(|found| found.modified()).ok()?;
            Some(Worktree { in_use: has_locked_entry(&path, task.as_str()), task, path, since })
        })
        .collect();
    worktrees.sort_by_key(|worktree| worktree.since);
    worktrees
}

/// Returns the number of worktrees below the folder of runs.
pub(crate) fn count(spool: &Path) -> usize {
    folders(spool).count()
}

/// Removes the worktrees that are not in use and older than `age`. Returns those that were removed.
pub fn remove_older(spool: &Path, age: Duration) -> Vec<Worktree> {
    let mut old = list(spool);
    old.retain(|worktree| {
        let is_old = worktree.since.elapsed().is_ok_and(|elapsed| elapsed >= age);
        is_old && !worktree.in_use && {
            let removed = worktree.remove();
            if let Err(error) = &removed {
                tracing::warn!(%error, task = %worktree.task, "a worktree could not be removed");
            }
            removed.is_ok()
        }
    });
    old
}

fn folders(spool: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = std::fs::read_dir(spool).into_iter().flatten().flatten().map(|entry| entry.path());
    folders.filter(|folder| folder.join(WORKTREE).is_dir())
}

fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let found = entry.metadata().ok()?;
        Some(if found.is_dir() { bytes(&entry.path()) } else { found.len() })
    });
    sizes.sum()
}
