//! Handles of turns, for callers that poll for the result. They are stored, so that a caller can ask for the status after a
//! restart of the hub.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use super::event::End;
use super::thread::TurnOutcome;
use adjutant_base::mutex::lock;
use adjutant_store::codex::turn_handles as rows;

/// The prefix of the ids.
pub const PREFIX: &str = "codex-turn-";

/// How often a hub confirms its open turns, if several hubs share a store.
pub(super) const HEARTBEAT: Duration = Duration::from_mins(1);
/// A turn without a heartbeat for this long is orphaned.
pub(super) const HEARTBEAT_TIMEOUT: Duration = Duration::from_mins(3);

const WITHDRAWN: &str = "withdrawn";
const LOST: &str = "lost";

/// A turn that has started or waits. Instants are milliseconds since 1970.
#[derive(Clone, Debug)]
pub struct TurnHandle {
    pub id: String,
    /// Only this owner can read the handle.
    pub(super) owner: String,
    pub thread: String,
    /// Identifies the prompt; `None` if another process has the turn.
    pub(super) ticket: Option<u64>,
    pub created_at: i64,
    pub updated_at: i64,
    pub status: TurnStatus,
}

/// The status of a turn.
#[derive(Clone, Debug)]
pub enum TurnStatus {
    Open,
    Ended(TurnOutcome),
    /// It was withdrawn before it started.
    Withdrawn,
    /// Its hub or its session ended before the turn did.
    Lost,
}

impl TurnHandle {
    /// Returns the row of the handle.
    pub(super) fn to_row(&self) -> rows::Handle {
        let (ended, last) = match &self.status {
            TurnStatus::Open => (None, None),
            TurnStatus::Ended(last) => (Some(last.end.name()), Some(last)),
            TurnStatus::Withdrawn => (Some(WITHDRAWN), None),
            TurnStatus::Lost => (Some(LOST), None),
        };
        rows::Handle {
            id: self.id.clone(),
            owner: self.owner.clone(),
            thread: self.thread.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            ended: ended.map(ToOwned::to_owned),
            answer: last.map(|last| last.said.clone()),
            failure: last.and_then(|last| last.failure.clone()),
        }
    }

    /// Reads the row of a turn that this process does not have, at the instant `now`. An open turn is lost with its
    /// process; where hubs share the store (`shared`), another hub may still confirm it.
    pub(super) fn from_row(row: rows::Handle, shared: bool, now: i64) -> Self {
        let ended = |end| {
            TurnStatus::Ended(TurnOutcome {
                end,
                said: row.answer.clone().unwrap_or_default(),
                failure: row.failure.clone(),
            })
        };
        let silent = i64::try_from(HEARTBEAT_TIMEOUT.as_millis()).unwrap_or(i64::MAX);
        let status = match row.ended.as_deref() {
            None if shared && now - row.updated_at < silent => TurnStatus::Open,
            Some(WITHDRAWN) => TurnStatus::Withdrawn,
            // An unknown word, of a newer version, counts as lost.
            ending => ending.and_then(End::from_name).map_or(TurnStatus::Lost, ended),
        };
        let rows::Handle { id, owner, thread, created_at, updated_at, .. } = row;
        Self { id, owner, thread, ticket: None, created_at, updated_at, status }
    }
}

/// The turns of this process, by id.
#[derive(Debug, Default)]
pub(super) struct TurnHandles(Mutex<HashMap<String, TurnHandle>>);

impl TurnHandles {
    /// Adds a handle, or replaces the one with its id.
    pub(super) fn add(&self, handle: TurnHandle) {
        lock(&self.0).insert(handle.id.clone(), handle);
    }

    /// Returns a handle with its end. The map keeps the old one until the end is stored.
    pub(super) fn ended(&self, id: &str, status: TurnStatus, at: i64) -> Option<TurnHandle> {
        let handle = lock(&self.0).get(id)?.clone();
        Some(TurnHandle { status, updated_at: at, ..handle })
    }

    /// Forgets a handle after its end is stored.
    pub(super) fn forget(&self, id: &str) {
        lock(&self.0).remove(id);
    }

    /// Returns the ids of all turns without a stored end.
    pub(super) fn names(&self) -> Vec<String> {
        lock(&self.0).keys().cloned().collect()
    }

    pub(super) fn find(&self, owner: &str, id: &str) -> Option<TurnHandle> {
        lock(&self.0).get(id).filter(|handle| handle.owner == owner).cloned()
    }
}
