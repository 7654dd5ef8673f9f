//! The checked configuration: ready values, each from the command line, else `config.toml`, else a default.

pub(crate) mod env;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::prompts::{Limits, Root};

/// Who may use `/mcp` and the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Auth {
    /// A bearer token for `/mcp`, a login cookie for the console.
    Token,
    /// Nobody is asked; for loopback only.
    None,
}

/// The prompts room's share.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromptsConfig {
    /// In order of precedence.
    pub(crate) roots: Vec<Root>,
    pub(crate) limits: Limits,
}

/// The HTTP door's share.
#[derive(Clone, Debug)]
pub(crate) struct HttpConfig {
    /// `None` switches the door off.
    pub(crate) address: Option<SocketAddr>,
    pub(crate) auth: Auth,
    /// Bytes of one request body.
    pub(crate) body_limit: usize,
    /// Sessions at once; one more is refused with 503.
    pub(crate) sessions: usize,
    /// A session without a request in flight or an open stream ends after this.
    pub(crate) session_idle: Duration,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            address: Some(SocketAddr::from(([127, 0, 0, 1], 7437))),
            auth: Auth::Token,
            body_limit: 16 * 1024 * 1024,
            sessions: 1024,
            session_idle: Duration::from_secs(30 * 60),
        }
    }
}

/// Everything that can be set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    /// `$ADJUTANT_HOME`, else `~/.adjutant`.
    pub(crate) home: PathBuf,
    pub(crate) prompts: PromptsConfig,
    pub(crate) http: HttpConfig,
    /// How long requests in flight may go on after end of input or a stop signal.
    pub(crate) grace: Duration,
}
