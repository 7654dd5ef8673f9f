//! Check of the installed service's files.

use super::DoctorContext;
use super::check_result::CheckResult;
use crate::cli::service;
use adjutant_host::service::{Manager, State};

/// Checks that the files are those that this version would write.
pub(super) fn files(context: &DoctorContext) -> CheckResult {
    let setup = service::setup(&context.config);
    let files = setup.ok().and_then(|setup| Manager::current().files(&setup)).unwrap_or_default();
    let states: Vec<State> = files.iter().map(adjutant_host::service::File::state).collect();
    if states.iter().all(|state| *state == State::Missing) {
        return CheckResult::skipped("the service is not installed; agents start the hub when they connect");
    }
    if states.iter().all(|state| matches!(state, State::Current | State::Foreign)) {
        return CheckResult::ok(format!("{} starts the hub with your session", Manager::current().name()));
    }
    CheckResult::warn(
        "the files are of another version, or were written with another PATH",
        "`adjutant service install` writes them again",
    )
}
