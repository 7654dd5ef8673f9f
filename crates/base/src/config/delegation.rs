//! Settings of delegated tasks: limits, timeouts and retention.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::database::Database;
use super::network::Network;
use super::table::{AtLeastOne, Days, Plain, Seconds};

crate::named_enum! {
    /// The sandbox of a run below the permission level `full`.
    #[derive(Default)]
    SandboxMode {
        /// The strongest that works on this machine.
        #[default]
        Auto = "auto",
        /// None but the runner's own.
        None = "none",
        /// The program `bwrap`.
        Bubblewrap = "bubblewrap",
        /// A container of `podman`.
        Podman = "podman",
    }
}

super::table::settings! {
    /// The limits of delegation, and the folder in which runs keep their files.
    #[derive(Clone, Debug)]
    pub struct Delegation, file File, section "tasks" {
        /// Maximum number of runs at once.
        max_running: u32 = 8, max_running as AtLeastOne;
        /// Maximum number of runs at once on one runner.
        max_running_per_runner: u32 = 4, max_running_per_runner as AtLeastOne;
        /// Maximum number of runs at once on the named runners.
        per_runner: BTreeMap<String, u32> = BTreeMap::new(), per_runner as Plain;
        /// Seconds that a call waits for its task before it returns the task id.
        wait_timeout: Duration = Duration::from_secs(50), wait_seconds as Seconds;
        /// Maximum number of queued tasks.
        max_queued: u32 = 2048, max_queued as Plain;
        /// Maximum number of queued tasks of one client.
        max_queued_per_client: u32 = 256, max_queued_per_client as Plain;
        /// Maximum bytes of a task's text.
        max_task_bytes: usize = 1024 * 1024, max_task_bytes as Plain;
        /// Default seconds of a run.
        timeout: Duration = Duration::from_mins(30), timeout_seconds as Seconds;
        /// Maximum seconds of a run that a client may ask for.
        max_timeout: Duration = Duration::from_hours(24), max_timeout_seconds as Seconds;
        /// Seconds that a runner may produce no output; 0 disables the limit.
        idle_timeout: Option<Duration> = Some(Duration::from_mins(15)), idle_timeout_seconds as Seconds;
        /// Seconds until a runner's first output; 0 disables the limit.
        first_output_timeout: Option<Duration> = None, first_output_timeout_seconds as Seconds;
        /// Maximum seconds of one check.
        check_timeout: Duration = Duration::from_mins(10), check_timeout_seconds as Seconds;
        /// Maximum number of checks of one task.
        max_checks: usize = 16, max_checks as Plain;
        /// Maximum depth of delegations within delegations.
        max_depth: u32 = 2, max_depth as Plain;
        /// Maximum number of tasks that one client's task may delegate, directly and indirectly.
        max_descendants: u32 = 16, max_descendants as Plain;
        /// Bytes of each output stream of a run that are kept.
        spool_cap: u64 = 16 * 1024 * 1024, spool_bytes as Plain;
        /// Maximum bytes of a patch in a run report.
        max_patch_bytes: usize = 4 * 1024 * 1024, max_patch_bytes as Plain;
        /// Whether changed worktrees are kept.
        keep_worktrees: bool = false, keep_worktrees as Plain;
        /// Days after which a kept worktree is removed.
        keep_worktrees_for: Duration = Duration::from_hours(30 * 24), keep_worktrees_days as Days;
        /// Maximum number of worktrees of running tasks and kept ones; a task that needs another is refused.
        max_worktrees: usize = 64, max_worktrees as Plain;
        /// The sandbox of runs below the level `full`: `auto` (bubblewrap where it works, else the runner's own), `none`, `bubblewrap`, `podman`.
        sandbox: SandboxMode = SandboxMode::Auto, sandbox as Plain;
        /// Whether a run below the level `full` is refused where no sandbox of the hub works.
        require_sandbox: bool = false, require_sandbox as Plain;
        /// The network of runs below the level `full`: `all`, `none`, or a list of hosts, which the hub's sandbox holds.
        network: Network = Network::All, network as Plain;
        /// Days that a fetched result is kept.
        keep_delivered: Duration = Duration::from_hours(7 * 24), keep_fetched_days as Days;
        /// Days that an unfetched result is kept.
        keep_undelivered: Duration = Duration::from_hours(30 * 24), keep_unfetched_days as Days;
        /// Number of ended tasks that are kept.
        keep_count: u32 = 5000, keep_count as Plain;
    }
    others {
        /// The database of tasks, if it is not the hub's.
        database: Option<Database> = None;
        /// The hub's own folder, which holds secrets.
        home: Option<PathBuf> = None;
        /// Folder of runs and worktrees. `None`: a folder of this process below the system's folder for temporary
        /// files.
        spool: Option<PathBuf> = None;
    }
}
