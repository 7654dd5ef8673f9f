//! Checks of the display and of the desktop's notification service.

use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::check::CheckResult;
use super::{DoctorContext, blocking};
use adjutant_app::health;
use adjutant_base::config::env::{self, Screen};
use adjutant_terminal::socket::dial;

/// How long a screen of another machine may take to accept.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Looks whether there is a screen here, and whether anybody draws on it.
pub(super) async fn display() -> CheckResult {
    blocking(|| {
        let screens = env::screens();
        if screens.is_empty() {
            return CheckResult::skipped("there is none; answer questions in the console or with `adjutant inbox`");
        }
        let mut silent = Vec::new();
        for screen in &screens {
            let (name, reached) = match screen {
                Screen::Mac => ("the desktop".to_owned(), Ok(())),
                Screen::Wayland(socket) => {
                    (socket.display().to_string(), dial(socket).map(drop))
                }
                Screen::X(name) => (name.clone(), x_server(name)),
            };
            match reached {
                Ok(()) => return CheckResult::ok(format!("{name}, where this command runs")),
                Err(error) => silent.push(format!("{name} does not answer: {error}")),
            }
        }
        CheckResult::warn(
            silent.join("; "),
            "log in to the desktop, or correct DISPLAY and WAYLAND_DISPLAY; meanwhile questions wait in the console and \
             in `adjutant inbox`",
        )
    })
    .await
}

/// Where an X server listens.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Socket(PathBuf),
    Host { name: String, port: u16 },
}

/// Reads `[HOST]:NUMBER[.SCREEN]` (X(7), “DISPLAY NAMES”).
fn place(display: &str) -> Option<Place> {
    let (host, number) = display.rsplit_once(':')?;
    let number = number.split_once('.').map_or(number, |(number, _)| number);
    let number: u16 = number.parse().ok()?;
    Some(match host {
        "" | "unix" => Place::Socket(format!("/tmp/.X11-unix/X{number}").into()),
        // A Mac's own server is called by its socket, number and all.
        host if host.starts_with('/') => Place::Socket(format!("{host}:{number}").into()),
        host => Place::Host { name: host.to_owned(), port: 6000_u16.checked_add(number)? },
    })
}

fn x_server(display: &str) -> io::Result<()> {
    match place(display).ok_or_else(|| io::Error::other("that is not the name of a display"))? {
        Place::Socket(path) => dial(&path).map(drop),
        Place::Host { name, port } => {
            let address = (name.as_str(), port).to_socket_addrs()?.next();
            let address = address.ok_or_else(|| io::Error::other("its host has no address"))?;
            TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).map(drop)
        }
    }
}

/// Looks whether the desktop's notifications answer.
pub(super) async fn notifications(context: Arc<DoctorContext>) -> CheckResult {
    if !context.config.channels.desktop {
        return CheckResult::skipped("they are switched off: `desktop` below [notify] in config.toml");
    }
    match health::notification_service().await {
        Ok(name) => CheckResult::ok(format!("{name} shows them")),
        Err(_) if env::screens().is_empty() => CheckResult::skipped("there is no desktop here to show them"),
        Err(error) => CheckResult::warn(
            format!("{error}, so no question rings"),
            "install a notification service (such as dunst or mako), or say where DBUS_SESSION_BUS_ADDRESS is",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_is_found_by_its_name() {
        for (name, expected) in [
            (":0", Some(Place::Socket("/tmp/.X11-unix/X0".into()))),
            ("unix:12.1", Some(Place::Socket("/tmp/.X11-unix/X12".into()))),
            ("localhost:10.0", Some(Place::Host { name: "localhost".to_owned(), port: 6010 })),
            ("/private/tmp/org.xquartz:0", Some(Place::Socket("/private/tmp/org.xquartz:0".into()))),
            ("", None),
            (":", None),
            ("wayland-0", None),
            ("far:65000", None),
        ] {
            assert_eq!(place(name), expected, "{name}");
        }
    }
}
