//! How the commands that act for a person come to the hub.

use super::output::Failure;
use crate::config::{self, Config};
use crate::socket::Start;
use crate::socket::person::Person;

/// Connects to the hub of `config`'s home, in the workspace that the command runs in.
pub(super) fn reach(config: &Config, start: Start) -> Result<Person, Failure> {
    let workspace = config::workspace(&config.home);
    Ok(Person::reach(&config.home, config.socket.as_deref(), workspace.as_deref(), start)?)
}
