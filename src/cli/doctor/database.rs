//! The database.

use std::sync::Arc;

use super::Patient;
use super::check::Found;
use crate::app::health;

/// Looks whether the rows can be read, and whether they fit together.
pub(super) async fn integrity(patient: Arc<Patient>) -> Found {
    let remedy = "stop the hub and put a copy of an earlier day in its place, or move it away to begin anew; \
                  `sqlite3 adjutant.db .recover` saves what can still be read";
    match health::database(&patient.config.database).await {
        Ok(health::Rows::None) => Found::ok("it is made when it is first needed"),
        Ok(health::Rows::Sound) => Found::ok("its pages and references are sound"),
        Ok(health::Rows::Broken(faults)) => Found::fail(faults.join("; "), remedy),
        Err(error) => Found::fail(error, remedy),
    }
}
