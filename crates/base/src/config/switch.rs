//! Settings that `off` switches off.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::error::Error;

/// A setting that can be switched off.
#[derive(Clone, Debug)]
pub enum Switch<T> {
    Off,
    On(T),
}

impl<T> Switch<T> {
    /// Returns the value; `None` if it is off.
    pub(super) fn into_option(self) -> Option<T> {
        match self {
            Self::Off => None,
            Self::On(value) => Some(value),
        }
    }
}

impl Switch<SocketAddr> {
    /// Reads `off`, `ADDRESS:PORT`, or `localhost:PORT`.
    pub fn address(text: &str) -> Result<Self, Error> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        let address: SocketAddr = numeric
            .as_deref()
            .unwrap_or(text)
            .parse()
            .map_err(|_| Error::Address { text: text.to_owned() })?;
        Ok(Self::On(address))
    }
}

impl Switch<PathBuf> {
    /// Reads `off`, or a path.
    pub fn path(text: &str) -> Self {
        if text == "off" { Self::Off } else { Self::On(PathBuf::from(text)) }
    }
}
