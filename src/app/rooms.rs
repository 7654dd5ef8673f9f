//! The switches of rooms, live: `config.toml` is looked at while the hub runs, and connected clients are told.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::App;
use crate::config::rooms::{self, Room, RoomsConfig};
use crate::events::Event;

/// How often the file's time is looked at. A watch of the folder would wake for every write of the database beside it.
const LOOK: Duration = Duration::from_secs(1);

/// What is switched on now.
#[derive(Debug)]
pub(crate) struct Rooms(watch::Sender<RoomsConfig>);

impl Rooms {
    pub(super) fn new(config: RoomsConfig) -> Self {
        Self(watch::Sender::new(config))
    }

    /// Whether the server of all rooms has `room` for a client that calls itself `client`.
    pub(crate) fn has(&self, room: Room, client: &str) -> bool {
        self.0.borrow().has(room, client)
    }

    /// Returns the switches as they stand.
    pub(crate) fn now(&self) -> RoomsConfig {
        self.0.borrow().clone()
    }

    /// Returns a receiver that wakes when any switch was moved.
    pub(crate) fn changes(&self) -> watch::Receiver<RoomsConfig> {
        self.0.subscribe()
    }
}

impl App {
    /// Takes up what `[rooms]` and `[clients]` say anew, until shutdown. A file that cannot be read changes nothing.
    pub(crate) async fn watch_rooms(self: Arc<Self>) {
        let home = self.config.home.as_path();
        let mut known = rooms::version(home);
        while self.shutdown.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
            let now = rooms::version(home);
            if now == known {
                continue;
            }
            known = now;
            match rooms::again(home) {
                Ok(fresh) => {
                    let moved = self.rooms.0.send_if_modified(|held| {
                        let differs = *held != fresh;
                        *held = fresh;
                        differs
                    });
                    if moved {
                        let off =
                            self.rooms.0.borrow().off.iter().map(|room| room.name()).collect::<Vec<_>>();
                        tracing::info!(off = off.join(" "), "rooms were switched");
                        self.events.send(Event::RoomsChanged);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "config.toml was changed and cannot be read; rooms stay as they are");
                }
            }
        }
    }
}
