//! What the manager of services hands over: a socket on which it has listened, and where it wants to hear that the
//! hub serves.
//!
//! systemd passes open files and says how many in `LISTEN_FDS`; launchd is asked for them by the name that its
//! property list gives.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use crate::config::env;

/// Listeners that came with the start of this process.
#[derive(Debug, Default)]
pub(crate) struct Handed {
    pub(crate) socket: Option<UnixListener>,
    pub(crate) http: Option<TcpListener>,
}

/// Takes what was handed over; a second call gets nothing. To be called before there is a second thread, because it
/// also takes the variables away, so that no child thinks they were its own.
#[cfg(not(target_os = "macos"))]
pub(crate) fn handed() -> Handed {
    let mut given = listenfd::ListenFd::from_env();
    let mut handed = Handed::default();
    for place in 0..given.len() {
        // What is no such socket is left for the next question.
        if let Ok(Some(listener)) = given.take_unix_listener(place) {
            handed.socket.get_or_insert(listener);
        } else if let Ok(Some(listener)) = given.take_tcp_listener(place) {
            handed.http.get_or_insert(listener);
        }
    }
    handed
}

/// The same from launchd, which has the socket under the name `hub`.
#[cfg(target_os = "macos")]
pub(crate) fn handed() -> Handed {
    use service_binding::{Binding, Listener};
    let listener = Binding::try_from("fd://hub").ok().and_then(|binding| Listener::try_from(binding).ok());
    let socket = match listener {
        Some(Listener::Unix(listener)) => Some(listener),
        _ => None,
    };
    Handed { socket, http: None }
}

/// Tells a manager that waits for it that all doors are open.
#[cfg(target_os = "linux")]
pub(crate) fn ready() {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    let Some(place) = env::notify_socket() else { return };
    let address = match place.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&place),
    };
    let told = address.and_then(|address| UnixDatagram::unbound()?.send_to_addr(b"READY=1\n", &address));
    if let Err(error) = told {
        tracing::warn!(%error, "cannot tell the service manager that the hub serves");
    }
}

/// No other manager waits.
#[cfg(not(target_os = "linux"))]
pub(crate) fn ready() {}
