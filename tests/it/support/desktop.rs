//! A notification service (`org.freedesktop.Notifications`) on a private bus.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use futures::StreamExt;
use zbus::MessageStream;
use zbus::connection::Builder;
use zbus::message::{Header, Type};

use super::DEADLINE;
use super::real_clients::is_excluded;

/// A call of the hub to the service.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Shown { id: u32, replaces: u32, title: String, body: String, actions: Vec<String> },
    Closed { id: u32 },
}

/// The service's reaction to a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Answers,
    /// Accepts every call and answers none.
    Hangs,
    /// Refuses this many notifications, and shows those after them.
    Refuses(usize),
    /// Ends at the first notification.
    Dies,
}

/// A bus with the service on it; both end with this value.
pub(crate) struct Desktop {
    bus: Child,
    address: String,
    calls: Receiver<Call>,
}

impl Desktop {
    /// Starts it in a folder; `None` where `ADJUTANT_TEST_WITHOUT` names `dbus`.
    pub(crate) fn start(folder: &Path, behaviour: Behaviour) -> Option<Self> {
        if is_excluded("dbus") {
            return None;
        }
        let config = folder.join("bus.conf");
        let listen = folder.display();
        std::fs::write(
            &config,
            format!(
                r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir={listen}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>"#
            ),
        )
        .unwrap();
        let bus = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", config.display()))
            .args(["--nofork", "--print-address"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // It reports that it may not raise its limits.
            .stderr(Stdio::null())
            .spawn()
            .expect("dbus-daemon is not installed: apt-get install dbus, or ADJUTANT_TEST_WITHOUT=dbus");
        let (tell, calls) = channel();
        let mut desktop = Self { bus, address: String::new(), calls };
        let mut address = String::new();
        BufReader::new(desktop.bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        address.trim().clone_into(&mut desktop.address);
        let (ready, named) = channel();
        let address = desktop.address.clone();
        std::thread::spawn(move || futures::executor::block_on(serve(&address, behaviour, &tell, &ready)));
        named.recv_timeout(DEADLINE).expect("the service has its name on the bus");
        Some(desktop)
    }

    /// The value of `DBUS_SESSION_BUS_ADDRESS` for a client of the bus.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for the next call.
    pub(crate) fn next_call(&self) -> Call {
        self.calls.recv_timeout(DEADLINE).expect("a call to the notification service")
    }

    /// Returns the calls that were not taken yet.
    pub(crate) fn remaining_calls(&self) -> Vec<Call> {
        self.calls.try_iter().collect()
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        let _ = self.bus.kill();
        let _ = self.bus.wait();
    }
}

async fn serve(address: &str, behaviour: Behaviour, tell: &Sender<Call>, ready: &Sender<()>) {
    let connection = Builder::address(address).build().await.unwrap();
    // From before the name exists, so that no call is missed.
    let mut messages = MessageStream::from(&connection);
    let name = connection.request_name("org.freedesktop.Notifications");
    let named = async {
        name.await.unwrap();
        let _ = ready.send(());
    };
    let serving = async {
        let (mut next, mut refused) = (1, 0);
        while let Some(Ok(message)) = messages.next().await {
            if message.message_type() != Type::MethodCall {
                continue;
            }
            let header: Header<'_> = message.header();
            let member = header.member().map(|member| member.as_str().to_owned()).unwrap_or_default();
            let mut id = next;
            if member == "Notify" {
                type Hints = std::collections::HashMap<String, zbus::OwnedVariant>;
                type Notify = (String, u32, String, String, String, Vec<String>, Hints, i32);
                let body = message.body();
                let (_, replaces, _, title, body, actions, _, _): Notify = body.deserialize().unwrap();
                if replaces == 0 {
                    next += 1;
                } else {
                    id = replaces;
                }
                let _ = tell.send(Call::Shown { id, replaces, title, body, actions });
            } else if member == "CloseNotification" {
                let _ = tell.send(Call::Closed { id: message.body().deserialize().unwrap() });
            }
            match (behaviour, member.as_str()) {
                (Behaviour::Hangs, _) => {}
                (Behaviour::Dies, "Notify") => break,
                (Behaviour::Refuses(notices), "Notify") if refused < notices => {
                    refused += 1;
                    let too_many = "org.freedesktop.Notifications.Error.ExcessNotificationGeneration";
                    connection.reply_error(&header, too_many, &"too many at once").await.unwrap();
                }
                (_, "Notify") => connection.reply(&header, &id).await.unwrap(),
                (_, "GetServerInformation") => {
                    connection.reply(&header, &("fake", "tests", "1", "1.2")).await.unwrap();
                }
                _ => connection.reply(&header, &()).await.unwrap(),
            }
        }
    };
    futures::join!(named, serving);
}
