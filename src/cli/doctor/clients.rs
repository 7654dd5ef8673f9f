//! Check of the clients' configurations: the hub's entry, and whether the file can be read.

use std::sync::Arc;

use super::check::CheckResult;
use super::{DoctorContext, blocking};
use crate::cli::install::launch;
use crate::install::{self, Backups, Client, Error, InstallState};
use adjutant_base::config::client_dirs::ClientFolders;

const REMEDY: &str = "`adjutant install --dry-run` shows what would be written, `adjutant install` writes it";

/// Looks at every program that is found here.
pub(super) async fn configured(context: Arc<DoctorContext>) -> CheckResult {
    blocking(move || {
        let home = &context.config.home;
        let (Some(folders), Ok(launch)) = (ClientFolders::from_env(), launch(home)) else {
            return CheckResult::skipped("there is no home folder to look into");
        };
        let backups = Backups::of(home);
        let here = Client::ALL.into_iter().filter(|client| client.is_here(&folders));
        let states = here.map(|client| (client, install::current_state(client, &folders, &backups, &launch)));
        told(&states.collect::<Vec<_>>())
    })
    .await
}

/// Says what is the matter, the gravest alone: what is broken, what cannot start, what is missing.
fn told(states: &[(Client, Result<InstallState, Error>)]) -> CheckResult {
    let list = |said: &dyn Fn(Client, &InstallState) -> Option<String>| {
        let known = states.iter().filter_map(|(client, one)| Some((*client, one.as_ref().ok()?)));
        known.filter_map(|(client, one)| said(client, one)).collect::<Vec<_>>().join(", ")
    };
    let broken: Vec<&Error> = states.iter().filter_map(|(_, one)| one.as_ref().err()).collect();
    if let Some(first) = broken.first() {
        let all: Vec<String> = broken.iter().map(ToString::to_string).collect();
        return CheckResult::fail(all.join("; "), first.hint());
    }
    let astray = list(&|client, one| match one {
        InstallState::Otherwise { program: Some(program) } if program.is_absolute() && !program.exists() => {
            Some(format!("{} starts {}", client.title(), program.display()))
        }
        _ => None,
    });
    if !astray.is_empty() {
        return CheckResult::fail(format!("what they start is not there: {astray}"), REMEDY);
    }
    let foreign = list(&|client, one| match one {
        InstallState::Foreign(shown) => Some(format!("{} ({shown})", client.title())),
        _ => None,
    });
    if !foreign.is_empty() {
        let remedy =
            "rename that server, or `adjutant install --force` puts ours in its place and keeps a copy";
        return CheckResult::warn(format!("another server has the name adjutant: {foreign}"), remedy);
    }
    let otherwise =
        list(&|client, one| matches!(one, InstallState::Otherwise { .. }).then(|| client.title().to_owned()));
    let connected = list(&|client, one| {
        matches!(one, InstallState::Installed | InstallState::Otherwise { .. })
            .then(|| client.title().to_owned())
    });
    let absent = list(&|client, one| (*one == InstallState::Absent).then(|| client.title().to_owned()));
    if connected.is_empty() {
        return match absent.as_str() {
            "" => CheckResult::skipped("no program that could be connected is found here"),
            absent => CheckResult::warn(format!("none is connected; found here: {absent}"), REMEDY),
        };
    }
    let besides = [("in words of their own", otherwise), ("not connected", absent)];
    let besides = besides.iter().filter(|(_, names)| !names.is_empty());
    CheckResult::ok(
        besides.fold(format!("connected: {connected}"), |text, (what, names)| {
            format!("{text}; {what}: {names}")
        }),
    )
}
