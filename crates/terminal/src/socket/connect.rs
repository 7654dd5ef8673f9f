//! Connects to a Unix socket with a timeout.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

/// Timeout for a place in the listener's queue. A hub accepts at once, even under load.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Connects to the listener at `path`. A frozen program accepts nothing, and the kernel would wait for ever for a place in
/// its full queue: the error is `TimedOut` after [`CONNECT_TIMEOUT`]. Writes to the stream have the same timeout.
pub fn dial(path: &Path) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // On Linux it also limits the connection; other systems reject it at once if the queue is full.
    socket.set_write_timeout(Some(CONNECT_TIMEOUT))?;
    match socket.connect(&SockAddr::unix(path)?) {
        Ok(()) => Ok(OwnedFd::from(socket).into()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            let reason = format!("it accepted no connection for {} s", CONNECT_TIMEOUT.as_secs());
            Err(io::Error::new(ErrorKind::TimedOut, reason))
        }
        Err(error) => Err(error),
    }
}

/// Returns whether a program, maybe a frozen one, listens at `path`.
pub fn is_listening(path: &Path) -> bool {
    dial(path).map_or_else(|error| error.kind() == ErrorKind::TimedOut, |_| true)
}
