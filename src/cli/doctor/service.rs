//! Check of the installed service.

use super::DoctorContext;
use super::check_result::CheckResult;
use crate::cli::service;
use adjutant_host::service::{Manager, State};

/// Checks that the manager starts the service, and that the files are those that this version would write.
pub(super) fn enabled(context: &DoctorContext) -> CheckResult {
    let manager = Manager::current();
    let setup = service::setup(&context.config);
    let files = setup.ok().and_then(|setup| manager.files(&setup)).unwrap_or_default();
    let states: Vec<State> = files.iter().map(adjutant_host::service::File::state).collect();
    let is_missing = states.iter().all(|state| *state == State::Missing);
    let name = manager.name();
    match service::is_enabled(manager) {
        Ok(false) | Err(_) if is_missing => {
            CheckResult::skipped("the service is not installed; agents start the hub when they connect")
        }
        Ok(true) if states.iter().all(|state| matches!(state, State::Current | State::Foreign)) => {
            CheckResult::ok(format!("{name} starts the hub with your session"))
        }
        Ok(true) => CheckResult::warn(
            "the files are missing, of another version, or were written with another PATH",
            "`adjutant service install` writes them again",
        ),
        Ok(false) => CheckResult::warn(
            format!("the files are there, but {name} does not start the hub with your session"),
            "`adjutant service install` enables the service, `adjutant service uninstall` removes the files",
        ),
        Err(failure) => CheckResult::warn(
            format!("the files are there, but {name} does not answer: {}", failure.message),
            "log in at the desktop or over SSH, or remove the files with `adjutant service uninstall`",
        ),
    }
}
