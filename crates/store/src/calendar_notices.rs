//! Notices between the processes that share a PostgreSQL database. A process next to the only hub of an SQLite file notifies
//! that hub over its socket.

use std::future::pending;
use std::time::Duration;

use sqlx::postgres::PgListener;

use super::{Error, Store, read};
use adjutant_base::config::Database;

const NOTIFY: &str = "NOTIFY adjutant_calendar";
const CHANNEL: &str = "adjutant_calendar";
/// Interval of the tries to listen.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The notices of other processes, as they come.
#[derive(Debug)]
pub struct Notices {
    /// `None` for a database that is not shared, which has none.
    url: Option<String>,
    listener: Option<PgListener>,
}

impl Store {
    /// Notifies the other processes of a shared database that calendars or notifications changed.
    pub async fn announce(&self) -> Result<(), Error> {
        if self.is_shared() {
            read!(self, sqlx::query(NOTIFY), execute);
        }
        Ok(())
    }

    /// Returns the notices from the first call of [`Notices::next`] on.
    pub fn notices(&self) -> Notices {
        let url = match &self.0.database {
            Database::Postgres(url) => Some(url.clone()),
            Database::File(_) | Database::Memory => None,
        };
        Notices { url, listener: None }
    }
}

impl Notices {
    /// Waits for a notice. Cancel safe; a notice that comes while nobody listens is lost.
    pub async fn next(&mut self) {
        let Some(url) = &self.url else { return pending().await };
        loop {
            if let Some(listener) = &mut self.listener {
                if listener.recv().await.is_ok() {
                    return;
                }
            } else if let Ok(mut listener) = PgListener::connect(url).await
                && listener.listen(CHANNEL).await.is_ok()
            {
                self.listener = Some(listener);
                continue;
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
}
