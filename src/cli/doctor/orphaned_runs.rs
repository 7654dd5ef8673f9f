//! Runs without a hub: those that wait for one, and those whose supervisor was killed.

use std::sync::Arc;

use super::check::{Fix, Found};
use super::{Patient, blocking};
use crate::process::{self, Orphan};

/// Looks for them.
pub(super) async fn orphans(patient: Arc<Patient>) -> Found {
    blocking(move || {
        let spool = patient.config.delegation.spool.clone();
        let spool = spool.unwrap_or_else(|| patient.config.home.join("spool"));
        let orphans = process::orphans(&spool);
        let lost: Vec<&Orphan> = orphans.iter().filter(|orphan| !orphan.is_supervised).collect();
        let processes: u32 = lost.iter().map(|orphan| orphan.processes).sum();
        let waiting = orphans.len() - lost.len();
        if !lost.is_empty() && processes > 0 {
            return Found::fail(
                format!("processes that have lost their supervisor: {processes}, in runs: {}", lost.len()),
                "a hub ends them when it starts; `adjutant doctor --fix` does it now",
            )
            .fixed_by(lost.iter().map(|orphan| Fix::EndRun(orphan.folder.clone())));
        }
        match (waiting, &patient.hub) {
            (0, _) => Found::ok("no process runs without a hub"),
            (some, Some(_)) => Found::ok(format!("runs that go on below the hub: {some}")),
            (some, None) => Found::warn(
                format!("runs that go on without a hub, which nobody watches: {some}"),
                "`adjutant serve --background` takes them up",
            )
            .fixed_by([Fix::StartHub]),
        }
    })
    .await
}
