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
    let mut inherited = listenfd::ListenFd::from_env();
    let mut listeners = InheritedListeners::default();
    for index in 0..inherited.len() {
        // A listener of another kind stays for the next call.
        if let Ok(Some(listener)) = inherited.take_unix_listener(index) {
            listeners.socket.get_or_insert(listener);
        } else if let Ok(Some(listener)) = inherited.take_tcp_listener(index) {
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

    let Some(path) = env::notify_socket() else { return };
    let address = match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&path),
    };
    let sent = address.and_then(|address| UnixDatagram::unbound()?.send_to_addr(b"READY=1\n", &address));
    if let Err(error) = sent {
        tracing::warn!(%error, "cannot notify the service manager that the hub serves");
    }
}

/// Does nothing: the managers of other systems expect no notification.
#[cfg(not(target_os = "linux"))]
pub fn ready() {}
