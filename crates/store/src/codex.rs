//! Threads of Codex, their turns and their items; turns that were handed out as tasks.

mod append;
mod orphaned_turns;
mod read;
pub mod turn_handles;

use sqlx::any::AnyRow;
use sqlx::{FromRow, Row as _};

use super::Millis;
pub use append::record;
pub use orphaned_turns::{Cut, alive, cut_off, silent};
pub use read::{Query, items, thread, threads};

/// A thread that begins, or that a new process took up.
#[derive(Clone, Debug)]
pub struct NewThread {
    /// Codex's own.
    pub id: String,
    pub backend: String,
    pub version: String,
    pub cwd: String,
    pub model: String,
    pub title: String,
    /// JSON of the room's own: what it was started with.
    pub settings: String,
    pub at: Millis,
}

/// One row of `codex_threads`, and how its last turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub id: String,
    pub backend: String,
    pub version: String,
    pub cwd: String,
    pub model: String,
    pub title: String,
    pub settings: String,
    pub tokens: i64,
    pub created_at: Millis,
    pub updated_at: Millis,
    /// `completed`, `interrupted` or `failed`; nothing while it runs, or where nobody saw its end.
    pub last_end: Option<String>,
    pub last_failure: Option<String>,
}

/// An item that has ended.
#[derive(Clone, Debug)]
pub struct NewItem {
    pub thread: String,
    pub id: String,
    pub turn: String,
    pub kind: String,
    pub text: String,
    pub body: String,
    pub at: Millis,
}

/// One row of `codex_items`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub seq: i64,
    pub id: String,
    pub turn: String,
    pub kind: String,
    pub body: String,
    pub at: Millis,
}

impl FromRow<'_, AnyRow> for Thread {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.try_get("id")?,
            backend: row.try_get("backend")?,
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
pub enum Change {
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
    &[orphaned_turns::STATEMENTS, turn_handles::STATEMENTS, read::STATEMENTS, append::STATEMENTS];
