//! `adjutant agents trust`.

use clap::Args;
use serde_json::json;

use super::{Folders, find};
use crate::cli::output::{self, Failure};
use crate::cli::{Common, hub_client, source_files};
use adjutant_agents::definition::Agent;
use adjutant_base::config::Roots;

/// Arguments of `adjutant agents trust`.
#[derive(Debug, Args)]
pub(in crate::cli) struct TrustArgs {
    /// The agent's name
    name: String,
    #[command(flatten)]
    folders: Folders,
}

/// Records that the user trusts the agent's file in its current version.
pub(super) fn run(args: &TrustArgs, common: Common) -> Result<(), Failure> {
    hub_client::check(&common.clone().config(Roots::User)?)?;
    let (registry, catalogue) = args.folders.load(common)?;
    let agent = find(&catalogue, &args.name)?;
    let before = registry.trusted(agent);
    if !before {
        registry.trust(agent).map_err(Failure::new)?;
    }
    let Agent { name, digest, source, needs_trust, .. } = &**agent;
    let line = if !needs_trust {
        let label = source_files::label(source);
        format!("`{name}` comes from outside the project and needs no trust ({label})")
    } else if before {
        format!("`{name}` is trusted already in its current version")
    } else {
        format!("`{name}` is trusted in its current version; trust it again after a change")
    };
    let trusted =
        json!({"id": name, "name": name, "digest": digest, "file": source.file, "was_trusted": before});
    output::changed(line, &trusted)
}
