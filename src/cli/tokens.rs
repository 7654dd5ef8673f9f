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
    List,
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
            let token = http::add_agent_token(&home, &name).map_err(|error| failure(&error))?;
            if output::is_json() {
                return output::json(&json!({"id": name, "name": name, "token": token}));
            }
            output::data(&token)?;
            output::note(
                "this is the token, which is not shown again; the agent sends it as `Authorization: Bearer TOKEN` \
                 to /mcp at the address that `adjutant status` shows",
            );
            Ok(())
        }
        Command::List => {
            let tokens = http::agent_tokens(&home)?;
            let created = |token: &http::AgentToken| stamp(instant(token.created_at));
            if output::is_json() {
                let rows =
                    tokens.iter().map(|token| json!({"name": token.name, "created_at": created(token)}));
                return output::json(&output::list(rows.collect(), "name"));
            }
            tokens.iter().try_for_each(|token| output::data(&format!("{}  {}", created(token), token.name)))
        }
        Command::Revoke { name } => {
            http::revoke_agent_token(&home, &name).map_err(|error| failure(&error))?;
            output::changed(format!("revoked `{name}`"), &json!({"id": name, "name": name, "revoked": true}))
        }
    }
}

/// Ends every login.
pub(super) fn log_out(common: Common) -> Result<(), Failure> {
    http::log_out(&common.config(Roots::User)?.home)?;
    let line = "every browser is logged out; `adjutant open` logs in again";
    output::changed(line, &json!({"logged_out": true}))
}

fn failure(error: &http::AgentTokenError) -> Failure {
    let failure = Failure::new(error);
    match error {
        http::AgentTokenError::Name(_) => failure.with_code(2),
        http::AgentTokenError::Taken(_) | http::AgentTokenError::Full => {
            failure.hint("`adjutant tokens revoke NAME` ends one")
        }
        http::AgentTokenError::Unknown(_) => failure.hint("`adjutant tokens list` shows them"),
        http::AgentTokenError::File(_) => failure,
    }
}
