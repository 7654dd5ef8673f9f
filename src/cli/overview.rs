//! `adjutant` without a command: the state of the hub, and the next steps.

use serde_json::json;

use super::install::launch;
use super::output::{self, Failure};
use super::{Common, status};
use crate::install::{self, Backups, Client, InstallState};
use adjutant_app::pending_counts::PendingCounts;
use adjutant_base::config::client_dirs::ClientFolders;
use adjutant_base::config::{Config, Roots};
use adjutant_terminal::socket::{Query, Status};

/// Maximum next steps.
const MAX_STEPS: usize = 3;

/// Prints the state and the steps.
pub(super) fn run(common: Common) -> Result<(), Failure> {
    let config = common.config(Roots::User)?;
    let reply = status::query_hub(&config, Query::Status).ok();
    let hub = reply.as_ref().and_then(|reply| Some((reply, reply.status.as_ref()?)));
    let steps = steps(&config, hub.map(|(_, hub)| hub));
    if output::is_json() {
        let steps = steps.iter().map(|(command, why)| json!({"command": command, "why": why}));
        let hub = hub
            .map(|(reply, status)| json!({"pid": reply.pid, "adjutant": reply.adjutant, "status": status}));
        let version = env!("CARGO_PKG_VERSION");
        return output::json(&json!({"adjutant": version, "hub": hub, "steps": steps.collect::<Vec<_>>()}));
    }
    output::data(&match hub {
        Some((reply, status)) => status::summary(&reply.adjutant, reply.pid, status),
        None => {
            format!("adjutant {}: no hub runs; agents start one when they connect", env!("CARGO_PKG_VERSION"))
        }
    })?;
    if let Some(pending) = hub.and_then(|(_, status)| status::pending(status)) {
        output::data(&format!("waiting for you: {pending}"))?;
    }
    output::data("\nNext:")?;
    let width = steps.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, why) in &steps {
        output::data(&format!("  {command:<width$}  {why}"))?;
    }
    output::data("\n`adjutant --help` shows every command.")
}

/// Returns the next steps, the most urgent first.
fn steps(config: &Config, hub: Option<&Status>) -> Vec<(&'static str, &'static str)> {
    let has_files = |folder: &str| {
        std::fs::read_dir(config.home.join(folder)).is_ok_and(|mut found| found.next().is_some())
    };
    let (questions, approvals, failed) = hub.map_or((0, 0, 0), |hub| {
        let PendingCounts { questions, approvals, failed_notifications } = hub.waiting;
        (questions, approvals, failed_notifications)
    });
    let pending = [
        (questions > 0, ("adjutant inbox", "answer your agents' questions")),
        (approvals > 0, ("adjutant codex approvals", "see the requests of Codex")),
        (failed > 0, ("adjutant notifications list --status failed", "see failed notifications")),
    ];
    let is_unused = hub.is_none_or(|hub| hub.clients.iter().all(|client| client.check));
    let missing = [
        (hub.is_none(), ("adjutant serve --background --open", "start the hub and open its console")),
        (is_unused && !installed(config), ("adjutant install", "add the hub to your coding agents")),
        (
            !has_files("prompts"),
            ("adjutant prompts new standup", "write a prompt that every agent can use as :standup"),
        ),
        (
            !has_files("agents"),
            ("adjutant agents new reviewer", "define an agent that others can delegate tasks to"),
        ),
    ];
    let always = [
        ("adjutant open", "open the console"),
        ("adjutant inbox", "answer your agents' questions"),
        ("adjutant doctor", "check the installation"),
    ];
    let due = pending.into_iter().chain(missing).filter_map(|(due, step)| due.then_some(step));
    let mut steps: Vec<_> = due.collect();
    steps.extend(always.into_iter().filter(|step| !steps.contains(step)).collect::<Vec<_>>());
    steps.truncate(MAX_STEPS);
    steps
}

/// Returns whether any client has the hub's entry, connected or not.
fn installed(config: &Config) -> bool {
    let (Some(folders), Ok(launch)) = (ClientFolders::from_env(), launch(&config.home)) else { return false };
    let backups = Backups::of(&config.home);
    Client::ALL.iter().any(|client| {
        let state = install::current_state(*client, &folders, &backups, &launch);
        matches!(state, Ok(InstallState::Installed | InstallState::Otherwise { .. }))
    })
}
