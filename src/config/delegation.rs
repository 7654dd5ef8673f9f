//! What delegated tasks may cost: how many run, how long, how deep.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::Database;

/// The limits of delegation, and the folder that runs keep their files in.
#[derive(Clone, Debug)]
pub(crate) struct Delegation {
    /// Runs at once.
    pub(crate) max_running: u32,
    /// Runs at once on one runner, unless `per_runner` names it.
    pub(crate) max_running_per_runner: u32,
    pub(crate) per_runner: BTreeMap<String, u32>,
    /// How long a call that delegates is kept waiting before its answer is a handle, for clients that end a call
    /// after some time.
    pub(crate) patience: Duration,
    /// Tasks of one caller that may wait.
    pub(crate) max_waiting_per_caller: u32,
    /// Tasks that may wait.
    pub(crate) max_waiting: u32,
    /// Bytes of a task's text.
    pub(crate) largest_task: usize,
    /// How long a run may take unless the agent or the caller says so.
    pub(crate) timeout: Duration,
    /// The longest that anybody may ask for.
    pub(crate) longest_timeout: Duration,
    /// How long a runner may be silent; `None` is no limit.
    pub(crate) idle_timeout: Option<Duration>,
    /// How long a runner may take to its first output; `None` is no limit.
    pub(crate) first_output_timeout: Option<Duration>,
    /// How long one check may take.
    pub(crate) check_timeout: Duration,
    /// Checks of one task.
    pub(crate) max_checks: usize,
    /// Delegations within delegations: 0 lets no delegated agent delegate.
    pub(crate) max_depth: u32,
    /// Tasks below one task of a client, on all levels.
    pub(crate) max_descendants: u32,
    /// Bytes of each stream of a run that are kept on disk.
    pub(crate) spool_cap: u64,
    /// Bytes of a patch that goes into an outcome.
    pub(crate) largest_patch: usize,
    /// Keep a task's worktree when there are changes in it.
    pub(crate) keep_worktrees: bool,
    /// How long an outcome stays that was fetched, and one that nobody fetched.
    pub(crate) keep_delivered: Duration,
    pub(crate) keep_undelivered: Duration,
    /// Ended tasks that stay at most.
    pub(crate) keep_count: u32,
    /// Where tasks are kept, if not with everything else.
    pub(crate) database: Option<Database>,
    /// Where runs and worktrees have their folders. `None`: below the system's folder for temporary files, one for
    /// this process.
    pub(crate) spool: Option<PathBuf>,
}

impl Default for Delegation {
    fn default() -> Self {
        Self {
            max_running: 8,
            max_running_per_runner: 4,
            per_runner: BTreeMap::new(),
            patience: Duration::from_secs(50),
            max_waiting_per_caller: 256,
            max_waiting: 2048,
            largest_task: 1024 * 1024,
            timeout: Duration::from_mins(30),
            longest_timeout: Duration::from_hours(24),
            idle_timeout: Some(Duration::from_mins(15)),
            first_output_timeout: None,
            check_timeout: Duration::from_mins(10),
            max_checks: 16,
            max_depth: 2,
            max_descendants: 16,
            spool_cap: 16 * 1024 * 1024,
            largest_patch: 4 * 1024 * 1024,
            keep_worktrees: false,
            keep_delivered: Duration::from_hours(7 * 24),
            keep_undelivered: Duration::from_hours(30 * 24),
            keep_count: 5000,
            database: None,
            spool: None,
        }
    }
}
