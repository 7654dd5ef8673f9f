//! Threads of Codex, their turns and their items; turns that were handed out as tasks.

mod cut;
pub(crate) mod handles;
mod read;
mod record;

use sqlx::any::AnyRow;
use sqlx::{FromRow, Row as _};

use super::Millis;
pub(crate) use cut::{Cut, alive, cut_off, silent};
pub(crate) use read::{Query, items, thread, threads};
pub(crate) use record::record;

/// A thread that begins, or that a new process took up.
#[derive(Clone, Debug)]
pub(crate) struct NewThread {
    /// Codex's own.
    pub(crate) id: String,
    pub(crate) back: String,
    pub(crate) version: String,
    pub(crate) cwd: String,
    pub(crate) model: String,
    pub(crate) title: String,
    /// JSON of the room's own: what it was started with.
    pub(crate) settings: String,
    pub(crate) at: Millis,
}

/// One row of `codex_threads`, and how its last turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) id: String,
    pub(crate) back: String,
    pub(crate) version: String,
    pub(crate) cwd: String,
    pub(crate) model: String,
    pub(crate) title: String,
    pub(crate) settings: String,
    pub(crate) tokens: i64,
    pub(crate) created_at: Millis,
    pub(crate) updated_at: Millis,
    /// `completed`, `interrupted` or `failed`; nothing while it runs, or where nobody saw its end.
    pub(crate) last_end: Option<String>,
    pub(crate) last_failure: Option<String>,
}

/// An item that has ended.
#[derive(Clone, Debug)]
pub(crate) struct NewItem {
    pub(crate) thread: String,
    pub(crate) id: String,
    pub(crate) turn: String,
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) body: String,
    pub(crate) at: Millis,
}

/// One row of `codex_items`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) seq: i64,
    pub(crate) id: String,
    pub(crate) turn: String,
    pub(crate) kind: String,
    pub(crate) body: String,
    pub(crate) at: Millis,
}

impl FromRow<'_, AnyRow> for Thread {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.try_get("id")?,
            back: row.try_get("back")?,
            version: row.try_get("version")?,
            cwd: row.try_get("cwd")?,
            model: row.try_get("model")?,
            title: row.try_get("title")?,
            settings: row.try_get("settings")?,
            tokens: row.try_get("tokens")?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
            last_end: row.try_get("last_end")?,
            last_failure: row.try_get("last_failure")?,
        })
    }
}

impl FromRow<'_, AnyRow> for Item {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            seq: row.try_get("seq")?,
            id: row.try_get("id")?,
            turn: row.try_get("turn")?,
            kind: row.try_get("kind")?,
            body: row.try_get("body")?,
            at: row.try_get("at")?,
        })
    }
}

/// What is to be kept. What belongs to a thread that is not there is left out.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Thread(NewThread),
    TurnStarted {
        thread: String,
        turn: String,
        at: Millis,
    },
    TurnEnded {
        thread: String,
        turn: String,
        end: String,
        failure: Option<String>,
        /// Of the whole thread so far.
        tokens: i64,
        at: Millis,
    },
    Item(NewItem),
}

/// Every statement of this folder, for the test that has both engines read them.
#[cfg(test)]
pub(super) const STATEMENTS: &[&[&str]] =
    &[cut::STATEMENTS, handles::STATEMENTS, read::STATEMENTS, record::STATEMENTS];
