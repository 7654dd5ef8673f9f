//! The address of the hub, and the connection to it.

use std::path::PathBuf;

use crate::socket::Start;
use crate::socket::control::{ControlClient, Error};

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
}
