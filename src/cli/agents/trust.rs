//! `adjutant agents trust`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{Folders, find};
use crate::cli::output::{self, Failure};
use crate::cli::{Common, hub_client, source_files};
use adjutant_base::config::Roots;

/// Arguments of `adjutant agents trust`.
#[derive(Debug, Args)]
pub(super) struct TrustArgs {
    /// The agent's name
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    folders: Folders,
}

/// Records that the user trusts the agent's file in its current version.
pub(super) fn run(args: &TrustArgs, common: Common) -> Result<ExitCode, Failure> {
    hub_client::check(&common.clone().config(Roots::User)?)?;
    let (registry, catalogue) = args.folders.load(common)?;
    let agent = find(&catalogue, &args.name)?;
    let before = registry.trusted(agent);
    if !before {
        registry.trust(agent).map_err(Failure::new)?;
    }
    if args.json {
        let (name, digest) = (&agent.name, &agent.digest);
        output::json(
            &json!({ "name": name, "digest": digest, "file": agent.source.file, "was_trusted": before }),
        )?;
    } else if !agent.needs_trust {
        output::note(format!(
            "`{}` comes from outside the project and needs no trust ({})",
            agent.name,
            source_files::label(&agent.source)
        ));
    } else if before {
        output::note(format!("`{}` is trusted already in its current version", agent.name));
    } else {
        output::note(format!(
            "`{}` is trusted in its current version; trust it again after a change",
            agent.name
        ));
    }
    Ok(ExitCode::SUCCESS)
}
