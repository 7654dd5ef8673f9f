//! The checks of a database for damage and for rows; they change nothing.

use sqlx::{AnyConnection, Connection as _, Row as _};

use super::{Error, connect, migrations};
use adjutant_base::config::Database;

/// Faults of one kind that are returned at most; the first is enough to act on.
const MAX_FAULTS: usize = 5;

/// Finds one row that a user or an agent made.
const ANY_ROW: &str = "SELECT COUNT(*) FROM (SELECT id FROM tasks UNION ALL SELECT id FROM questions UNION ALL SELECT id FROM users \
    UNION ALL SELECT id FROM workers UNION ALL SELECT id FROM codex_threads LIMIT 1) AS any_row";

/// Returns the faults of the rows in the engine's words, or an empty list for a sound database; `None` when the
/// database does not exist yet. Opens it read-only.
pub async fn faults(database: &Database) -> Result<Option<Vec<String>>, Error> {
    let Some(mut connection) = connect::read_only(database).await? else { return Ok(None) };
    let faults = check(&mut connection, matches!(database, Database::File(_))).await;
    let _ = connection.close().await;
    faults.map(Some)
}

/// Returns whether nothing that a user or an agent made is in the database; `None` when it does not exist yet. Opens it
/// read-only.
pub async fn is_empty(database: &Database) -> Result<Option<bool>, Error> {
    let Some(mut connection) = connect::read_only(database).await? else { return Ok(None) };
    let rows = sqlx::query_scalar::<_, i64>(ANY_ROW).fetch_one(&mut connection).await;
    let _ = connection.close().await;
    Ok(Some(rows? == 0))
}

async fn check(connection: &mut AnyConnection, is_sqlite: bool) -> Result<Vec<String>, Error> {
    let mut faults = Vec::new();
    if is_sqlite {
        let mut ask = async |question| {
            sqlx::query(question).fetch_all(&mut *connection).await.map_err(connect::unopened)
        };
        for row in ask("PRAGMA quick_check(5)").await? {
            faults.extend(row.try_get::<String, _>(0).into_iter().filter(|fault| fault != "ok"));
        }
        for row in ask("PRAGMA foreign_key_check").await?.iter().take(MAX_FAULTS) {
            let (table, parent): (String, String) = (row.try_get(0)?, row.try_get(2)?);
            faults.push(format!("a row of {table} refers to a row of {parent} that is not there"));
        }
    }
    migrations::check(connection).await?;
    Ok(faults)
}
