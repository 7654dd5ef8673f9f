//! Resources that a client watches one by one, and what each was when it was last looked at.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::{Instant, timeout_at};

use super::PATIENCE;
use crate::config::rooms::Room;
use crate::mcp::{Handler, assistant, skills};

/// Resources that one subscription, or one connection of a handshake revision, may watch.
pub(crate) const MOST: usize = 64;

/// Bytes of an address that is watched.
const LONGEST: usize = 2048;

/// The resources of one subscription or connection, by address.
#[derive(Debug, Default)]
pub(crate) struct Watched(Mutex<BTreeMap<String, Seen>>);

/// What a resource was.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// It could not be looked at, so the client may know another one.
    Unknown,
    Gone,
    /// By its digest.
    There(String),
}

impl Watched {
    /// Watches these from now on. Those that could not be looked at until `end` are told of once they can be.
    pub(super) async fn all(handler: &Handler, addresses: Vec<String>, end: Instant) -> Self {
        let mut seen = BTreeMap::new();
        for uri in addresses {
            let now = timeout_at(end, look(handler, &uri)).await.ok().flatten();
            seen.insert(uri, now.unwrap_or(Seen::Unknown));
        }
        Self(Mutex::new(seen))
    }

    /// Watches one more from now on. `false` when there are [`MOST`] already.
    pub(crate) async fn add(&self, handler: &Handler, uri: &str) -> bool {
        let now = look(handler, uri).await.unwrap_or(Seen::Unknown);
        let mut seen = self.seen();
        let room = seen.contains_key(uri) || seen.len() < MOST;
        if room {
            seen.insert(uri.to_owned(), now);
        }
        room
    }

    /// Watches one no longer; one that was not watched is no fault.
    pub(crate) fn remove(&self, uri: &str) {
        self.seen().remove(uri);
    }

    /// Looks at all of them, and returns those that are something else than last time.
    pub(crate) async fn moved(&self, handler: &Handler) -> Vec<String> {
        let addresses: Vec<String> = self.seen().keys().cloned().collect();
        let (mut moved, end) = (Vec::new(), Instant::now() + PATIENCE);
        for uri in addresses {
            let Ok(Some(now)) = timeout_at(end, look(handler, &uri)).await else { continue };
            let mut seen = self.seen();
            let Some(before) = seen.get_mut(&uri).filter(|before| **before != now) else { continue };
            *before = now;
            moved.push(uri);
        }
        moved
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<String, Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a client of this server can be told of a resource with this address, whether or not there is one now.
pub(crate) fn can_be_watched(handler: &Handler, uri: &str) -> bool {
    let of_room = |room, ours: fn(&str) -> bool| handler.has(room) && ours(uri);
    uri.len() <= LONGEST
        && (of_room(Room::Prompts, skills::is_ours) || of_room(Room::Assistant, assistant::names))
}

/// Looks at a resource; `None` when it cannot be read just now.
async fn look(handler: &Handler, uri: &str) -> Option<Seen> {
    if !can_be_watched(handler, uri) {
        return Some(Seen::Gone);
    }
    let digest = if skills::is_ours(uri) {
        skills::digest(&*handler.catalogue().await, uri)
    } else {
        assistant::digest(handler, uri).await?
    };
    Some(digest.map_or(Seen::Gone, Seen::There))
}
