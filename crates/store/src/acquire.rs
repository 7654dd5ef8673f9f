//! A connection of a pool, also while a server starts again.

use std::io;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyPool};

/// Timeout of a verb that waits for a connection.
pub(super) const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Time between two tries to open what is not there yet.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Returns a connection of a pool. A pool waits by itself for a server that refuses connections while it starts again, but
/// not for one whose socket has no file meanwhile.
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
