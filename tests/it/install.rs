//! `adjutant install` and `uninstall`, and the hook that they put there.

mod faults;
mod golden;
mod hook;
mod locations;
pub(crate) mod real_clients;

use crate::support::{Finished, Home};

/// Runs a command that must succeed.
pub(crate) fn run_ok(home: &Home, arguments: &[&str]) -> Finished {
    let finished = home.run(arguments, "");
    assert!(finished.status.success(), "{arguments:?}\n{finished}");
    finished
}
