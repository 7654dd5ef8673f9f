//! `adjutant` without a command: the state of the hub, and the next steps.

use std::process::ExitCode;

use super::install::launch;
use super::output::{self, Failure};
use super::{Common, status};
use crate::install::{self, Backups, Client, InstallState};
use adjutant_base::config::client_dirs::ClientFolders;
use adjutant_base::config::{Config, Roots};
use adjutant_terminal::socket::{Query, Status};

/// How many next steps are shown.
const STEPS: usize = 3;

/// Prints both.
pub(super) fn run(common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let welcome = status::ask(&config, Query::Status).ok();
    let hub = welcome.as_ref().and_then(|welcome| Some((welcome, welcome.status.as_ref()?)));
    output::data(&match hub {
        Some((welcome, hub)) => status::summary(&welcome.adjutant, welcome.pid, hub),
        None => {
            format!("adjutant {}: no hub runs; agents start one when they connect", env!("CARGO_PKG_VERSION"))
        }
    })?;
    if let Some(waiting) = hub.and_then(|(_, hub)| status::waiting(hub)) {
        output::data(&format!("waiting for you: {waiting}"))?;
    }
    output::data("\nNext:")?;
    let steps = steps(&config, hub.map(|(_, hub)| hub));
    let width = steps.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, why) in &steps {
        output::data(&format!("  {command:<width$}  {why}"))?;
    }
    output::data("\n`adjutant --help` shows every command.")?;
    Ok(ExitCode::SUCCESS)
}

/// Returns what to do next, the most urgent first, chosen by what is missing.
fn steps(config: &Config, hub: Option<&Status>) -> Vec<(&'static str, &'static str)> {
    let has_files = |folder: &str| {
        std::fs::read_dir(config.home.join(folder)).is_ok_and(|mut found| found.next().is_some())
    };
    let waits = hub.map(|hub| &hub.waiting);
    let waiting = [
        (waits.is_some_and(|waits| waits.questions > 0), ("adjutant inbox", "answer what your agents ask")),
        (
            waits.is_some_and(|waits| waits.approvals > 0),
            ("adjutant codex approvals", "see what Codex wants to do"),
        ),
        (
            waits.is_some_and(|waits| waits.failed_notifications > 0),
            ("adjutant notifications list --status failed", "see failed notifications"),
        ),
    ];
    let missing = [
        (hub.is_none(), ("adjutant serve --background --open", "start the hub, and look at it")),
        (
            hub.is_none_or(|hub| hub.clients.iter().all(|client| client.check)) && !installed(config),
            ("adjutant install", "put the hub into the agents you use"),
        ),
        (
            !has_files("prompts"),
            ("adjutant prompts new standup", "write a prompt that every agent knows as :standup"),
        ),
        (
            !has_files("agents"),
            ("adjutant agents new reviewer", "describe an agent that others can hand tasks to"),
        ),
    ];
    let always = [
        ("adjutant open", "look at the console"),
        ("adjutant inbox", "answer what your agents ask"),
        ("adjutant doctor", "see that all is well"),
    ];
    let due = waiting.into_iter().chain(missing).filter_map(|(due, step)| due.then_some(step));
    let mut steps: Vec<_> = due.collect();
    steps.extend(always.into_iter().filter(|step| !steps.contains(step)).collect::<Vec<_>>());
    steps.truncate(STEPS);
    steps
}

/// Whether any program of agents has our entry, connected at this moment or not.
fn installed(config: &Config) -> bool {
    let (Some(folders), Ok(launch)) = (ClientFolders::from_env(), launch(&config.home)) else { return false };
    let backups = Backups::of(&config.home);
    Client::ALL.into_iter().any(|client| {
        let state = install::current_state(client, &folders, &backups, &launch);
        matches!(state, Ok(InstallState::Installed | InstallState::Otherwise { .. }))
    })
}
