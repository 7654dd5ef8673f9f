//! `adjutant agents trust`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::super::output::{self, Failure};
use super::super::{Common, person, sources};
use super::{Folders, find};
use crate::config::Roots;

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
    person::check(&common.clone().config(Roots::User)?)?;
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
            sources::place(&agent.source)
        ));
    } else if before {
        output::note(format!("`{}` is trusted already, as it is now", agent.name));
    } else {
        output::note(format!("`{}` is trusted as it is now; a change in its file asks again", agent.name));
    }
    Ok(ExitCode::SUCCESS)
}
