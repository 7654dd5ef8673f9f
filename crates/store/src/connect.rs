//! Connections: pools, modes of files, and the settings of every connection.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::error::DatabaseError as _;
use sqlx::sqlite::SqliteError;
use sqlx::{AnyConnection, ConnectOptions as _, Executor as _};

use super::pool_connection::{CONNECTION_TIMEOUT, RETRY_INTERVAL};
use super::writer::{Engine, Writer};
use super::{Error, Millis, Opened, migrations};
use adjutant_base::config::Database;
use adjutant_base::text::timefmt;

/// Connections that read at the same time; SQLite has a thread for each.
const READERS: u32 = 4;
/// Timeout of retries for a file that another process holds; as long as `busy_timeout` in [`PRAGMAS`].
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which an idle reader is closed and its memory freed.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// The greatest difference, in milliseconds, between the clocks of a hub and of its database server; less than the shortest
/// lease.
const CLOCK_TOLERANCE: Millis = 10_000;

/// Settings of every SQLite connection. FULL makes a commit wait for the disk; in WAL mode readers never wait for
/// the writer; `busy_timeout` waits for another process that holds the file; `secure_delete` overwrites what is deleted,
/// because the texts would stay in the file.
const PRAGMAS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000; PRAGMA secure_delete = ON";

/// Settings of every PostgreSQL connection: a hub that froze in the middle of a transaction does not block the others.
const POSTGRES_SETTINGS: &str = "SET idle_in_transaction_session_timeout = '10s'";

/// Connects, brings the tables up to date, and starts the writer.
pub(super) async fn open(database: &Database) -> Result<Opened, Error> {
    sqlx::any::install_default_drivers();
    let (url, engine) = match database {
        Database::File(file) => (sqlite_url(file)?, Engine::Sqlite),
        Database::Memory => ("sqlite::memory:".to_owned(), Engine::Sqlite),
        Database::Postgres(url) => (url.clone(), Engine::Postgres),
    };
    let options = url
        .parse::<AnyConnectOptions>()
        .map_err(|error| Error::Unreachable(Arc::new(error)))?
        .disable_statement_logging();

    // A pool retries until its timeout; a wrong address or a damaged file should fail at once.
    match database {
        Database::Memory => {}
        Database::File(_) => try_file(&options).await?,
        Database::Postgres(_) => drop(options.connect().await.map_err(unopened)?),
    }
    // A file does not disappear between two queries, so its connections need no test before each.
    let tried = engine == Engine::Postgres;
    let pool = AnyPoolOptions::new().acquire_timeout(CONNECTION_TIMEOUT).test_before_acquire(tried);
    let pool = pool.after_connect(move |connection, _| {
        Box::pin(async move {
            match engine {
                Engine::Sqlite => connection.execute(PRAGMAS).await.map(drop),
                Engine::Postgres => connection.execute(POSTGRES_SETTINGS).await.map(drop),
            }
        })
    });
    // The single connection is never closed, because a database in memory ends with it.
    let single = pool.clone().max_connections(1).min_connections(1).idle_timeout(None).max_lifetime(None);
    let writers =
        single.connect_with(options.clone()).await.map_err(|error| Error::Unreachable(Arc::new(error)))?;
    let mut connection = writers.acquire().await.map_err(|error| Error::Unreachable(Arc::new(error)))?;
    migrations::run(&mut connection).await?;
    if engine == Engine::Postgres {
        compare_clocks(&mut connection).await?;
    }
    drop(connection);

    let readers = match database {
        Database::Memory => writers.clone(),
        Database::File(_) | Database::Postgres(_) => {
            pool.max_connections(READERS).idle_timeout(IDLE_TIMEOUT).connect_lazy_with(options)
        }
    };
    Ok(Opened { readers, writer: Writer::start(writers, engine) })
}

/// Opens the file once. `busy_timeout` in [`PRAGMAS`] does not cover processes that create one file at the same
/// moment: SQLite rejects all but one of them at once, so this retries.
async fn try_file(options: &AnyConnectOptions) -> Result<(), Error> {
    let end = Instant::now() + LOCK_TIMEOUT;
    loop {
        let tried = async { options.connect().await?.execute(PRAGMAS).await.map(drop) };
        match tried.await.map_err(unopened) {
            Err(Error::Held(_)) if Instant::now() < end => tokio::time::sleep(RETRY_INTERVAL).await,
            done => return done,
        }
    }
}

/// Rejects a server with another clock than that of this machine, because other hubs compare the instants that this one
/// stores with their own time: they would expire its questions, and send again what it is sending.
async fn compare_clocks(connection: &mut AnyConnection) -> Result<(), Error> {
    let time = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
    let before = timefmt::millis(SystemTime::now());
    let server: Millis = sqlx::query_scalar(time).fetch_one(connection).await?;
    let after = timefmt::millis(SystemTime::now());
    let (ahead, behind) = (before.saturating_sub(server), server.saturating_sub(after));
    match ahead.max(behind) {
        by if by <= CLOCK_TOLERANCE => Ok(()),
        by if by == ahead => Err(Error::Clock { by: timefmt::span_millis(by), side: "ahead of" }),
        by => Err(Error::Clock { by: timefmt::span_millis(by), side: "behind" }),
    }
}

/// Opens one connection that only reads, of the database as it is. `None` when it does not exist yet.
pub(super) async fn read_only(database: &Database) -> Result<Option<AnyConnection>, Error> {
    sqlx::any::install_default_drivers();
    let url = match database {
        Database::Memory => return Ok(None),
        Database::File(file) if !file.exists() => return Ok(None),
        Database::File(file) => format!("{}?mode=ro", sqlite_address(file)?),
        Database::Postgres(url) => url.clone(),
    };
    let options = url.parse::<AnyConnectOptions>().map_err(unopened)?.disable_statement_logging();
    options.connect().await.map(Some).map_err(unopened)
}

/// Converts an error of opening a database. SQLite's result codes: <https://www.sqlite.org/rescode.html>.
pub(super) fn unopened(error: sqlx::Error) -> Error {
    let sqlite = error.as_database_error().and_then(|error| error.try_downcast_ref::<SqliteError>());
    // The lower byte of an extended code is the primary code.
    match sqlite.and_then(|sqlite| sqlite.code()?.parse::<u32>().ok()).map(|code| code & 0xff) {
        Some(5 | 6) => Error::Held(Arc::new(error)),
        Some(11 | 26) => Error::Damaged(Arc::new(error)),
        Some(_) | None => Error::Unreachable(Arc::new(error)),
    }
}

/// Creates the file for its owner alone, because SQLite would let everybody read it; the WAL files take its mode.
fn sqlite_url(file: &Path) -> Result<String, Error> {
    let made = || -> io::Result<()> {
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        OpenOptions::new().create(true).append(true).mode(0o600).open(file)?;
        Ok(())
    };
    made().map_err(|error| Error::File(Arc::new(error)))?;
    sqlite_address(file)
}

/// Returns the URL of an SQLite file, with the path's special characters escaped.
fn sqlite_address(file: &Path) -> Result<String, Error> {
    let path = file.to_str().ok_or_else(|| Error::File(Arc::new(io::ErrorKind::InvalidFilename.into())))?;
    Ok(format!("sqlite:{}", path.replace('%', "%25").replace('?', "%3F").replace('#', "%23")))
}
