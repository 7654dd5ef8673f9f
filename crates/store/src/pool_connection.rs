//! Connections from a pool, with retries while a database server starts again.

use std::io;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyPool};

/// Timeout of a verb that waits for a connection.
pub(super) const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause between two tries to open a file or a socket that is missing or held.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(10);

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
