//! Whether a database is sound, read without changing it.

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions as _, Connection as _, Row as _};

use super::{Error, connect, migrations};
use crate::config::Database;

/// Faults that are told; the first says it all.
const MOST: usize = 5;

/// Returns what is wrong with the rows, in the engine's words; nothing when they are sound, `None` when there is no
/// database yet. Opens it for reading alone.
pub(crate) async fn faults(database: &Database) -> Result<Option<Vec<String>>, Error> {
    sqlx::any::install_default_drivers();
    let url = match database {
        Database::Memory => return Ok(None),
        Database::File(file) if !file.exists() => return Ok(None),
        Database::File(file) => format!("{}?mode=ro", connect::sqlite_address(file)?),
        Database::Postgres(url) => url.clone(),
    };
    let options = url.parse::<AnyConnectOptions>().map_err(connect::unopened)?.disable_statement_logging();
    let mut connection = options.connect().await.map_err(connect::unopened)?;
    let faults = look(&mut connection, matches!(database, Database::File(_))).await;
    let _ = connection.close().await;
    faults.map(Some)
}

async fn look(connection: &mut AnyConnection, is_sqlite: bool) -> Result<Vec<String>, Error> {
    let mut faults = Vec::new();
    if is_sqlite {
        let mut ask = async |question| {
            sqlx::query(question).fetch_all(&mut *connection).await.map_err(connect::unopened)
        };
        for row in ask("PRAGMA quick_check(5)").await? {
            faults.extend(row.try_get::<String, _>(0).into_iter().filter(|told| told != "ok"));
        }
        for row in ask("PRAGMA foreign_key_check").await?.iter().take(MOST) {
            let (table, parent): (String, String) = (row.try_get(0)?, row.try_get(2)?);
            faults.push(format!("a row of {table} refers to a row of {parent} that is not there"));
        }
    }
    // Without this table nobody has used the database yet.
    let newest = sqlx::query("SELECT MAX(version) FROM _sqlx_migrations").fetch_one(&mut *connection).await;
    match newest.and_then(|row| row.try_get::<Option<i64>, _>(0)) {
        Ok(Some(version)) if version > migrations::newest() => Err(Error::Newer),
        Ok(_) | Err(_) => Ok(faults),
    }
}
