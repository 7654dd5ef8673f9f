//! The errors of the socket.

use std::path::PathBuf;

use super::holder::Holder;

/// The reason why there is no socket, or no answer from a hub.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot use the folder {}: {reason}", folder.display())]
    Folder { folder: PathBuf, reason: String },
    #[error("a hub already runs for this home: {holder}")]
    Taken { holder: Holder },
    #[error("another hub is starting for this home")]
    Starting,
    #[error("{} is in the way: {reason}", path.display())]
    InTheWay { path: PathBuf, reason: &'static str },
    #[error("cannot listen on {}: {reason}", path.display())]
    Listen { path: PathBuf, reason: String },
    #[error("no hub answers on {}: {reason}", path.display())]
    NoHub { path: PathBuf, reason: String },
    /// The hub or this program is too old for the other.
    #[error(
        "the hub (pid {pid}, adjutant {version}) and this adjutant ({}) have incompatible versions",
        env!("CARGO_PKG_VERSION")
    )]
    Skew { pid: u32, version: String, hub_is_older: bool },
    /// With the version of the hub, if it differs.
    #[error("the hub rejected the request: {reason}")]
    Rejected { reason: String, other_version: Option<String> },
    #[error("the socket is switched off in config.toml, so no hub can be reached")]
    SocketOff,
    #[error("the hub could not be started: {reason}")]
    NotStarted { reason: String },
    #[error("the hub that holds {}/hub.lock does not answer on its socket", home.display())]
    Unresponsive { home: PathBuf },
    /// The hub ended, or closed the connection, before it answered.
    #[error("the hub stopped before it answered")]
    Stopped,
    /// The answer is invalid.
    #[error("the hub's answer cannot be read: {reason}")]
    InvalidAnswer { reason: String },
}

impl Error {
    /// Returns the remedy.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Folder { .. } => "choose another folder with --home or ADJUTANT_HOME".to_owned(),
            Self::Taken { .. } => {
                "use it (`adjutant open`), stop it with `adjutant stop`, or choose another --home".to_owned()
            }
            Self::Starting => "try again in a second".to_owned(),
            Self::InTheWay { .. } => "remove it, or choose another place with --socket".to_owned(),
            Self::Listen { .. } => "choose another place with --socket, or --socket off".to_owned(),
            Self::NoHub { .. } => "start one with `adjutant serve`".to_owned(),
            // For `kill`, 0 is its whole process group.
            Self::Skew { pid: 0, hub_is_older: true, .. } => {
                "restart the hub, which is older: stop it, then run `adjutant serve --background`".to_owned()
            }
            Self::Skew { pid, hub_is_older: true, .. } => {
                format!("restart the hub, which is older: `kill {pid}`, then `adjutant serve --background`")
            }
            Self::Skew { hub_is_older: false, .. } => {
                "restart the agent, whose adjutant is older, and check which adjutant it runs".to_owned()
            }
            Self::SocketOff => "remove `socket = \"off\"` from config.toml, or use `adjutant mcp`".to_owned(),
            Self::NotStarted { .. } | Self::Unresponsive { .. } => {
                "`adjutant serve` in a terminal shows what is wrong".to_owned()
            }
            Self::InvalidAnswer { .. } => "restart the hub: it may be of another version".to_owned(),
            Self::Stopped => "`adjutant status` shows whether it runs; accepted work continues".to_owned(),
            Self::Rejected { other_version: Some(version), .. } => {
                let own = env!("CARGO_PKG_VERSION");
                format!("the hub is adjutant {version} and this is {own}: restart the older one")
            }
            Self::Rejected { other_version: None, .. } => return None,
        })
    }
}
