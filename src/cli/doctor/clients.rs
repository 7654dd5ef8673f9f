//! The programs of agents: which of them have our entry in their configuration, and whether it can be read.

use std::sync::Arc;

use super::check::Found;
use super::{Patient, blocking};
use crate::cli::install::launch;
use crate::config::clients::ClientFolders;
use crate::install::{self, Backups, Client, Kind, Launch, Wish};

/// How the configuration of one program stands to us.
enum Standing {
    Connected,
    /// Our name stands there, in other words than those that would be written now.
    Otherwise,
    Not,
    Broken(String),
}

/// Looks at every program that is found here.
pub(super) async fn configured(patient: Arc<Patient>) -> Found {
    blocking(move || {
        let home = &patient.config.home;
        let (Some(folders), Ok(launch)) = (ClientFolders::from_env(), launch(home)) else {
            return Found::skipped("there is no home folder to look into");
        };
        let backups = Backups::of(home);
        let here = Client::ALL.into_iter().filter(|client| client.is_here(&folders));
        let standings: Vec<(Client, Standing)> =
            here.map(|client| (client, standing(client, &folders, &backups, &launch))).collect();
        let those = |wanted: fn(&Standing) -> bool| {
            let names = standings.iter().filter(|(_, one)| wanted(one)).map(|(client, _)| client.title());
            names.collect::<Vec<_>>().join(", ")
        };
        let broken: Vec<&str> = standings
            .iter()
            .filter_map(|(_, one)| if let Standing::Broken(why) = one { Some(why.as_str()) } else { None })
            .collect();
        if !broken.is_empty() {
            let remedy = "correct these files; the programs that read them cannot read them either";
            return Found::fail(broken.join("; "), remedy);
        }
        let connected = those(|one| matches!(one, Standing::Connected | Standing::Otherwise));
        let others = those(|one| matches!(one, Standing::Not));
        let otherwise = those(|one| matches!(one, Standing::Otherwise));
        let remedy = "`adjutant install --dry-run` shows what would be written, `adjutant install` writes it";
        match (connected.as_str(), others.as_str(), otherwise.as_str()) {
            ("", "", _) => Found::skipped("no program that could be connected is found here"),
            ("", others, _) => Found::warn(format!("none is connected; found here: {others}"), remedy),
            (connected, _, "") => Found::ok(format!("connected: {connected}")),
            (connected, _, otherwise) => {
                Found::ok(format!("connected: {connected}; in words of their own: {otherwise}"))
            }
        }
    })
    .await
}

fn standing(client: Client, folders: &ClientFolders, backups: &Backups, launch: &Launch) -> Standing {
    let mut named = false;
    // Whether prompts are expanded by a hook is the person's choice.
    for hook in [true, false] {
        let wish = Wish::Installed { launch, hook, force: false };
        match install::plan(client, folders, backups, wish) {
            Ok(changes) if changes.iter().all(|change| change.kind() == Kind::Unchanged) => {
                return Standing::Connected;
            }
            Ok(changes) => named |= changes.iter().any(|change| change.before().contains("adjutant")),
            Err(install::Error::Foreign { .. }) => return Standing::Otherwise,
            Err(error) => return Standing::Broken(error.to_string()),
        }
    }
    if named { Standing::Otherwise } else { Standing::Not }
}
