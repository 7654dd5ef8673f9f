//! Turns that their caller asks about later, by a name of their own, instead of waiting for their end. They are in the
//! store: after a restart of the hub, who asks is told what became of them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::happened::End;
use super::thread::Last;
use crate::store::codex::handles as rows;

/// What the names begin with.
pub(crate) const PREFIX: &str = "codex-turn-";

/// How often a hub says of an open turn that it has it, where several hubs share a store.
pub(super) const BEAT: Duration = Duration::from_mins(1);
/// A turn that no hub spoke of for so long has none any more.
pub(super) const SILENCE: Duration = Duration::from_mins(3);

const WITHDRAWN: &str = "withdrawn";
const LOST: &str = "lost";

/// A turn, begun or waiting. Instants are milliseconds since 1970.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    pub(crate) id: String,
    /// Whose it is; nobody else is told of it.
    pub(super) owner: String,
    pub(crate) thread: String,
    /// Takes its prompt back; nothing where another process has it.
    pub(super) ticket: Option<u64>,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) became: Became,
}

/// What became of the turn.
#[derive(Clone, Debug)]
pub(crate) enum Became {
    Open,
    Ended(Last),
    /// It was taken back before it began.
    Withdrawn,
    /// The hub that had it went away, or its session did, before anybody saw an end.
    Lost,
}

impl Handle {
    /// The turn as a row.
    pub(super) fn to_row(&self) -> rows::Handle {
        let (ended, last) = match &self.became {
            Became::Open => (None, None),
            Became::Ended(last) => (Some(last.end.as_str()), Some(last)),
            Became::Withdrawn => (Some(WITHDRAWN), None),
            Became::Lost => (Some(LOST), None),
        };
        rows::Handle {
            id: self.id.clone(),
            owner: self.owner.clone(),
            thread: self.thread.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            ended: ended.map(ToOwned::to_owned),
            said: last.map(|last| last.said.clone()),
            failure: last.and_then(|last| last.failure.clone()),
        }
    }

    /// A row of a turn that this process does not have, at the instant `now`. One that is open is lost with the
    /// process that had it; where hubs share the store (`shared`), another one may have it and say so.
    pub(super) fn from_row(row: rows::Handle, shared: bool, now: i64) -> Self {
        let ended = |end| {
            Became::Ended(Last {
                end,
                said: row.said.clone().unwrap_or_default(),
                failure: row.failure.clone(),
            })
        };
        let silent = i64::try_from(SILENCE.as_millis()).unwrap_or(i64::MAX);
        let became = match row.ended.as_deref() {
            None if shared && now - row.updated_at < silent => Became::Open,
            Some("completed") => ended(End::Completed),
            Some("interrupted") => ended(End::Interrupted),
            Some("failed") => ended(End::Failed),
            Some(WITHDRAWN) => Became::Withdrawn,
            // A word of a newer version says no more than that.
            None | Some(_) => Became::Lost,
        };
        let rows::Handle { id, owner, thread, created_at, updated_at, .. } = row;
        Self { id, owner, thread, ticket: None, created_at, updated_at, became }
    }
}

/// The turns that this process has, by name.
#[derive(Debug, Default)]
pub(super) struct Handles(Mutex<HashMap<String, Handle>>);

impl Handles {
    /// Adds a turn, or puts it in the place of the one with its name.
    pub(super) fn add(&self, handle: Handle) {
        self.all().insert(handle.id.clone(), handle);
    }

    /// Returns a turn as it is with its end, of which nobody is told before it is in the store.
    pub(super) fn ended(&self, id: &str, became: Became, at: i64) -> Option<Handle> {
        let handle = self.all().get(id)?.clone();
        Some(Handle { became, updated_at: at, ..handle })
    }

    /// Forgets a turn whose end is in the store.
    pub(super) fn forget(&self, id: &str) {
        self.all().remove(id);
    }

    /// Returns the names of all that have no end yet, or whose end is not in the store.
    pub(super) fn names(&self) -> Vec<String> {
        self.all().keys().cloned().collect()
    }

    pub(super) fn find(&self, owner: &str, id: &str) -> Option<Handle> {
        self.all().get(id).filter(|handle| handle.owner == owner).cloned()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Handle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
