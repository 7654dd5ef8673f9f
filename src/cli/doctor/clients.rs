//! The programs of agents: which of them have our entry in their configuration, and whether it can be read.

use std::sync::Arc;

use super::check::Found;
use super::{Patient, blocking};
use crate::cli::install::launch;
use crate::config::clients::ClientFolders;
use crate::install::{self, Backups, Client, Error, Standing};

const REMEDY: &str = "`adjutant install --dry-run` shows what would be written, `adjutant install` writes it";

/// Looks at every program that is found here.
pub(super) async fn configured(patient: Arc<Patient>) -> Found {
    blocking(move || {
        let home = &patient.config.home;
        let (Some(folders), Ok(launch)) = (ClientFolders::from_env(), launch(home)) else {
            return Found::skipped("there is no home folder to look into");
        };
        let backups = Backups::of(home);
        let here = Client::ALL.into_iter().filter(|client| client.is_here(&folders));
        let standings = here.map(|client| (client, install::standing(client, &folders, &backups, &launch)));
        told(&standings.collect::<Vec<_>>())
    })
    .await
}

/// Says what is the matter, the gravest alone: what is broken, what cannot start, what is missing.
fn told(standings: &[(Client, Result<Standing, Error>)]) -> Found {
    let list = |said: &dyn Fn(Client, &Standing) -> Option<String>| {
        let known = standings.iter().filter_map(|(client, one)| Some((*client, one.as_ref().ok()?)));
        known.filter_map(|(client, one)| said(client, one)).collect::<Vec<_>>().join(", ")
    };
    let broken: Vec<&Error> = standings.iter().filter_map(|(_, one)| one.as_ref().err()).collect();
    if let Some(first) = broken.first() {
        let all: Vec<String> = broken.iter().map(ToString::to_string).collect();
        return Found::fail(all.join("; "), first.hint());
    }
    let astray = list(&|client, one| match one {
        Standing::Otherwise { program: Some(program) } if program.is_absolute() && !program.exists() => {
            Some(format!("{} starts {}", client.title(), program.display()))
        }
        _ => None,
    });
    if !astray.is_empty() {
        return Found::fail(format!("what they start is not there: {astray}"), REMEDY);
    }
    let foreign = list(&|client, one| match one {
        Standing::Foreign(shown) => Some(format!("{} ({shown})", client.title())),
        _ => None,
    });
    if !foreign.is_empty() {
        let remedy =
            "rename that server, or `adjutant install --force` puts ours in its place and keeps a copy";
        return Found::warn(format!("another server has the name adjutant: {foreign}"), remedy);
    }
    let otherwise =
        list(&|client, one| matches!(one, Standing::Otherwise { .. }).then(|| client.title().to_owned()));
    let connected = list(&|client, one| {
        matches!(one, Standing::Installed | Standing::Otherwise { .. }).then(|| client.title().to_owned())
    });
    let absent = list(&|client, one| (*one == Standing::Absent).then(|| client.title().to_owned()));
    if connected.is_empty() {
        return match absent.as_str() {
            "" => Found::skipped("no program that could be connected is found here"),
            absent => Found::warn(format!("none is connected; found here: {absent}"), REMEDY),
        };
    }
    let besides = [("in words of their own", otherwise), ("not connected", absent)];
    let besides = besides.iter().filter(|(_, names)| !names.is_empty());
    Found::ok(
        besides.fold(format!("connected: {connected}"), |text, (what, names)| {
            format!("{text}; {what}: {names}")
        }),
    )
}
