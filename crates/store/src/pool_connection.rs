//! Connections from a pool, with retries while a database server starts again.

use std::io;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyPool};

/// Timeout of a verb that waits for a connection.
pub(super) const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause between two tries to open a file or a socket that is missing or held.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// Broken connections that one transaction or read outlives, before its callers get the error.
pub(super) const MAX_CUTS: usize = 10;

/// Returns a connection of a pool. A pool itself retries while a server that starts again refuses connections, but not
/// while the file of the server's socket is missing, or when the server ends in the middle of the connection's start.
pub(super) async fn acquire(pool: &AnyPool) -> Result<PoolConnection<Any>, sqlx::Error> {
    let end = Instant::now() + CONNECTION_TIMEOUT;
    loop {
        match pool.acquire().await {
            Err(sqlx::Error::Io(error)) if is_passing(error.kind()) && Instant::now() < end => {
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            done => return done,
        }
    }
}

/// Returns whether a server that starts again may fail a connection in this way.
fn is_passing(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, NotFound, UnexpectedEof};
    matches!(kind, NotFound | ConnectionReset | BrokenPipe | UnexpectedEof)
}

/// Returns whether the connection to a PostgreSQL server broke, or the server ended it.
/// The codes: <https://www.postgresql.org/docs/current/errcodes-appendix.html>, classes 08 and 57.
pub(super) fn is_cut(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    matches!(error, sqlx::Error::Io(_))
        || code.is_some_and(|code| code.starts_with("08") || matches!(&*code, "57P01" | "57P02" | "57P03"))
}
