//! `adjutant tokens`, `adjutant logout`: the tokens of agents over HTTP, and the end of every login.

use clap::Subcommand;
use serde_json::json;

use super::Common;
use super::output::{self, Failure};
use adjutant_base::config::Roots;
use adjutant_base::text::timefmt::{instant, stamp};
use adjutant_http as http;

/// Commands of `adjutant tokens`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a token for an agent, and print it; it is not shown again
    Add {
        /// A name of your choice, such as the agent's and the machine's
        name: String,
    },
    /// List the tokens of agents by their names
    List {
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token, also while the hub runs
    Revoke {
        /// The name of the token
        name: String,
    },
}

/// Runs one command.
pub(super) fn run(command: Command, common: Common) -> Result<(), Failure> {
    let home = common.config(Roots::User)?.home;
    match command {
        Command::Add { name } => {
            output::data(&http::add_agent_token(&home, &name).map_err(|error| failure(&error))?)?;
        }
        Command::List { json: as_json } => {
            let tokens = http::agent_tokens(&home)?;
            let created = |token: &http::AgentToken| stamp(instant(token.created_at));
            if as_json {
                let rows =
                    tokens.iter().map(|token| json!({"name": token.name, "created_at": created(token)}));
                output::json(&rows.collect::<Vec<_>>())?;
            } else {
                for token in &tokens {
                    output::data(&format!("{}  {}", created(token), token.name))?;
                }
            }
        }
        Command::Revoke { name } => {
            http::revoke_agent_token(&home, &name).map_err(|error| failure(&error))?;
        }
    }
    Ok(())
}

/// Ends every login.
pub(super) fn log_out(common: Common) -> Result<(), Failure> {
    http::log_out(&common.config(Roots::User)?.home)?;
    output::note("every browser is logged out; `adjutant open` logs in again");
    Ok(())
}

fn failure(error: &http::AgentTokenError) -> Failure {
    let failure = Failure::new(error);
    match error {
        http::AgentTokenError::Name(_) => failure.into_usage(),
        http::AgentTokenError::Taken(_) | http::AgentTokenError::Full => {
            failure.hint("`adjutant tokens revoke NAME` ends one")
        }
        http::AgentTokenError::Unknown(_) => failure.hint("`adjutant tokens list` shows them"),
        http::AgentTokenError::File(_) => failure,
    }
}
