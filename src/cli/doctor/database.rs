//! Check of the database's integrity.

use std::sync::Arc;

use super::DoctorContext;
use super::check::CheckResult;
use adjutant_app::health::{self, DatabaseHealth};
use adjutant_base::config::Database;

/// Looks whether the rows can be read, and whether they fit together.
pub(super) async fn integrity(context: Arc<DoctorContext>) -> CheckResult {
    match health::database(&context.config.database).await {
        DatabaseHealth::Missing => CheckResult::ok("it is made when it is first needed"),
        DatabaseHealth::Sound => CheckResult::ok("its pages and references are sound"),
        DatabaseHealth::Damaged(faults) => CheckResult::fail(
            faults.join("; "),
            "stop the hub and put a copy of an earlier day in its place, or move it away to begin anew; \
             `sqlite3 adjutant.db .recover` saves what can still be read",
        ),
        DatabaseHealth::Newer => CheckResult::fail(
            "a newer adjutant wrote it",
            "start that one, or choose another database: `database` in config.toml",
        ),
        DatabaseHealth::BeforeFirstRelease => CheckResult::fail(
            "a build before the first release made it, and its tables cannot be converted",
            "move its file away and start again, or choose another database: `database` in config.toml",
        ),
        DatabaseHealth::Locked => CheckResult::fail(
            "another program has locked it",
            "end that program; `fuser` with the path of the database names it",
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
