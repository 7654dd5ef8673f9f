//! Check of the NATS server and the workers of the hub.

use std::sync::Arc;
use std::time::SystemTime;

use super::DoctorContext;
use super::check_result::CheckResult;
use adjutant_agents::worker_registry::{ListedWorker, WorkerState};
use adjutant_app::health;
use adjutant_base::text::escape_invisible::escape_line;
use adjutant_base::text::timefmt::{instant, span};
use adjutant_workers::{Login, server_version, version_warning};

/// Connects to the NATS server, and lists the workers with their versions.
pub(super) async fn all(context: Arc<DoctorContext>) -> CheckResult {
    let config = &context.config;
    let Some(url) = &config.workers.nats else {
        return CheckResult::skipped("no NATS server is configured, so no worker can connect");
    };
    let login = match Login::of_hub(&config.workers, &config.home) {
        Ok(login) => login,
        Err(reason) => {
            return CheckResult::fail(reason, "make the file readable, or restore it from a backup");
        }
    };
    let open = matches!(login, Login::Open);
    let has_own_credentials = matches!(login, Login::File(_));
    let server = match server_version(url, login).await {
        Ok(version) => version,
        Err(reason) if reason.contains("authorization violation") => {
            let remedy = if has_own_credentials {
                "name credentials that the server accepts with `creds` in [workers], or remove `creds`"
            } else {
                "copy workers-account.json from the hub that made nats.conf into the home of this one, or start the server \
                 with what `adjutant worker nats-config` prints here"
            };
            return CheckResult::fail(format!("{url} does not know this hub's account: {reason}"), remedy);
        }
        Err(reason) => {
            return CheckResult::fail(
                format!("{url} cannot be reached: {reason}"),
                "start the NATS server, or correct `nats` in [workers]; tasks stay on this machine meanwhile",
            );
        }
    };
    let workers = health::workers(config.delegation.database.as_ref().unwrap_or(&config.database))
        .await
        .unwrap_or_default();
    let listed: Vec<&ListedWorker> =
        workers.iter().filter(|worker| worker.state != WorkerState::Revoked).collect();
    let detail = format!(
        "NATS server {server}; workers: {}",
        if listed.is_empty() {
            "none yet".to_owned()
        } else {
            listed.iter().map(|worker| describe(worker)).collect::<Vec<_>>().join("; ")
        }
    );
    if listed.iter().any(|worker| worker.is_other_version) {
        return CheckResult::warn(
            detail,
            "install the same version of adjutant on the hub and on its workers",
        );
    }
    if let Some(warning) = version_warning(&server) {
        return CheckResult::warn(detail, warning);
    }
    if open {
        let remedy = "everybody who reaches the NATS server can act as a worker; `adjutant worker nats-config` prints a \
                      configuration that prevents it";
        return CheckResult::warn(detail, remedy);
    }
    CheckResult::ok(detail)
}

fn describe(worker: &ListedWorker) -> String {
    let age = SystemTime::now().duration_since(instant(worker.seen_at)).unwrap_or_default();
    format!(
        "{} ({}, {} of {} tasks, {}, seen {} ago)",
        escape_line(&worker.name),
        worker.state.name(),
        worker.tasks.len(),
        worker.max_tasks,
        escape_line(&worker.version),
        span(age)
    )
}
