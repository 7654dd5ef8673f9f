//! `connect`: stdin and stdout of an agent's client, relayed to the hub.
//!
//! One relay runs per agent session, so it is small: two threads that block, no runtime, and of each message it
//! reads no more than the envelope. It knows which calls are open, and it outlives the hub: when the hub goes
//! away every open call is answered with an error at once, the next call finds a new hub (started if need be),
//! and the handshake is repeated behind the client's back.
//!
//! Backpressure is the kernel's: a side that does not read stops the thread that writes to it, which then reads
//! nothing more from the other side.

mod client;
mod envelope;
mod hub;
mod line;
mod reach;
mod session;
mod shared;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::socket;
use shared::Shared;

/// What the command line asks for.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) home: PathBuf,
    /// Where the hub of this home listens; `None` when that door is switched off.
    pub(crate) socket: Option<PathBuf>,
    /// The project that the client works in, where it has prompts of its own.
    pub(crate) workspace: Option<PathBuf>,
    /// The server's name, as the hub knows it.
    pub(crate) server: String,
    pub(crate) start: Start,
    /// How long the hub may go on answering after the end of input.
    pub(crate) grace: Duration,
}

/// What to do when there is no hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    IfNeeded,
    Never,
}

/// Why there is nothing to relay to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Socket(#[from] socket::Error),
    #[error("the socket is switched off in config.toml, so no hub can be reached")]
    SocketOff,
    #[error("the hub could not be started: {reason}")]
    NotStarted { reason: String },
    #[error("the hub that holds {}/hub.lock does not answer on its socket", home.display())]
    Deaf { home: PathBuf },
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// Says what to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Socket(error) => error.hint(),
            Self::SocketOff => {
                Some("remove `socket = \"off\"` from config.toml, or use `adjutant mcp`".to_owned())
            }
            Self::NotStarted { .. } | Self::Deaf { .. } => {
                Some("`adjutant serve` in a terminal shows what is wrong".to_owned())
            }
            Self::Io(_) => None,
        }
    }
}

/// Relays until the client closes its end. Fails when no hub can be reached at the start.
pub(crate) fn run(options: Options) -> Result<(), Error> {
    let connection = reach::reach(&options, options.start)?;
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let grace = options.grace;
    let shared = Arc::new(Shared::new(output, connection.input.get_ref().try_clone()?));
    let (of_client, of_hub) = (shared.clone(), shared.clone());
    // Both threads end with the process: one of them may wait for a peer that says nothing more.
    std::thread::spawn(move || client::relay(&of_client, input));
    std::thread::spawn(move || hub::relay(&of_hub, &options, connection.input));
    shared.wait(grace);
    Ok(())
}
