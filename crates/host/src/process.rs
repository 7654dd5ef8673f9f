//! The only place that starts other processes.
//!
//! `again` starts this program a second time, `browser` opens a link. Everything else is a *run*: a command below a
//! supervisor of its own, which is this program re-executed as `adjutant supervise`.

mod ancestry;
mod browser;
mod descendants;
mod orphan_cleanup;
mod orphans;
mod output;
mod protocol;
mod reattach;
mod reexec;
mod run;
mod run_handle;
mod spool;
mod supervisor;
mod tcp_peer;
mod tied_child;

use std::ffi::OsStr;

pub use ancestry::{Ancestry, ancestry, is_marked, leads_session, parent, program, supervisors_above};
pub use browser::open_browser;
pub use orphans::{Orphan, end_orphans, has_runs, orphans};
pub use output::{CommandOutput, output, output_with_input};
pub use reattach::{Resumed, resume, supervisor_of};
pub use reexec::{run_self, spawn_detached_self};
pub use run::{Cause, Command, Error, Exit, GRACE, Limit, OnHubExit, Outcome, OutputLine, Timeouts};
pub use run_handle::{Canceller, Running, start, start_known, start_live};
pub use supervisor::{enter, read_command, supervise};
pub use tcp_peer::peer_below;
pub use tied_child::{become_child, spawn_tied};

/// The variable that every process of a run carries.
pub const MARK: &str = "ADJUTANT_RUN";

#[expect(clippy::disallowed_methods, reason = "this is the one place that starts children")]
fn child(program: impl AsRef<OsStr>) -> std::process::Command {
    std::process::Command::new(program)
}
