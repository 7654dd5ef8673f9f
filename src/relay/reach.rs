//! How a relay comes to a hub: the one that runs, or a new one.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use super::{Error, Options, Start};
use crate::process;
use crate::socket::{self, Connection, Hello};

/// How long a hub that holds the home may take to answer: it may be starting, or finishing its last calls.
const PATIENCE: Duration = Duration::from_secs(8);

/// Connects to the hub; starts one when there is none and `start` allows it.
pub(super) fn reach(options: &Options, start: Start) -> Result<Connection, Error> {
    match (connect(options), start) {
        (Err(Error::Socket(socket::Error::NoHub { .. })), Start::IfNeeded) => {}
        (reached, _) => return reached,
    }
    socket::private_folder(&options.home)?;
    // Several relays may come here at once: one starts the hub, the others find it.
    let turn = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(options.home.join("start.lock"))?;
    turn.lock()?;
    let end = Instant::now() + PATIENCE;
    loop {
        match connect(options) {
            Err(Error::Socket(socket::Error::NoHub { .. })) => {}
            reached => return reached,
        }
        if socket::vacant(&options.home) {
            break;
        }
        if Instant::now() > end {
            return Err(Error::Deaf { home: options.home.clone() });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let arguments = ["serve", "--background", "--any-port", "--home"].map(OsString::from);
    let arguments: Vec<_> = arguments.into_iter().chain([options.home.clone().into()]).collect();
    let started = process::run_own(&arguments)?;
    if !started.status.success() {
        let told = String::from_utf8_lossy(&started.stderr);
        let reason = told.trim().strip_prefix("error: ").unwrap_or(told.trim()).to_owned();
        return Err(Error::NotStarted { reason });
    }
    connect(options)
}

/// Connects to the hub where it usually listens, else where the home's lock says.
fn connect(options: &Options) -> Result<Connection, Error> {
    let hello = Hello::relay(&options.server, options.workspace.as_deref());
    let usual = options.socket.as_deref().ok_or(Error::SocketOff)?;
    let connection = match socket::connect(usual, &hello) {
        Err(error @ socket::Error::NoHub { .. }) => {
            let other = socket::holder(&options.home).and_then(|holder| holder.socket);
            match other.filter(|path| path != usual) {
                Some(other) => socket::connect(&other, &hello)?,
                None => return Err(error.into()),
            }
        }
        reached => reached?,
    };
    let hub = &connection.welcome;
    if hub.adjutant != env!("CARGO_PKG_VERSION") {
        tracing::warn!(
            hub.version = %hub.adjutant,
            hub.pid = hub.pid,
            own.version = env!("CARGO_PKG_VERSION"),
            "the hub has another version; restart it when it suits you"
        );
    }
    Ok(connection)
}
