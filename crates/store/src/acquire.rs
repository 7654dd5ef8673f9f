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
/// while the file of the server's socket is missing.
pub(super) async fn acquire(pool: &AnyPool) -> Result<PoolConnection<Any>, sqlx::Error> {
    let end = Instant::now() + CONNECTION_TIMEOUT;
    loop {
        match pool.acquire().await {
            Err(sqlx::Error::Io(error))
                if error.kind() == io::ErrorKind::NotFound && Instant::now() < end =>
            {
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            done => return done,
        }
    }
}
