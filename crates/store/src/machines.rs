//! Machines that share the database, as each hub records its own.

use sqlx::Connection as _;

use crate::{Error, Millis, Store, change, connect, read, row};
use adjutant_base::config::Database;

/// The entry of another process that may live stays, unless this process has just started.
const RECORD: &str = "\
    INSERT INTO machines (id, name, version, hub, seen_at) VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (id) DO UPDATE \
    SET name = excluded.name, version = excluded.version, hub = excluded.hub, seen_at = excluded.seen_at \
    WHERE machines.hub = excluded.hub OR machines.seen_at < $6";

const LIST: &str = "SELECT id, name, version, hub, seen_at FROM machines ORDER BY name, id";

const SEEN_AT: &str = "SELECT seen_at FROM machines WHERE id = $1";

/// The age of an entry, in milliseconds, from which its hub counts as ended.
pub const ALIVE_TIMEOUT: Millis = 90_000;

row! {
    /// One row of `machines`.
    Machine {
        id: String,
        /// The host name.
        name: String,
        /// Of the program.
        version: String,
        /// The process that recorded it last.
        hub: String,
        seen_at: Millis,
    }
}

/// Records that a machine's hub runs. False when another process recorded the same id at `alive_since` or later, and
/// so may run too: then this home or that one is a copy.
pub async fn record(store: &Store, machine: Machine, alive_since: Millis) -> Result<bool, Error> {
    change!(store, (machine, alive_since), |connection, (machine, alive_since)| {
        let query = sqlx::query(RECORD).bind(&machine.id).bind(&machine.name).bind(&machine.version);
        let query = query.bind(&machine.hub).bind(machine.seen_at).bind(alive_since);
        Ok(query.execute(connection).await?.rows_affected() == 1)
    })
}

/// Returns when the hub of a machine last recorded it; `None` if no hub did.
pub async fn seen_at(store: &Store, id: &str) -> Result<Option<Millis>, Error> {
    Ok(read!(store, sqlx::query_scalar(SEEN_AT).bind(id), fetch_optional))
}

/// Returns every machine that had a hub on a database, by name. Opens it read-only.
pub async fn list(database: &Database) -> Result<Vec<Machine>, Error> {
    let Some(mut connection) = connect::read_only(database).await? else { return Ok(Vec::new()) };
    let listed = sqlx::query_as(LIST).fetch_all(&mut connection).await;
    let _ = connection.close().await;
    Ok(listed?)
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[RECORD, LIST, SEEN_AT];
