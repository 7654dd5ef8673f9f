//! `config.toml` while the hub runs: the switches of rooms count at once, and connected clients are told; of all else
//! that was changed the console and `adjutant doctor` say that it waits for the next start.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::App;
use crate::config::rooms::{Room, RoomsConfig};
use crate::config::{self, Again};
use crate::events::Event;

/// How often the file's time is looked at. A watch of the folder would wake for every write of the database beside it.
const LOOK: Duration = Duration::from_secs(1);

/// What is switched on now, and what is not in force yet.
#[derive(Debug)]
pub(crate) struct Rooms {
    switches: watch::Sender<RoomsConfig>,
    file: Mutex<Changed>,
}

/// How the file differs from what is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// The keys that count from the next start on.
    pub(crate) waiting: Vec<String>,
    /// Why the file cannot be read: a hub would not start with it.
    pub(crate) fault: Option<String>,
}

impl Rooms {
    pub(super) fn new(config: RoomsConfig) -> Self {
        Self { switches: watch::Sender::new(config), file: Mutex::default() }
    }

    /// Returns how `config.toml` differs from what is in force, as it was last looked at.
    pub(crate) fn file(&self) -> Changed {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes up what the file says; tells whether anything is different now.
    fn take(&self, read: Result<Again, config::Error>) -> bool {
        let (moved, changed) = match read {
            Ok(Again { rooms, waiting }) => {
                let moved = self.switches.send_if_modified(|held| {
                    let differs = *held != rooms;
                    *held = rooms;
                    differs
                });
                if moved {
                    let off = self.switches.borrow().off.iter().map(|room| room.name()).collect::<Vec<_>>();
                    tracing::info!(off = off.join(" "), "rooms were switched");
                }
                (moved, Changed { waiting, fault: None })
            }
            Err(error) => {
                tracing::warn!(%error, "config.toml was changed and cannot be read; all stays as it is");
                (false, Changed { fault: Some(error.to_string()), ..self.file() })
            }
        };
        let mut held = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let differs = *held != changed;
        if differs && !changed.waiting.is_empty() {
            tracing::info!(settings = changed.waiting.join(" "), "changed settings wait for a restart");
        }
        *held = changed;
        moved || differs
    }

    /// Whether the server of all rooms has `room` for a client that calls itself `client`.
    pub(crate) fn has(&self, room: Room, client: &str) -> bool {
        self.switches.borrow().has(room, client)
    }

    /// Returns the switches as they stand.
    pub(crate) fn now(&self) -> RoomsConfig {
        self.switches.borrow().clone()
    }

    /// Returns a receiver that wakes when any switch was moved.
    pub(crate) fn changes(&self) -> watch::Receiver<RoomsConfig> {
        self.switches.subscribe()
    }
}

impl App {
    /// Takes up what the file says anew, until shutdown. One that cannot be read changes nothing.
    pub(crate) async fn watch_rooms(self: Arc<Self>) {
        let mut known = config::version(&self.config.home);
        while self.shutdown.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
            let now = config::version(&self.config.home);
            if now == known {
                continue;
            }
            known = now;
            if self.rooms.take(config::again(&self.config)) {
                self.events.send(Event::RoomsChanged);
            }
        }
    }
}
