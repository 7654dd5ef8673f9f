//! The hub that holds the lock of a home.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The entry of the lock file.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Holder {
    pub pid: u32,
    /// The version of its `adjutant`.
    pub adjutant: String,
    pub http: Option<SocketAddr>,
    pub socket: Option<PathBuf>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {}, adjutant {}", self.pid, self.adjutant)?;
        match &self.http {
            Some(address) => write!(f, ", http://{address}"),
            None => Ok(()),
        }
    }
}
