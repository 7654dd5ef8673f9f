//! `adjutant connect [SERVER]`: what an agent's MCP configuration runs.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::Common;
use super::output::Failure;
use crate::config;
use crate::relay::{self, Options};
use crate::socket::Start;

/// Arguments of `adjutant connect`.
#[derive(Debug, Args)]
pub(super) struct ConnectArgs {
    /// The server to connect to
    #[arg(value_name = "SERVER", default_value = "all", value_parser = PossibleValuesParser::new(["all", "agents", "assistant", "codex", "popup", "prompts"]))]
    pub(super) server: String,
    /// Fail instead of starting a hub when none runs
    #[arg(long)]
    pub(super) no_start: bool,
}

/// Relays until the client closes stdin.
pub(super) fn run(args: ConnectArgs, common: Common) -> Result<ExitCode, Failure> {
    let speak = common.start_log_late()?;
    let home = config::home(common.home)?;
    let start = if args.no_start { Start::Never } else { Start::IfNeeded };
    relay::run(Options { workspace: config::workspace(&home), home, server: args.server, start, speak })?;
    Ok(ExitCode::SUCCESS)
}
