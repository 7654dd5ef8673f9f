//! Health checks for `adjutant doctor`: the database and the desktop's notification service.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use adjutant_agents::worker_registry::{ListedWorker, listed};
use adjutant_base::config::{Database, default_database};
use adjutant_base::text::timefmt::millis;
use adjutant_net::channels;
use adjutant_store as store;
pub use adjutant_store::machines::Machine;

/// The state of the database.
#[derive(Debug, PartialEq, Eq)]
pub enum DatabaseHealth {
    /// The database does not exist yet.
    Missing,
    Sound,
    /// The inconsistencies, in the engine's words.
    Damaged(Vec<String>),
    /// A newer version of this program wrote it.
    Newer,
    /// A build before the first release wrote it.
    BeforeFirstRelease,
    /// Another program has locked it.
    Locked,
    /// It cannot be reached; a sentence says why.
    Unreachable(String),
}

/// Reads the database as it is, and changes nothing.
pub async fn database(database: &Database) -> DatabaseHealth {
    match store::faults(database).await {
        Ok(None) => DatabaseHealth::Missing,
        Ok(Some(faults)) if faults.is_empty() => DatabaseHealth::Sound,
        Ok(Some(faults)) => DatabaseHealth::Damaged(faults),
        Err(store::Error::Newer) => DatabaseHealth::Newer,
        Err(store::Error::BeforeFirstRelease) => DatabaseHealth::BeforeFirstRelease,
        Err(store::Error::Held(_)) => DatabaseHealth::Locked,
        Err(store::Error::Damaged(source)) => DatabaseHealth::Damaged(vec![source.to_string()]),
        Err(error) => DatabaseHealth::Unreachable(match error.cause() {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        }),
    }
}

/// Returns the path of the database in the home `home` if it has rows and the empty `shared` database replaces it. Nothing
/// copies the rows.
pub async fn left_behind(shared: &Database, home: &Path) -> Option<PathBuf> {
    let file = default_database(home);
    if !matches!(shared, Database::Postgres(_))
        || store::is_empty(&Database::File(file.clone())).await.ok()??
    {
        return None;
    }
    store::is_empty(shared).await.ok()?.filter(|empty| *empty).map(|_| file)
}

/// Reads the machines that had a hub on the database.
pub async fn machines(database: &Database) -> Result<Vec<Machine>, store::Error> {
    store::machines::list(database).await
}

/// Reads the workers that hubs on the database know.
pub async fn workers(database: &Database) -> Result<Vec<ListedWorker>, store::Error> {
    let (rows, held) = store::workers::list_of(database).await?;
    Ok(listed(rows, &held, millis(SystemTime::now())))
}

/// Asks the desktop's notification service for its name. The error is a sentence fragment.
pub async fn notification_service() -> Result<String, String> {
    channels::Desktop::default().name().await.map_err(|error| error.to_string())
}
