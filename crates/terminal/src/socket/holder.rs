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
    /// The origin under which people reach it; `None` without HTTP, or of an older version.
    #[serde(default)]
    pub console: Option<String>,
    pub socket: Option<PathBuf>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {}, adjutant {}", self.pid, self.adjutant)?;
        match &self.console {
            Some(console) => write!(f, ", {console}"),
            None => Ok(()),
        }
    }
}
