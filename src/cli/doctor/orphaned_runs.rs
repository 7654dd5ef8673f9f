//! Check of runs without a hub, and of runs with a killed supervisor.

use super::DoctorContext;
use super::check_result::{CheckResult, Fix};
use adjutant_base::config;
use adjutant_host::process::{self, Orphan};

/// Looks for orphaned runs and processes.
pub(super) fn orphans(context: &DoctorContext) -> CheckResult {
    let spool = context.config.delegation.spool.clone();
    let spool = spool.unwrap_or_else(|| config::spool(&context.config.home));
    let orphans = process::orphans(&spool);
    let lost: Vec<&Orphan> = orphans.iter().filter(|orphan| !orphan.is_supervised).collect();
    let processes: u32 = lost.iter().map(|orphan| orphan.processes).sum();
    let waiting = orphans.len() - lost.len();
    if !lost.is_empty() && processes > 0 {
        return CheckResult::fail(
            format!("processes without a supervisor: {processes}, in runs: {}", lost.len()),
            "a hub ends them when it starts; `adjutant doctor --fix` ends them now",
        )
        .fixed_by(lost.iter().map(|orphan| Fix::EndRun(orphan.folder.clone())));
    }
    match (waiting, &context.hub) {
        (0, _) => CheckResult::ok("no process runs without a hub"),
        (some, Some(_)) => CheckResult::ok(format!("runs of this hub: {some}")),
        (some, None) => CheckResult::warn(
            format!("runs that continue without a hub: {some}"),
            "`adjutant serve --background` resumes them",
        )
        .fixed_by([Fix::StartHub]),
    }
}
