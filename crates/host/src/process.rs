//! The only place that starts other processes.
//!
//! `reexec` starts this program again, `open` opens a link or a file, `short_command` runs short commands, and `tied_child` a
//! command that dies with this process; `inside` is the process above a runner in a sandbox. Everything else is a
//! *run*: a command below a supervisor and its guard, which are this program re-executed as `adjutant supervise`.

mod ancestry;
mod descendants;
mod inside;
mod open;
mod orphans;
mod output_line;
mod reattach;
mod reexec;
mod run_handle;
mod short_command;
mod sock_diag;
mod spool;
mod supervised_run;
mod supervisor;
mod supervisor_protocol;
mod tcp_peer;
mod tied_child;

use std::ffi::OsStr;

pub use ancestry::{
    Ancestor, adopter, ancestor, ancestry, folder_of_own_run, is_marked, is_running, is_this_program,
    oldest_child, program, session, session_leader, supervisors_above,
};
pub use descendants::resident_bytes;
pub use inside::{inside_command, run_inside};
pub use open::{open_browser, open_editor};
pub use orphans::{Orphan, SCRATCH, WORKTREE, end_orphans, has_runs, orphans, run_folders, supervisor_of};
pub use output_line::OutputLine;
pub use reattach::{Resumed, resume};
pub use reexec::{run_self, spawn_detached_self};
pub use run_handle::{Canceller, Running, start, start_known, start_live};
pub use short_command::{CommandOutput, output, output_with_input};
pub use supervised_run::{Cause, Command, Error, Exit, GRACE, Limit, OnHubExit, Outcome, Timeouts};
pub use supervisor::{GUARDED, enter, guard, read_command, supervise};
pub use tcp_peer::{peer_below, peers, unacknowledged_bytes};
pub use tied_child::{BECOME_WITH_JSON, become_child, spawn_tied};

/// The environment variable of every process of a run.
pub(crate) const MARK: &str = "ADJUTANT_RUN";

#[expect(clippy::disallowed_methods, reason = "this is the one place that starts children")]
fn child(program: impl AsRef<OsStr>) -> std::process::Command {
    std::process::Command::new(program)
}
