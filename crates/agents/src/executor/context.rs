//! Context of the executor: its shared state, the running tasks with their leases, and the folders of a task.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, broadcast, watch};
use tokio_util::sync::CancellationToken;

use super::rows::{self, Options};
use crate::run_report::{Outcome, RunReport};
use crate::runner::environment::RunnerEnv;
use crate::runner::probe::Versions;
use crate::sandbox::Sandbox;
use crate::selector::Selector;
use crate::task::TaskId;
use crate::worktrees::{EMPTY, WORKTREE};
use adjutant_base::config::delegation::Delegation;
use adjutant_base::events::Events;
use adjutant_base::mutex::lock;
use adjutant_base::text::timefmt;
use adjutant_host::disk;
use adjutant_host::file_catalogue::atomic_write;
use adjutant_host::git::{Repository, Snapshot};
use adjutant_host::process::{Canceller, SCRATCH};
use adjutant_host::recorder::Recorder;
use adjutant_host::temporary_folder;
use adjutant_store::{Millis, Store, tasks};

/// How long a lease is valid without being extended.
const LEASE: Duration = Duration::from_mins(1);

/// The pause before a change that could not be stored is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// Bytes that the disk of the runs should have free; with fewer the files of ended tasks are removed.
const MIN_FREE_BYTES: u64 = 32 * 1024 * 1024;

/// Cancellations that may wait for a slow reader; a worker learns of a dropped one with its next report.
const CANCELLATIONS: usize = 256;

/// The file in a task's folder that holds its [`RunState`].
const RUN_STATE_FILE: &str = "run-state.json";

/// The state that all tasks of this process share.
#[derive(Debug)]
pub(crate) struct ExecutorContext {
    pub(crate) settings: Delegation,
    pub(crate) selector: Selector,
    pub(crate) store: Store,
    pub(crate) events: Events,
    pub(super) recorder: Recorder,
    /// The id of this process in its claims; it differs with every start of the hub.
    pub(super) hub: String,
    /// The folder above the folders of all tasks.
    pub(super) spool: PathBuf,
    pub(crate) environment: RunnerEnv,
    pub(super) versions: Versions,
    pub(super) sandbox: Sandbox,
    /// How many requests to end the hub wait for the running tasks; while there are any, no task is claimed.
    pub(crate) drains: AtomicU32,
    /// Held while tasks are claimed and started.
    pub(crate) claiming: tokio::sync::Mutex<()>,
    /// Notified when a task may be ready to be claimed.
    pub(crate) wake: Notify,
    /// Notified when a task was queued, because a worker may claim it.
    pub(crate) queued: Notify,
    /// Sends the id of each running task whose cancellation is requested here, because a worker may run the task.
    pub(crate) cancellations: broadcast::Sender<String>,
    /// Set once workers are served, so that a task may need a label.
    pub(crate) serves_workers: OnceLock<()>,
    /// Whether the runs that the last hub left are known.
    pub(crate) runs_adopted: watch::Sender<bool>,
    /// For each task with waiting readers, a number that grows with everything that this process writes about the task.
    changes: Mutex<HashMap<String, watch::Sender<u64>>>,
    /// The tasks that this process runs, by id.
    active: Mutex<HashMap<String, ActiveRun>>,
    /// Held while a tree of tasks is counted and grows, so that two requests cannot pass its limit together.
    pub(crate) tree_growth: tokio::sync::Mutex<()>,
    /// How many runs of other hubs this process itself is part of.
    pub(crate) outer_depth: OnceLock<u32>,
}

/// A task that this process runs.
#[derive(Debug, Default)]
pub(crate) struct ActiveRun {
    /// Cancelled when a cancellation is requested, also between two runners.
    pub(super) cancelled: CancellationToken,
    pub(super) run: Option<Canceller>,
    /// The process id of the run's supervisor: requests of its descendants belong to this task.
    pub(crate) supervisor: Option<u32>,
}

impl ExecutorContext {
    /// Returns a context without running tasks. Does no I/O.
    pub(crate) fn new(
        settings: Delegation,
        selector: Selector,
        store: Store,
        events: Events,
        recorder: Recorder,
    ) -> Self {
        // A process id and a time are unique among the starts on one machine.
        let hub = format!("{}{}-{}", store.machine(), std::process::id(), now());
        let sandbox = Sandbox::new(&settings);
        let spool = settings.spool.clone().unwrap_or_else(temporary_folder::path);
        Self {
            settings,
            selector,
            store,
            events,
            recorder,
            hub,
            spool,
            environment: RunnerEnv::capture(),
            versions: Versions::default(),
            sandbox,
            drains: AtomicU32::new(0),
            claiming: tokio::sync::Mutex::default(),
            wake: Notify::new(),
            queued: Notify::new(),
            cancellations: broadcast::Sender::new(CANCELLATIONS),
            serves_workers: OnceLock::new(),
            runs_adopted: watch::Sender::new(false),
            changes: Mutex::default(),
            active: Mutex::default(),
            tree_growth: tokio::sync::Mutex::default(),
            outer_depth: OnceLock::new(),
        }
    }

    /// Returns the folder of a task: its runs, its worktree.
    pub(crate) fn folder(&self, task: &str) -> PathBuf {
        self.spool.join(task)
    }

    /// Returns the empty folder for runs that need no folder of the user.
    pub(crate) fn empty_folder(&self) -> PathBuf {
        self.spool.join(EMPTY)
    }

    /// Locks the tasks that this process runs.
    pub(crate) fn active(&self) -> MutexGuard<'_, HashMap<String, ActiveRun>> {
        lock(&self.active)
    }

    /// Requests the end of a task that this process runs.
    pub(crate) fn cancel_run(&self, task: &str) {
        if let Some(active) = self.active().get(task) {
            active.cancelled.cancel();
            if let Some(run) = &active.run {
                run.cancel();
            }
        }
    }

    /// Wakes everything that waits for a change of a task.
    pub(crate) fn notify_changed(&self, task: &str) {
        let mut changes = lock(&self.changes);
        if let Some(sender) = changes.get(task) {
            sender.send_modify(|count| *count += 1);
            if sender.is_closed() {
                changes.remove(task);
            }
        }
    }

    /// Returns a receiver of a task's changes from now on.
    pub(crate) fn watch(&self, task: &TaskId) -> watch::Receiver<u64> {
        let mut changes = lock(&self.changes);
        changes.retain(|_, sender| !sender.is_closed());
        changes.entry(task.to_string()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }
}

/// A task while this process runs it.
pub(super) struct TaskRun<'a> {
    pub(super) row: &'a tasks::Task,
    pub(super) options: &'a Options,
    /// The task's own folder: its runs, its worktree, its state.
    pub(super) folder: PathBuf,
    /// The folder that the agent works in.
    pub(super) workspace: PathBuf,
    pub(super) started: Instant,
    pub(super) state: RunState,
    pub(super) cancelled: &'a CancellationToken,
    pub(super) stop: &'a CancellationToken,
}

/// State of a task for the next hub, which resumes a run that outlives this hub.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RunState {
    pub(super) report: RunReport,
    pub(super) baseline: Option<Baseline>,
    /// Whether the last run was started with the contract's command line.
    pub(super) contract: bool,
    /// The outcome, once it is known and the worktree that shows it is about to be removed.
    pub(super) outcome: Option<Outcome>,
}

/// The repository around the working folder before the first run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Baseline {
    /// The caller's repository.
    pub(super) repository: Repository,
    /// The repository that the agent works in: the caller's, or its worktree.
    pub(super) inner: Repository,
    pub(super) snapshot: Snapshot,
    pub(super) worktree: Option<PathBuf>,
    /// The caller's own tree, where the agent works in a worktree; or why it cannot be read.
    pub(super) caller: Option<Result<Snapshot, String>>,
}

impl RunState {
    /// Reads the state that the last hub wrote into a task's folder.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(folder.join(RUN_STATE_FILE)).ok()?).ok()
    }
}

impl TaskRun<'_> {
    /// Returns the folder for the files of an attempt, and the folder of its spool.
    pub(super) fn attempt_folders(&self, number: usize) -> (PathBuf, PathBuf) {
        (self.folder.join(format!("{SCRATCH}{number}")), self.folder.join(format!("run-{number}")))
    }

    /// Writes the state for the next hub, all of it or nothing. The error is a sentence fragment.
    pub(super) fn write_state(&self) -> Result<(), String> {
        atomic_write::put(&self.folder.join(RUN_STATE_FILE), &rows::json(&self.state))
    }

    /// Returns whether the task is cancelled, or the hub stops.
    pub(super) fn is_ending(&self) -> bool {
        self.cancelled.is_cancelled() || self.stop.is_cancelled()
    }

    /// Waits until the task is cancelled, or the hub stops.
    pub(super) async fn ending(&self) {
        tokio::select! {
            () = self.cancelled.cancelled() => {}
            () = self.stop.cancelled() => {}
        }
    }
}

/// Creates a folder that only this user may enter. An existing folder stays as it is.
pub(crate) fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Removes a task's folder except its worktree. A worktree that still exists was kept because its changes may exist
/// nowhere else; the user removes it with `git worktree remove`.
pub(super) fn remove_except_worktree(folder: &Path) -> std::io::Result<()> {
    if !folder.join(WORKTREE).exists() {
        return std::fs::remove_dir_all(folder);
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() != WORKTREE {
            let path = entry.path();
            if path.is_dir() { std::fs::remove_dir_all(path)? } else { std::fs::remove_file(path)? }
        }
    }
    Ok(())
}

/// Removes the files of a task, see [`remove_except_worktree`].
pub(super) async fn remove_files(context: &ExecutorContext, task: &str) {
    let folder = context.folder(task);
    let removed = tokio::task::spawn_blocking(move || remove_except_worktree(&folder)).await;
    if let Ok(Err(error)) = removed
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, task, "the files of a task could not be removed");
    }
}

/// Removes the files of ended tasks, the oldest first, while the disk is nearly full, because the state of the other
/// tasks could no longer be stored.
pub(super) async fn make_space(context: &ExecutorContext) {
    let spool = context.spool.clone();
    let is_full = move || disk::free_bytes(&spool).is_some_and(|free| free < MIN_FREE_BYTES);
    let full = is_full.clone();
    if !tokio::task::spawn_blocking(full).await.unwrap_or(false) {
        return;
    }
    // Before the tasks are read, because a task that begins meanwhile makes a folder.
    let spool = context.spool.clone();
    let folders = tokio::task::spawn_blocking(move || oldest_folders(&spool)).await.unwrap_or_default();
    let Ok(running) = tasks::running(&context.store, &context.hub, Millis::MAX).await else { return };
    let mut in_use: BTreeSet<String> = running.into_iter().map(|row| row.id).collect();
    in_use.extend(context.active().keys().cloned());
    let removed = tokio::task::spawn_blocking(move || remove_while(&is_full, &folders, &in_use)).await;
    if let Ok(removed @ 1..) = removed {
        tracing::warn!(removed, "the disk is nearly full: the files of ended tasks were removed");
    }
}

/// Returns the folders of tasks below `spool`, the one that was not changed for the longest time first.
fn oldest_folders(spool: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(spool).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_name().to_str().and_then(TaskId::parse).is_some());
    let mut aged: Vec<_> = folders
        .map(|entry| (entry.metadata().and_then(|found| found.modified()).ok(), entry.path()))
        .collect();
    aged.sort();
    aged.into_iter().map(|(_, folder)| folder).collect()
}

/// Removes the files of the tasks that are not in use, as long as `is_full` says so. Returns the number of tasks.
fn remove_while(is_full: &impl Fn() -> bool, folders: &[PathBuf], in_use: &BTreeSet<String>) -> usize {
    let is_free = |folder: &&PathBuf| {
        folder.file_name().and_then(|name| name.to_str()).is_some_and(|id| !in_use.contains(id))
    };
    let removed = folders.iter().filter(is_free).take_while(|_| is_full());
    removed.filter(|folder| remove_except_worktree(folder).is_ok()).count()
}

/// Carries a change out, and repeats it until it is stored, because a disk may be full for a while. `what` names the
/// change in the log. `None` if `given_up` completes first.
pub(super) async fn until_stored<T, E: Display, F: Future<Output = Result<T, E>>>(
    context: &ExecutorContext,
    task: &str,
    what: &str,
    given_up: impl Future<Output = ()>,
    mut change: impl FnMut() -> F,
) -> Option<T> {
    let mut given_up = pin!(given_up);
    loop {
        match change().await {
            Ok(stored) => return Some(stored),
            Err(error) => tracing::error!(%error, task, "{what} could not be written yet"),
        }
        make_space(context).await;
        tokio::select! {
            () = tokio::time::sleep(RETRY_INTERVAL) => {}
            () = &mut given_up => return None,
        }
    }
}

/// Returns the end of a lease that is taken or extended now.
pub(super) fn lease_until() -> Millis {
    now() + Millis::try_from(LEASE.as_millis()).unwrap_or(0)
}

/// Returns the milliseconds since 1970. A clock before that counts as 1970.
pub(crate) fn now() -> Millis {
    timefmt::millis(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{oldest_folders, remove_while};

    #[test]
    fn on_a_full_disk_the_oldest_files_of_ended_tasks_are_removed_and_no_others() {
        let spool = tempfile::tempdir().unwrap();
        let ids =
            ["0000000000000000000a", "0000000000000000000b", "0000000000000000000c", "0000000000000000000d"];
        for (age, id) in (1..).zip(ids).chain([(9, "hub"), (9, "empty")]) {
            let folder = spool.path().join(id);
            std::fs::create_dir_all(folder.join("run-1")).unwrap();
            std::fs::create_dir(folder.join("tree")).unwrap();
            let time = std::time::SystemTime::now() - std::time::Duration::from_hours(age);
            std::fs::File::open(&folder).unwrap().set_modified(time).unwrap();
        }
        let left = || ids.map(|id| spool.path().join(id).join("run-1").exists());
        let in_use = BTreeSet::from([ids[3].to_owned()]);
        let removed =
            remove_while(&|| left() != [true, true, false, true], &oldest_folders(spool.path()), &in_use);
        assert_eq!((removed, left()), (1, [true, true, false, true]), "the oldest one is in use");
        let removed = remove_while(&|| true, &oldest_folders(spool.path()), &in_use);
        assert_eq!((removed, left()), (3, [false, false, false, true]));
        for name in ["0000000000000000000a/tree", "hub/run-1", "empty/run-1"] {
            assert!(spool.path().join(name).exists(), "{name}");
        }
    }
}
