//! The service, where one is installed.

use std::sync::Arc;

use super::check::Found;
use super::{Patient, blocking};
use crate::cli::service;
use crate::service::{Manager, State};

/// Looks whether its files are those that this version would write.
pub(super) async fn files(patient: Arc<Patient>) -> Found {
    blocking(move || {
        let setup = service::setup(&patient.config);
        let files = setup.ok().and_then(|setup| Manager::here().files(&setup)).unwrap_or_default();
        let states: Vec<State> = files.iter().map(crate::service::File::state).collect();
        if states.iter().all(|state| *state == State::Missing) {
            return Found::skipped("it is not installed; agents start the hub when they connect");
        }
        if states.iter().all(|state| matches!(state, State::Current | State::Foreign)) {
            return Found::ok(format!("{} starts the hub with your session", Manager::here().name()));
        }
        Found::warn(
            "its files are of another version, or were written with another PATH",
            "`adjutant service install` writes them anew",
        )
    })
    .await
}
