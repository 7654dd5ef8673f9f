//! Socket activation: listeners that the service manager opened, and the notice that the hub serves.
//!
//! systemd passes open files and their number in `LISTEN_FDS`; launchd returns them by the name in the property list.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use adjutant_base::config::env;

/// Listeners that came with the start of this process.
#[derive(Debug, Default)]
pub struct InheritedListeners {
    pub socket: Option<UnixListener>,
    pub http: Option<TcpListener>,
}

/// Takes the inherited listeners; a second call returns none. Call it before there is a second thread, because it also
/// removes the variables, so that no child takes them for its own.
#[cfg(not(target_os = "macos"))]
pub fn inherited_listeners() -> InheritedListeners {
    let mut given = listenfd::ListenFd::from_env();
    let mut listeners = InheritedListeners::default();
    for place in 0..given.len() {
        // What is no such socket is left for the next question.
        if let Ok(Some(listener)) = given.take_unix_listener(place) {
            listeners.socket.get_or_insert(listener);
        } else if let Ok(Some(listener)) = given.take_tcp_listener(place) {
            listeners.http.get_or_insert(listener);
        }
    }
    listeners
}

/// The same from launchd, which has the socket under the name `hub`.
#[cfg(target_os = "macos")]
pub fn inherited_listeners() -> InheritedListeners {
    use service_binding::{Binding, Listener};
    let listener = Binding::try_from("fd://hub").ok().and_then(|binding| Listener::try_from(binding).ok());
    let socket = match listener {
        Some(Listener::Unix(listener)) => Some(listener),
        _ => None,
    };
    InheritedListeners { socket, http: None }
}

/// Notifies the service manager that the hub serves.
#[cfg(target_os = "linux")]
pub fn ready() {
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
pub fn ready() {}
