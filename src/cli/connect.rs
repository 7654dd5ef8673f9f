//! `adjutant connect [TOOLSET]`: the command that an agent's MCP configuration runs.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::Common;
use super::output::Failure;
use adjutant_base::config;
use adjutant_mcp::AgentSession;
use adjutant_terminal::relay::{self, Options};
use adjutant_terminal::socket::Start;

/// The names that are accepted, the contract's `popup` for `questions` included.
pub(super) const TOOLSETS: [&str; 7] =
    ["all", "agents", "assistant", "codex", "questions", "prompts", "popup"];

/// Arguments of `adjutant connect`.
#[derive(Debug, Args)]
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
}

fn toolsets() -> impl Iterator<Item = PossibleValue> {
    TOOLSETS.into_iter().map(|name| PossibleValue::new(name).hide(name == "popup"))
}

/// Relays until the client closes stdin.
pub(super) fn run(args: ConnectArgs, common: Common) -> Result<(), Failure> {
    let init_logging = common.start_log_late()?;
    let home = config::home(common.home)?;
    let start = if args.no_start { Start::Never } else { Start::IfNeeded };
    Ok(relay::run(Options {
        workspace: config::workspace(&home),
        home,
        server: args.toolset,
        start,
        session: AgentSession::of_this_process(),
        check: args.check,
        init_logging,
    })?)
}
