//! Connections of a client to the hub of a home, which is started if needed.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::bind::{place, private_folder};
use super::connect::dial;
use super::error::Error;
use super::handshake::{Connection, Hello, HelloReply, Query, connect};
use super::lock::{holder, vacant};
use adjutant_host::process;

/// Time for a hub that holds the home to answer: it may be starting, or finishing its last calls.
const START_TIMEOUT: Duration = Duration::from_secs(8);

/// Whether a missing hub is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    IfNeeded,
    Never,
}

/// Connects to the running hub of `home` at its default socket, otherwise at the one that the lock names, and sends
/// `hello`.
pub(crate) fn connect_running(
    home: &Path,
    default_socket: &Path,
    hello: &Hello,
) -> Result<Connection, Error> {
    match connect(default_socket, hello) {
        Err(error @ Error::NoHub { .. }) => {
            let other = holder(home).and_then(|holder| holder.socket);
            match other.filter(|path| path != default_socket) {
                Some(other) => connect(&other, hello),
                None => Err(error),
            }
        }
        result => result,
    }
}

/// Connects to the hub of `home` and sends `hello`. Starts a hub if none runs and `start` allows it. `default_socket` is the
/// configured path; `None` if the socket is switched off.
pub fn connect_or_start(
    home: &Path,
    default_socket: Option<&Path>,
    hello: &Hello,
    start: Start,
) -> Result<Connection, Error> {
    let default_socket = default_socket.ok_or(Error::SocketOff)?;
    match (connect_running(home, default_socket, hello), start) {
        (Err(Error::NoHub { .. }), Start::IfNeeded) => {}
        (result, _) => return result,
    }
    private_folder(home)?;
    let failed = |error: io::Error| Error::Folder { folder: home.to_owned(), reason: error.to_string() };
    // Several clients may come here at once: one starts the hub, the others find it.
    let start_lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(home.join("start.lock"))
        .map_err(failed)?;
    start_lock.lock().map_err(failed)?;
    let end = Instant::now() + START_TIMEOUT;
    loop {
        match connect_running(home, default_socket, hello) {
            Err(Error::NoHub { .. }) => {}
            result => return result,
        }
        if Instant::now() > end {
            return Err(Error::Unresponsive { home: home.to_owned() });
        }
        if vacant(home) {
            match start_hub(home) {
                Ok(()) => return connect_running(home, default_socket, hello),
                Err(error) if vacant(home) => return Err(error),
                // Another client has started a hub, which will listen soon.
                Err(_) => {}
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a hub in the background; it listens when this returns.
fn start_hub(home: &Path) -> Result<(), Error> {
    let arguments = ["serve", "--background", "--any-port", "--home"].map(OsString::from);
    let arguments: Vec<_> = arguments.into_iter().chain([home.to_owned().into()]).collect();
    let started =
        process::run_self(&arguments).map_err(|error| Error::NotStarted { reason: error.to_string() })?;
    if started.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&started.stderr);
    let reason = stderr.trim().strip_prefix("error: ").unwrap_or(stderr.trim()).to_owned();
    Err(Error::NotStarted { reason })
}

/// Sends a query to the hub of `home`; `default_socket` is the configured path.
pub fn query(home: &Path, default_socket: &Path, query: Query) -> Result<HelloReply, Error> {
    Ok(connect_running(home, default_socket, &Hello::query(query))?.reply)
}

/// Sends `hello` to the hub of `home`, without waiting for an answer. Fails if nothing listens.
pub fn notify(home: &Path, default_socket: &Path, hello: &Hello) -> io::Result<()> {
    let mut line = serde_json::to_vec(hello)?;
    line.push(b'\n');
    let mut stream = match (dial(&place(default_socket)), holder(home).and_then(|holder| holder.socket)) {
        (Ok(stream), _) => stream,
        (Err(_), Some(other)) => dial(&place(&other))?,
        (Err(error), None) => return Err(error),
    };
    stream.write_all(&line)
}
