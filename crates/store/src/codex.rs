//! Threads of Codex with their turns and items; handles of turns that run as tasks.

mod append;
mod orphaned_turns;
mod read;
pub mod turn_handles;

use super::{Millis, row};
pub use append::record;
pub use orphaned_turns::{OrphanedTurn, end_orphaned, heartbeat, without_heartbeat};
pub use read::{Query, diffs, is_folder_shared, items, last_of_kind, thread, threads};

/// A thread that begins, or that a new process resumed.
#[derive(Clone, Debug)]
pub struct NewThread {
    /// The id that Codex gave the thread.
    pub id: String,
    pub backend: String,
    pub version: String,
    pub cwd: String,
    pub model: String,
    pub title: String,
    /// JSON of the domain: the settings that the thread was started with.
    pub settings: String,
    /// The thread of the agent that works in it; empty for a thread of the user.
    pub parent: String,
    pub at: Millis,
}

row! {
    /// One row of `codex_threads`, and the end of its last turn.
    #[derive(serde::Serialize, serde::Deserialize)]
    Thread {
        #[serde(rename = "thread")]
        id: String,
        backend: String,
        version: String,
        cwd: String,
        model: String,
        title: String,
        #[serde(skip)]
        settings: String,
        tokens: i64,
        /// Tokens in the context of the model, and how many fit; 0 if that is unknown.
        context: i64,
        context_window: i64,
        /// 1 while Codex has it among its archived threads.
        archived: i64,
        /// The thread of the agent that works in it; empty for a thread of the user.
        parent: String,
        /// The machine that Codex has the thread on; empty where no other machine has the database.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        machine: String,
        created_at: Millis,
        updated_at: Millis,
        /// `completed`, `interrupted` or `failed`; `None` while the turn runs, or when its end was not seen.
        last_end: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// A change to record. A turn or an item of an unknown thread is left out.
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
        /// The tokens of the whole thread so far.
        tokens: i64,
        /// The tokens in the context of the model, and how many fit; 0 if that is unknown.
        context: (i64, i64),
        diff: String,
        at: Millis,
    },
    Item(NewItem),
    Title {
        thread: String,
        title: String,
    },
    /// Another model, and the settings with which a new process resumes the thread.
    Settings {
        thread: String,
        model: String,
        settings: String,
    },
    Archived {
        thread: String,
        archived: bool,
    },
    /// Deletes a thread with its turns and items.
    Deleted {
        thread: String,
    },
}

/// Every statement of this folder, for the test that prepares them on both engines.
#[cfg(test)]
pub(super) const STATEMENTS: &[&[&str]] =
    &[orphaned_turns::STATEMENTS, turn_handles::STATEMENTS, read::STATEMENTS, append::STATEMENTS];
