//! Check of the database's integrity.

use std::sync::Arc;

use super::DoctorContext;
use super::check_result::CheckResult;
use adjutant_app::health::{self, DatabaseHealth};
use adjutant_base::config::Database;

/// Checks the pages and references of the database.
pub(super) async fn integrity(context: Arc<DoctorContext>) -> CheckResult {
    match health::database(&context.config.database).await {
        DatabaseHealth::Missing => CheckResult::ok("it is created when it is first needed"),
        DatabaseHealth::Sound => CheckResult::ok("its pages and references are sound"),
        DatabaseHealth::Damaged(faults) => CheckResult::fail(
            faults.join("; "),
            "stop the hub and restore an earlier copy, or move the file away to start again; \
             `sqlite3 adjutant.db .recover` saves the readable rows",
        ),
        DatabaseHealth::Newer => CheckResult::fail(
            "a newer adjutant wrote it",
            "start that version, or choose another database: `database` in config.toml",
        ),
        DatabaseHealth::BeforeFirstRelease => CheckResult::fail(
            "a build before the first release made it, and its tables cannot be converted",
            "move its file away and start again, or choose another database: `database` in config.toml",
        ),
        DatabaseHealth::Locked => CheckResult::fail(
            "another program has locked it",
            "end that program; `fuser` with the path of the database finds it",
        ),
        DatabaseHealth::Unreachable(reason) => {
            let remedy = match context.config.database {
                Database::Postgres(_) => "start its server, or correct `database` in config.toml",
                Database::File(_) | Database::Memory => {
                    "make it a file that you may read and write, or choose another: `database` in config.toml"
                }
            };
            CheckResult::fail(reason, remedy)
        }
    }
}
