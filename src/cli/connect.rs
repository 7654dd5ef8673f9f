//! `adjutant connect [TOOLSET]`: the command that an agent's MCP configuration runs.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::Common;
use super::output::Failure;
use adjutant_base::config;
use adjutant_mcp::AgentSession;
use adjutant_terminal::relay::remote::{HubAddress, Hubs, TokenPlace};
use adjutant_terminal::relay::{self, Options};
use adjutant_terminal::socket::{self, Start};

/// The names that are accepted, the contract's `popup` for `questions` included.
pub(super) const TOOLSETS: [&str; 7] =
    ["all", "agents", "assistant", "codex", "questions", "prompts", "popup"];

/// Arguments of `adjutant connect`.
#[derive(Debug, Default, Args)]
pub(super) struct ConnectArgs {
    /// The toolset to serve
    #[arg(value_name = "TOOLSET", default_value = "all", value_parser = PossibleValuesParser::new(toolsets()))]
    pub(super) toolset: String,
    /// Fail instead of starting a hub when none runs
    #[arg(long)]
    pub(super) no_start: bool,
    /// Only try the connection, as `adjutant doctor` does
    #[arg(long, hide = true)]
    pub(super) check: bool,
    /// Use the hub at this address instead of the one of this machine; may be repeated: when a hub is lost, the next one is used
    #[arg(long = "hub", value_name = "URL", conflicts_with_all = ["no_start", "check"])]
    pub(super) hubs: Vec<HubAddress>,
    /// File with the token that `adjutant tokens add` makes on the hub; one for all hubs, or repeated for each in their order
    #[arg(long = "token-file", value_name = "FILE", requires = "hubs")]
    pub(super) token_files: Vec<PathBuf>,
    /// Name of the environment variable with the token; one for all hubs, or repeated for each in their order
    #[arg(long = "token-env", value_name = "NAME", requires = "hubs", conflicts_with = "token_files")]
    pub(super) token_variables: Vec<String>,
    /// PEM file with the certificates that are trusted, instead of those of the system
    #[arg(long, value_name = "FILE", requires = "hubs")]
    pub(super) ca: Option<PathBuf>,
}

fn toolsets() -> impl Iterator<Item = PossibleValue> {
    TOOLSETS.into_iter().map(|name| PossibleValue::new(name).hide(name == "popup"))
}

/// Relays until the client closes stdin.
pub(super) fn run(args: ConnectArgs, common: Common) -> Result<(), Failure> {
    let init_logging = common.start_log_late()?;
    let own = config::home(common.home)?;
    let home = socket::serving_home(&own);
    let files = args.token_files.into_iter().map(TokenPlace::File);
    let tokens = files.chain(args.token_variables.into_iter().map(TokenPlace::Variable)).collect();
    let hubs = if args.hubs.is_empty() {
        None
    } else {
        let hubs = Hubs::new(args.hubs, tokens, args.ca).map_err(relay::Error::from)?;
        Some(Arc::new(hubs))
    };
    // The hub of a worker's run is on another machine.
    let start = if args.no_start || home != own { Start::Never } else { Start::IfNeeded };
    Ok(relay::run(Options {
        workspace: config::workspace(&home),
        home,
        hubs,
        server: args.toolset,
        start,
        session: AgentSession::of_this_process(),
        check: args.check,
        init_logging,
    })?)
}
