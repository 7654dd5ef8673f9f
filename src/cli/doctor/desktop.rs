//! Checks of the display and of the desktop's notification service.

use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::DoctorContext;
use super::check_result::CheckResult;
use adjutant_app::health;
use adjutant_base::config::env::{self, Screen};
use adjutant_terminal::socket::dial;

/// Timeout for connecting to the display of another machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Checks that there is a display, and that its server answers.
pub(super) fn display() -> CheckResult {
    let screens = env::screens();
    if screens.is_empty() {
        return CheckResult::skipped(
            "there is no display; answer questions in the console or with `adjutant inbox`",
        );
    }
    let mut silent = Vec::new();
    for screen in &screens {
        let (name, reached) = match screen {
            Screen::Mac => ("the desktop".to_owned(), Ok(())),
            Screen::Wayland(socket) => (socket.display().to_string(), dial(socket).map(drop)),
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
}

/// Address of an X server.
#[derive(Debug, PartialEq, Eq)]
enum XAddress {
    Socket(PathBuf),
    Host { name: String, port: u16 },
}

/// Parses `[HOST]:NUMBER[.SCREEN]` (X(7), “DISPLAY NAMES”).
fn x_address(display: &str) -> Option<XAddress> {
    let (host, number) = display.rsplit_once(':')?;
    let number = number.split_once('.').map_or(number, |(number, _)| number);
    let number: u16 = number.parse().ok()?;
    Some(match host {
        "" | "unix" => XAddress::Socket(format!("/tmp/.X11-unix/X{number}").into()),
        // The server of macOS has the path of its socket as its name, with the number.
        host if host.starts_with('/') => XAddress::Socket(format!("{host}:{number}").into()),
        host => XAddress::Host { name: host.to_owned(), port: 6000_u16.checked_add(number)? },
    })
}

fn x_server(display: &str) -> io::Result<()> {
    match x_address(display).ok_or_else(|| io::Error::other("not a valid display name"))? {
        XAddress::Socket(path) => dial(&path).map(drop),
        XAddress::Host { name, port } => {
            let address = (name.as_str(), port).to_socket_addrs()?.next();
            let address = address.ok_or_else(|| io::Error::other("the host has no address"))?;
            TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).map(drop)
        }
    }
}

/// Checks that the notification service of the desktop answers.
pub(super) async fn notifications(context: Arc<DoctorContext>) -> CheckResult {
    if !context.config.channels.desktop {
        return CheckResult::skipped("they are switched off: `desktop` below [notify] in config.toml");
    }
    match health::notification_service().await {
        Ok(name) => CheckResult::ok(format!("{name} shows them")),
        Err(_) if env::screens().is_empty() => CheckResult::skipped("there is no desktop"),
        Err(error) => CheckResult::warn(
            format!("{error}, so the desktop shows no questions"),
            "install a notification service (such as dunst or mako), or set DBUS_SESSION_BUS_ADDRESS",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_is_found_by_its_name() {
        for (name, expected) in [
            (":0", Some(XAddress::Socket("/tmp/.X11-unix/X0".into()))),
            ("unix:12.1", Some(XAddress::Socket("/tmp/.X11-unix/X12".into()))),
            ("localhost:10.0", Some(XAddress::Host { name: "localhost".to_owned(), port: 6010 })),
            ("/private/tmp/org.xquartz:0", Some(XAddress::Socket("/private/tmp/org.xquartz:0".into()))),
            ("", None),
            (":", None),
            ("wayland-0", None),
            ("far:65000", None),
        ] {
            assert_eq!(x_address(name), expected, "{name}");
        }
    }
}
