//! `adjutant agents trust`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::super::output::{self, Failure};
use super::super::{Common, hub_client, source_files};
use super::{Folders, find};
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

/// Notes that the person trusts the agent's file as it is now.
pub(super) fn run(args: TrustArgs, common: Common) -> Result<ExitCode, Failure> {
    hub_client::check(&common.clone().config(Roots::User)?)?;
    let (definitions, catalogue) = args.folders.load(common)?;
    let agent = find(&catalogue, &args.name)?;
    let before = definitions.trusted(agent);
    if !before {
        definitions.trust(agent).map_err(Failure::new)?;
    }
    if args.json {
        let (name, digest) = (&agent.name, &agent.digest);
        output::json(
            &json!({ "name": name, "digest": digest, "file": agent.source.file, "was_trusted": before }),
        )?;
    } else if !agent.needs_trust {
        output::note(format!(
            "`{}` is not of a project and needs no trust ({})",
            agent.name,
            source_files::place(&agent.source)
        ));
    } else if before {
        output::note(format!("`{}` is trusted already, as it is now", agent.name));
    } else {
        output::note(format!(
            "`{}` is trusted in its current version; after a change it has to be trusted again",
            agent.name
        ));
    }
    Ok(ExitCode::SUCCESS)
}
