//! How the commands that act for a person come to the hub.

use super::output::Failure;
use crate::config::{self, Config};
use crate::socket::person::{self, Person};
use crate::socket::{self, Start};

/// Fails where an agent asks, as the hub that runs says, for what a person does without a hub. Where none runs,
/// there is no agent of it.
pub(super) fn check(config: &Config) -> Result<(), Failure> {
    match Person::reach(&config.home, config.socket.as_deref(), None, Start::Never) {
        Err(person::Error::Hub(refused @ socket::Error::Refused { .. })) => Err(refused.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Connects to the hub of `config`'s home, in the workspace that the command runs in.
pub(super) fn reach(config: &Config, start: Start) -> Result<Person, Failure> {
    let workspace = config::workspace(&config.home);
    Ok(Person::reach(&config.home, config.socket.as_deref(), workspace.as_deref(), start)?)
}
