//! The store: the only module that speaks SQL. SQLite by default, PostgreSQL where several hubs share one.
//!
//! One SQL text serves both: TEXT and BIGINT columns only, booleans are 0 and 1, instants are epoch milliseconds.
//! A function of this crate that reads or changes rows is called a verb. It acknowledges a change only once it is on
//! disk. The store knows no domain: domains map its rows to their own types.

pub mod assistant;
pub mod calendar_notices;
pub mod codex;
mod connect;
pub mod demo;
mod integrity;
pub mod machines;
mod migrations;
mod pool_connection;
pub mod questions;
pub mod tasks;
pub mod timeline;
pub mod workers;
mod writer;

use std::sync::Arc;

use sqlx::{Any, AnyPool};
use tokio::sync::OnceCell;

use adjutant_base::config::Database;
use adjutant_base::metrics::Histogram;
pub use integrity::{faults, is_empty};
use pool_connection::{MAX_CUTS, acquire, is_cut};
use writer::{Order, Writer};

/// The name of PostgreSQL as the driver of a connection gives it.
const POSTGRES: &str = "PostgreSQL";

/// An instant: milliseconds since 1970 in UTC. The caller reads the clock; the store reads it only to compare it with
/// that of a server.
pub type Millis = i64;

/// A handle to one database, cheap to clone. The first verb opens it.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    database: Database,
    /// The id of this machine where several machines may share the database, else empty.
    machine: String,
    opened: OnceCell<Opened>,
    timings: Timings,
}

/// Durations of the verbs of this process.
#[derive(Debug, Default)]
pub struct Timings {
    /// Changes, from the call to the answer after the commit; failed ones too.
    pub writes: Histogram,
    /// Claims that found a task.
    pub claims: Histogram,
    /// Claimed tasks, from their delegation to the claim.
    pub waits: Histogram,
}

#[derive(Debug)]
struct Opened {
    /// The connections that read. In memory there is one connection for all, or there would be several databases.
    readers: AnyPool,
    writer: Writer,
}

/// The reason why a verb changed nothing. Anybody may read the message; the details for the log are in the source.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A task with this id exists already.
    #[error("task `{id}` is in the store already")]
    Exists { id: String },
    /// The queue is full: the limit of waiting tasks is reached.
    #[error("{waiting} tasks are waiting, which is the limit{}", if *.own { " for one caller" } else { "" })]
    QueueFull { waiting: u32, own: bool },
    /// A row that its own domain cannot read.
    #[error("cannot read the stored {what} `{id}`")]
    Broken { what: &'static str, id: String },
    #[error("cannot create or open the file of the database; check the permissions of its folder")]
    File(#[source] Arc<std::io::Error>),
    #[error("the database cannot be reached; check its address, and that its server runs")]
    Unreachable(#[source] Arc<sqlx::Error>),
    #[error("another program has locked the database; end that program and try again")]
    Held(#[source] Arc<sqlx::Error>),
    #[error("the database is damaged; restore a backup (docs/operations.md)")]
    Damaged(#[source] Arc<sqlx::Error>),
    #[error("the database was written by a newer adjutant; start that one, or choose another database")]
    Newer,
    /// A database of a build before the first release: its tables had other names.
    #[error(
        "the database was made by a build before the first release, whose tables cannot be converted; move its file \
         away and start again, or choose another database"
    )]
    BeforeFirstRelease,
    #[error("the database's tables were not made by this adjutant; choose another database")]
    Foreign(#[source] Arc<sqlx::migrate::MigrateError>),
    #[error("the database rejected the change, and nothing of it was stored")]
    Failed(#[source] Arc<sqlx::Error>),
    /// The server of the database went away during the commit, and did not come back in time to say what it stored.
    #[error(
        "the connection to the database broke while a change was stored; check whether the change was made \
         before you repeat it"
    )]
    Unconfirmed(#[source] Arc<sqlx::Error>),
    #[error(
        "the clock of this machine is {by} {side} that of the database server; set both, for example with `timedatectl \
         set-ntp true`, because hubs with one database compare their times"
    )]
    Clock { by: String, side: &'static str },
    #[error("the store is closed")]
    Closed,
}

impl Error {
    /// Returns the cause in the words of the database server or the operating system, with values in backticks; `None` if
    /// the message says everything. It holds no URL and no password.
    pub fn cause(&self) -> Option<String> {
        let text = match self {
            Self::Unreachable(source)
            | Self::Held(source)
            | Self::Damaged(source)
            | Self::Failed(source)
            | Self::Unconfirmed(source) => match source.as_ref() {
                sqlx::Error::Database(error) => error.message().to_owned(),
                sqlx::Error::Io(error) => error.to_string(),
                sqlx::Error::Tls(error) | sqlx::Error::Configuration(error) => error.to_string(),
                other => other.to_string(),
            },
            Self::File(source) => source.to_string(),
            Self::Foreign(source) => source.to_string(),
            Self::Exists { .. }
            | Self::QueueFull { .. }
            | Self::Broken { .. }
            | Self::Newer
            | Self::BeforeFirstRelease
            | Self::Clock { .. }
            | Self::Closed => return None,
        };
        Some(text.replace('"', "`"))
    }

    /// Returns whether the database did not answer, and may answer later.
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Unconfirmed(_))
    }
}

/// An error of a read, or of a change of which nothing was stored.
impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        if is_cut(&error) { Self::Unreachable(Arc::new(error)) } else { Self::Failed(Arc::new(error)) }
    }
}

impl Store {
    /// Returns a handle; the database is opened later.
    pub fn new(database: Database) -> Self {
        Self::on_machine(database, String::new())
    }

    /// Returns a handle of the hub with the id `machine`, which its home keeps. The rows of tasks and threads in a
    /// database that several machines may share name it.
    pub fn on_machine(database: Database, machine: String) -> Self {
        let machine = if matches!(database, Database::Postgres(_)) { machine } else { String::new() };
        Self(Arc::new(Inner { database, machine, opened: OnceCell::new(), timings: Timings::default() }))
    }

    /// Connects and brings the tables up to date, so that a wrong address is reported at the start.
    #[cfg(test)]
    pub(crate) async fn open(&self) -> Result<(), Error> {
        self.opened().await.map(drop)
    }

    /// Returns whether other hubs may use the same database at the same time.
    pub fn is_shared(&self) -> bool {
        matches!(self.0.database, Database::Postgres(_))
    }

    /// Returns the id of this machine in the rows that belong to it; empty where no other machine has the database.
    pub fn machine(&self) -> &str {
        &self.0.machine
    }

    /// Returns a number that grows with each change by this process; `None` when other processes may change rows too.
    pub fn written(&self) -> Option<u64> {
        (!self.is_shared()).then(|| self.0.opened.get().map_or(0, |opened| opened.writer.done()))
    }

    /// Returns the durations of the verbs of this process.
    pub fn timings(&self) -> &Timings {
        &self.0.timings
    }

    /// Carries out the accepted verbs, then closes the connections. Later verbs fail with [`Error::Closed`].
    pub async fn close(&self) {
        if let Some(opened) = self.0.opened.get() {
            opened.writer.close().await;
            opened.readers.close().await;
        }
    }

    async fn opened(&self) -> Result<&Opened, Error> {
        self.0.opened.get_or_try_init(|| connect::open(&self.0.database)).await
    }

    /// Carries out a verb that changes rows, in one transaction with others that arrive at the same time. When this
    /// returns, the change is on disk. A verb is skipped if its caller goes away before it begins.
    async fn write<A, T>(&self, arguments: A, verb: writer::Verb<A, T>) -> Result<T, Error>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let timings = &self.0.timings.writes;
        self.opened().await?.writer.write(Order::Alone, timings, arguments, verb).await
    }

    /// Carries out a verb like [`Self::write`], also while another hub writes. The verb must be right then: it changes
    /// single rows by a condition on each, and numbers nothing.
    async fn write_concurrently<A, T>(&self, arguments: A, verb: writer::Verb<A, T>) -> Result<T, Error>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let timings = &self.0.timings.writes;
        self.opened().await?.writer.write(Order::Concurrent, timings, arguments, verb).await
    }

    /// Returns a connection that reads every acknowledged change.
    async fn read(&self) -> Result<sqlx::pool::PoolConnection<Any>, Error> {
        acquire(&self.opened().await?.readers).await.map_err(|error| match error {
            sqlx::Error::PoolClosed => Error::Closed,
            other => Error::Unreachable(Arc::new(other)),
        })
    }
}

/// Changes rows: carries out the closure's body as a [`writer::Verb`] on references to the arguments.
///
/// The body may run again after its transaction was rolled back, so it captures nothing.
macro_rules! change {
    ($store:expr, $arguments:expr, |$connection:ident, $names:pat_param| $body:expr) => {
        $store.write($arguments, |$connection, $names| Box::pin(async move { $body })).await
    };
}
use change;

/// Changes rows like [`change!`], by [`Store::write_concurrently`].
macro_rules! change_concurrently {
    ($store:expr, $arguments:expr, |$connection:ident, $names:pat_param| $body:expr) => {
        $store.write_concurrently($arguments, |$connection, $names| Box::pin(async move { $body })).await
    };
}
use change_concurrently;

/// Reads rows on a connection that sees every acknowledged change, and again when the connection to a server breaks.
/// `$fetch` is the query's method, such as `fetch_all`.
macro_rules! read {
    ($store:expr, $query:expr, $fetch:ident) => {{
        let mut cuts = 0;
        loop {
            let mut connection = $store.read().await?;
            match $query.$fetch(&mut *connection).await {
                Err(error) if cuts < $crate::MAX_CUTS && $crate::is_cut(&error) => cuts += 1,
                rows => break rows?,
            }
        }
    }};
}
use read;

/// Defines a row: its struct, and the mapping of its columns by position.
macro_rules! row {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $kind),* }

        impl<'r> sqlx::FromRow<'r, sqlx::any::AnyRow> for $name {
            fn from_row(row: &'r sqlx::any::AnyRow) -> Result<Self, sqlx::Error> {
                let mut column = 0..;
                let mut next = || column.next().unwrap_or_default();
                Ok(Self { $($field: sqlx::Row::try_get(row, next())?),* })
            }
        }
    };
}
use row;

/// Decodes an enum with `from_name` from a text column.
macro_rules! text_column {
    ($name:ident) => {
        impl sqlx::Type<sqlx::Any> for $name {
            fn type_info() -> sqlx::any::AnyTypeInfo {
                <String as sqlx::Type<sqlx::Any>>::type_info()
            }
        }

        impl<'r> sqlx::Decode<'r, sqlx::Any> for $name {
            fn decode(value: sqlx::any::AnyValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
                let name = <String as sqlx::Decode<'r, sqlx::Any>>::decode(value)?;
                Self::from_name(&name).ok_or_else(|| format!("unknown state `{name}`").into())
            }
        }
    };
}
use text_column;

/// Returns the pattern for `LIKE … ESCAPE '!'` that finds `text` literally in a column in lower case; empty for an
/// empty text. Letters beyond ASCII must match in case too, because the engines lower them differently.
fn pattern(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let plain = text.to_ascii_lowercase().replace('!', "!!").replace('%', "!%").replace('_', "!_");
    format!("%{plain}%")
}

#[cfg(test)]
mod tests;
