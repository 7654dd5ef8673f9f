//! The database.

use std::sync::Arc;

use super::Patient;
use super::check::Found;
use crate::app::health::{self, Rows};
use crate::config::Database;

/// Looks whether the rows can be read, and whether they fit together.
pub(super) async fn integrity(patient: Arc<Patient>) -> Found {
    match health::database(&patient.config.database).await {
        Rows::None => Found::ok("it is made when it is first needed"),
        Rows::Sound => Found::ok("its pages and references are sound"),
        Rows::Broken(faults) => Found::fail(
            faults.join("; "),
            "stop the hub and put a copy of an earlier day in its place, or move it away to begin anew; \
             `sqlite3 adjutant.db .recover` saves what can still be read",
        ),
        Rows::Newer => Found::fail(
            "a newer adjutant wrote it",
            "start that one, or choose another database: `database` in config.toml",
        ),
        Rows::Held => Found::fail(
            "another program holds it and lets nobody else in",
            "end that program; `fuser` with the path of the database names it",
        ),
        Rows::Away(reason) => {
            let remedy = match patient.config.database {
                Database::Postgres(_) => "start its server, or correct `database` in config.toml",
                Database::File(_) | Database::Memory => {
                    "make it a file that you may read and write, or choose another: `database` in config.toml"
                }
            };
            Found::fail(reason, remedy)
        }
    }
}
