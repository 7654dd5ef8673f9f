//! The only place that starts other processes.
//!
//! `again` starts this program a second time, `browser` opens a link. Everything else is a *run*: a command below a
//! supervisor of its own, which is this program re-executed as `adjutant supervise`.

mod again;
mod ancestry;
mod between;
mod browser;
mod hub;
mod lost;
mod order;
mod orphans;
mod peer;
mod resume;
mod run;
mod short;
mod spool;
mod supervise;
mod tree;

use std::ffi::OsStr;

pub(crate) use again::{run_own, start_detached};
pub(crate) use ancestry::{Ancestry, ancestry, is_marked, leads_session, parent, program, supervisors_above};
pub(crate) use between::{become_child, start_between};
pub(crate) use browser::open_browser;
pub(crate) use hub::{Canceller, Running, start, start_known, start_live};
pub(crate) use orphans::{Orphan, end_orphans, has_runs, orphans};
pub(crate) use peer::peer_below;
pub(crate) use resume::{Resumed, resume, supervisor_of};
pub(crate) use run::{Cause, Command, Error, Exit, GRACE, Limit, OnHubExit, Outcome, OutputLine, Timeouts};
pub(crate) use short::{Short, short, talk};
pub(crate) use supervise::{enter, read_command, supervise};

/// The variable that every process of a run carries.
pub(crate) const MARK: &str = "ADJUTANT_RUN";

#[expect(clippy::disallowed_methods, reason = "this is the one place that starts children")]
fn child(program: impl AsRef<OsStr>) -> std::process::Command {
    std::process::Command::new(program)
}
