//! Threads of Codex, their turns and their items; turns that were handed out as tasks.

mod append;
mod orphaned_turns;
mod read;
pub mod turn_handles;

use super::{Millis, row};
pub use append::record;
pub use orphaned_turns::{OrphanedTurn, end_orphaned, heartbeat, without_heartbeat};
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

row! {
    /// One row of `codex_threads`, and how its last turn ended.
    Thread {
        id: String,
        backend: String,
        version: String,
        cwd: String,
        model: String,
        title: String,
        settings: String,
        tokens: i64,
        created_at: Millis,
        updated_at: Millis,
        /// `completed`, `interrupted` or `failed`; nothing while it runs, or where nobody saw its end.
        last_end: Option<String>,
        last_failure: Option<String>,
    }
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

row! {
    /// One row of `codex_items`.
    Item {
        seq: i64,
        id: String,
        turn: String,
        kind: String,
        body: String,
        at: Millis,
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
