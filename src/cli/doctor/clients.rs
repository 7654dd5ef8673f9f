//! Check of the clients' configurations: the hub's entry, and whether the file can be read.

use super::DoctorContext;
use super::check_result::CheckResult;
use crate::cli::install::launch;
use crate::install::{self, Backups, Client, Error, InstallState};
use adjutant_base::config::client_dirs::ClientFolders;

const REMEDY: &str = "`adjutant install --dry-run` shows what would be written, `adjutant install` writes it";

/// Checks every client that is found.
pub(super) fn configured(context: &DoctorContext) -> CheckResult {
    let home = &context.config.home;
    let (Some(folders), Ok(launch)) = (ClientFolders::from_env(), launch(home)) else {
        return CheckResult::skipped("there is no home folder");
    };
    let backups = Backups::of(home);
    let found = Client::ALL.iter().copied().filter(|client| client.is_installed(&folders));
    let states = found.map(|client| (client, install::current_state(client, &folders, &backups, &launch)));
    result(&states.collect::<Vec<_>>())
}

/// Returns the gravest problem: an unreadable file, a program that cannot start, a foreign or a missing entry.
fn result(states: &[(Client, Result<InstallState, Error>)]) -> CheckResult {
    let list = |describe: &dyn Fn(Client, &InstallState) -> Option<String>| {
        let known = states.iter().filter_map(|(client, state)| Some((*client, state.as_ref().ok()?)));
        known.filter_map(|(client, state)| describe(client, state)).collect::<Vec<_>>().join(", ")
    };
    let broken: Vec<&Error> = states.iter().filter_map(|(_, state)| state.as_ref().err()).collect();
    if let Some(first) = broken.first() {
        let all: Vec<String> = broken.iter().map(ToString::to_string).collect();
        return CheckResult::fail(all.join("; "), first.hint());
    }
    let missing = list(&|client, state| match state {
        InstallState::Otherwise { program: Some(program) } if program.is_absolute() && !program.exists() => {
            Some(format!("{} starts {}", client.title(), program.display()))
        }
        _ => None,
    });
    if !missing.is_empty() {
        return CheckResult::fail(
            format!("these clients start a program that does not exist: {missing}"),
            REMEDY,
        );
    }
    let foreign = list(&|client, state| match state {
        InstallState::Foreign(entry) => Some(format!("{} ({entry})", client.title())),
        _ => None,
    });
    if !foreign.is_empty() {
        let remedy = "rename that server, or replace it with `adjutant install --force`, which keeps a copy";
        return CheckResult::warn(format!("another server has the name adjutant: {foreign}"), remedy);
    }
    let otherwise = list(&|client, state| {
        matches!(state, InstallState::Otherwise { .. }).then(|| client.title().to_owned())
    });
    let connected = list(&|client, state| {
        matches!(state, InstallState::Installed | InstallState::Otherwise { .. })
            .then(|| client.title().to_owned())
    });
    let absent = list(&|client, state| (*state == InstallState::Absent).then(|| client.title().to_owned()));
    if connected.is_empty() {
        return match absent.as_str() {
            "" => CheckResult::skipped("no supported client is found"),
            absent => CheckResult::warn(format!("none is connected; found: {absent}"), REMEDY),
        };
    }
    let others = [("with a changed entry", otherwise), ("not connected", absent)];
    let others = others.iter().filter(|(_, names)| !names.is_empty());
    CheckResult::ok(
        others.fold(format!("connected: {connected}"), |text, (state, names)| {
            format!("{text}; {state}: {names}")
        }),
    )
}
