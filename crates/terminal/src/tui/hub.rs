//! The address of the hub, and the connection to it.

use std::path::PathBuf;

use crate::socket;
use crate::socket::Start;
use crate::socket::control::{ControlClient, Error};
use adjutant_base::config;

/// The address of the hub.
#[derive(Clone, Debug)]
pub struct Hub {
    pub home: PathBuf,
    /// The default path of its socket; `None` if the socket is switched off.
    pub socket: Option<PathBuf>,
    /// Whether the first connection may start a hub. Later ones do not, because the user may have stopped the hub on purpose.
    pub start: Start,
}

impl Hub {
    /// Connects to the control API.
    pub(super) fn connect(&self, start: Start) -> Result<ControlClient, Error> {
        ControlClient::connect(&self.home, self.socket.as_deref(), None, start)
    }

    /// Describes why the hub of an open view does not answer, with the next step. Without an error the hub has stopped.
    pub(super) fn fault(&self, error: Option<&Error>) -> String {
        match error {
            None | Some(Error::Hub(socket::Error::Stopped | socket::Error::NoHub { .. })) => {
                format!("the hub stopped; `{} open` starts it again", config::command_prefix(&self.home))
            }
            Some(error) => describe(error),
        }
    }
}

/// Returns an error as a sentence with its remedies.
pub(super) fn describe(error: &Error) -> String {
    let hints = match error {
        Error::Hub(error) => error.hint().into_iter().collect(),
        Error::Rejected(rejection) => rejection.hints.clone(),
    };
    [vec![error.to_string()], hints].concat().join("; ")
}
