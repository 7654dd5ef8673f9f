//! The hub's Unix socket: how `connect` and the command line reach the one hub of a home.
//!
//! A home has at most one hub: it holds the lock on `hub.lock`, which also says who it is. The socket belongs to
//! one user: it lies in a folder of mode 0700, has mode 0600, and the hub asks the kernel for the peer's uid.
//! The first line of a connection is a [`Hello`]; what follows is the MCP stream, one answer, or what a person does.

mod activation;
mod dial;
mod hello;
mod listen;
mod lock;
pub(crate) mod person;
mod reach;
mod relays;
mod serve;

use std::path::PathBuf;

pub(crate) use activation::{Handed, handed, ready};
pub(crate) use dial::{dial, is_listening};
pub(crate) use hello::{
    Ask, ConfigStatus, Connection, Hello, Hooked, HookedCommand, Status, WaitingStatus, Welcome,
};
pub(crate) use listen::{listen, place, private_folder};
pub(crate) use lock::{Claim, Holder, holder, vacant};
pub(crate) use reach::{Start, ask, find, reach, tell};
pub(crate) use serve::{Links, serve};

/// Why there is no socket, or no hub behind it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
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
    /// The hub or we are too old for the other.
    #[error(
        "the hub (pid {pid}, adjutant {version}) and this adjutant ({}) do not understand each other",
        env!("CARGO_PKG_VERSION")
    )]
    Skew { pid: u32, version: String, hub_is_older: bool },
    /// It says which version it is, where that is not ours.
    #[error("the hub refused: {reason}")]
    Refused { reason: String, other_version: Option<String> },
    #[error("the socket is switched off in config.toml, so no hub can be reached")]
    SocketOff,
    #[error("the hub could not be started: {reason}")]
    NotStarted { reason: String },
    #[error("the hub that holds {}/hub.lock does not answer on its socket", home.display())]
    Deaf { home: PathBuf },
    /// The hub ended, or hung up, before it had answered.
    #[error("the hub went away before it answered")]
    Gone,
    /// It answered, and the answer is none that we know.
    #[error("the hub's answer cannot be read: {reason}")]
    Garbled { reason: String },
}

impl Error {
    /// Says what to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Folder { .. } => "choose another folder with --home or ADJUTANT_HOME".to_owned(),
            Self::Taken { holder } => {
                format!(
                    "use it as it is (`adjutant open`), stop it with `kill {}`, or choose another --home",
                    holder.pid
                )
            }
            Self::Starting => "try again in a second".to_owned(),
            Self::InTheWay { .. } => "remove it, or choose another place with --socket".to_owned(),
            Self::Listen { .. } => "choose another place with --socket, or --socket off".to_owned(),
            Self::NoHub { .. } => "start one with `adjutant serve`".to_owned(),
            // To `kill`, 0 is everything around it.
            Self::Skew { pid: 0, hub_is_older: true, .. } => {
                "restart the hub, it is the older one: stop it where it runs, then `adjutant serve --background`"
                    .to_owned()
            }
            Self::Skew { pid, hub_is_older: true, .. } => {
                format!(
                    "restart the hub, it is the older one: `kill {pid}`, then `adjutant serve --background`"
                )
            }
            Self::Skew { hub_is_older: false, .. } => {
                "restart this side, it is the older one: restart the agent, and check which adjutant it runs"
                    .to_owned()
            }
            Self::SocketOff => "remove `socket = \"off\"` from config.toml, or use `adjutant mcp`".to_owned(),
            Self::NotStarted { .. } | Self::Deaf { .. } => {
                "`adjutant serve` in a terminal shows what is wrong".to_owned()
            }
            Self::Garbled { .. } => "restart the hub: it may be of another version".to_owned(),
            Self::Gone => {
                "`adjutant status` says whether it runs; what it had accepted it goes on with".to_owned()
            }
            Self::Refused { other_version: Some(version), .. } => {
                let own = env!("CARGO_PKG_VERSION");
                format!("the hub is adjutant {version} and this is {own}: restart the older one")
            }
            Self::Refused { other_version: None, .. } => return None,
        })
    }
}
