//! Connects commands to the hub's control API.

use super::output::Failure;
use adjutant_base::config::{self, Config};
use adjutant_terminal::socket::control;
use adjutant_terminal::socket::control::ControlClient;
use adjutant_terminal::socket::{self, Start};

/// Fails if an agent runs this process, by the answer of a running hub. It guards commands of the user that work without a
/// hub. Without a hub it has no agents.
pub(super) fn check(config: &Config) -> Result<(), Failure> {
    match ControlClient::connect(&config.home, config.socket.as_deref(), None, Start::Never) {
        Err(control::Error::Hub(error @ socket::Error::Rejected { .. })) => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Connects to the hub of `config`'s home, in the workspace of the current folder.
pub(super) fn connect(config: &Config, start: Start) -> Result<ControlClient, Failure> {
    let workspace = config::workspace(&config.home);
    Ok(ControlClient::connect(&config.home, config.socket.as_deref(), workspace.as_deref(), start)?)
}
