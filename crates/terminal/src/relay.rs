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
mod lines;
pub mod remote;
mod session;
mod state;

use std::fs::File;
use std::io::{self, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use crate::socket::{self, Hello, Start};
use adjutant_base::config;
use adjutant_mcp::AgentSession;
use state::Shared;

/// The options of the command line.
#[derive(Clone, Debug)]
pub struct Options {
    pub home: PathBuf,
    /// The hubs on other machines that are used instead of the one of this home.
    pub hubs: Option<Arc<remote::Hubs>>,
    /// The project that the client works in, where that has prompts.
    pub workspace: Option<PathBuf>,
    /// The server's name, as the hub knows it.
    pub server: String,
    pub start: Start,
    /// The session of the agent, which is the same for every hub that is connected to.
    pub session: AgentSession,
    /// Whether `adjutant doctor` tries the connection: then the process above it does not count as an agent.
    pub check: bool,
    /// Called before anything is logged: a log that is not needed is not started.
    pub init_logging: fn(),
}

/// The reason why a relay ends with an error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Socket(#[from] socket::Error),
    #[error(transparent)]
    Settings(#[from] config::Error),
    #[error(transparent)]
    Remote(#[from] remote::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the hub ended or timed out before the last call was finished")]
    Unanswered,
}

impl Error {
    /// Returns the remedy.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Socket(error) => error.hint(),
            Self::Settings(error) => Some(error.hint().to_owned()),
            Self::Remote(error) => Some(error.hint().to_owned()),
            Self::Io(_) => None,
            Self::Unanswered => {
                Some("call again: a question asked in the same words is found, not asked twice".to_owned())
            }
        }
    }
}

/// Relays until the client closes its end. Fails when no hub can be reached at the start, or when the last calls had no
/// answer of the hub.
pub fn run(options: Options) -> Result<(), Error> {
    let connection = reach(&options, options.start, options.session.clone())?;
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let home = options.home.clone();
    let shared = Arc::new(Shared::new(output, connection.get_ref().try_clone()?, options.init_logging));
    let (of_client, of_hub) = (shared.clone(), shared.clone());
    // Both threads end with the process: one of them may wait for a peer that says nothing more.
    std::thread::spawn(move || client::relay(&of_client, input));
    std::thread::spawn(move || hub::relay(&of_hub, &options, connection));
    // A file that became wrong in the meantime is no reason to hang up on open calls.
    let answered = shared.wait(|| config::hub(&home).map_or(config::GRACE, |hub| hub.grace));
    if answered { Ok(()) } else { Err(Error::Unanswered) }
}

/// Connects to the hub as this client's relay.
fn reach(options: &Options, start: Start, session: AgentSession) -> Result<BufReader<UnixStream>, Error> {
    if let Some(hubs) = &options.hubs {
        return Ok(BufReader::new(hubs.connect(&options.server)?));
    }
    let hello = if options.check {
        Hello::check(&options.server, session)
    } else {
        Hello::relay(&options.server, options.workspace.as_deref(), session)
    };
    // A hub that runs is found without config.toml, and reading that would be a fifth of what a relay weighs.
    let default_socket = config::default_socket(&options.home);
    let connection = match socket::connect_running(&options.home, &default_socket, &hello) {
        Err(none @ socket::Error::NoHub { .. }) => {
            let place = config::hub(&options.home)?.socket;
            // There is no other place to look, and nothing to start.
            if start == Start::Never && place.as_ref() == Some(&default_socket) {
                return Err(none.into());
            }
            socket::connect_or_start(&options.home, place.as_deref(), &hello, start)?
        }
        found => found?,
    };
    let hub = &connection.reply;
    if hub.adjutant != env!("CARGO_PKG_VERSION") {
        (options.init_logging)();
        tracing::warn!(
            hub.version = %hub.adjutant,
            hub.pid = hub.pid,
            own.version = env!("CARGO_PKG_VERSION"),
            "the hub is of another version, with which this one works; restart the older one"
        );
    }
    Ok(connection.input)
}
