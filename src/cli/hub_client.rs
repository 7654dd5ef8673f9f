//! Connects commands to the hub's control API.

use super::output::Failure;
use adjutant_base::config::{self, Config};
use adjutant_terminal::socket::control;
use adjutant_terminal::socket::control::ControlClient;
use adjutant_terminal::socket::{self, Start};

/// Fails where an agent asks, as the hub that runs says, for what a person does without a hub. Where none runs,
/// there is no agent of it.
pub(super) fn check(config: &Config) -> Result<(), Failure> {
    match ControlClient::connect(&config.home, config.socket.as_deref(), None, Start::Never) {
        Err(control::Error::Hub(refused @ socket::Error::Refused { .. })) => Err(refused.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Connects to the hub of `config`'s home, in the workspace that the command runs in.
pub(super) fn connect(config: &Config, start: Start) -> Result<ControlClient, Failure> {
    let workspace = config::workspace(&config.home);
    Ok(ControlClient::connect(&config.home, config.socket.as_deref(), workspace.as_deref(), start)?)
}
