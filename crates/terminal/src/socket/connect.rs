//! Connects to a Unix socket with a timeout.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

/// How long a place in the queue is waited for. A hub takes whoever comes at once, however much it has to do.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Connects to what listens at `path`. A frozen program takes nobody from its queue, and behind a full queue the kernel
/// would let us wait for ever: the error is `TimedOut` after [`CONNECT_TIMEOUT`]. Writes to the stream have the same limit.
pub fn dial(path: &Path) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // On Linux it holds for the connection as well; elsewhere who finds no place in the queue is refused at once.
    socket.set_write_timeout(Some(CONNECT_TIMEOUT))?;
    match socket.connect(&SockAddr::unix(path)?) {
        Ok(()) => Ok(OwnedFd::from(socket).into()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            let reason = format!("it let nobody in for {} s", CONNECT_TIMEOUT.as_secs());
            Err(io::Error::new(ErrorKind::TimedOut, reason))
        }
        Err(error) => Err(error),
    }
}

/// Tells whether something listens at `path`, though it may be frozen.
pub fn is_listening(path: &Path) -> bool {
    dial(path).map_or_else(|error| error.kind() == ErrorKind::TimedOut, |_| true)
}
