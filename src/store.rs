//! The store: the only module that speaks SQL. SQLite by default, PostgreSQL where several hubs share one.
//!
//! One SQL text serves both: TEXT and BIGINT columns only, booleans are 0 and 1, instants are epoch milliseconds.
//! What a verb acknowledges is on disk first. The store names no room: rooms map its rows to their own values.

pub(crate) mod tasks;

use std::path::PathBuf;
use std::sync::Arc;

/// An instant: milliseconds since 1970 in UTC. The caller reads the clock; the store has none.
pub(crate) type Millis = i64;

/// Where the rows are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Database {
    /// An SQLite file, made with mode 0600 when it is not there, its folder with 0700.
    File(PathBuf),
    /// In this process alone, and gone with it: for servers that run without a hub.
    Memory,
    /// `postgres://USER@HOST/NAME`.
    Postgres(String),
}

/// A handle to one database, cheap to clone. It is opened by the first verb, or by [`Store::open`].
#[derive(Clone, Debug)]
pub(crate) struct Store(Arc<Database>);

/// Why a verb did nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A task with this id is there already.
    #[error("task `{id}` is in the store already")]
    Exists { id: String },
    /// So many tasks wait already that one more is refused.
    #[error("{waiting} tasks are waiting already, which is the limit{}", if *.own { " for one caller" } else { "" })]
    QueueFull { waiting: u32, own: bool },
}

impl Store {
    /// Returns a handle; touches nothing yet.
    pub(crate) fn new(database: Database) -> Self {
        Self(Arc::new(database))
    }

    /// Connects and brings the tables up to date, so that a wrong place is known at the start.
    pub(crate) async fn open(&self) -> Result<(), Error> {
        todo!()
    }
}
