//! The schema's history: files that are added, never edited, and recorded in the database with their checksums.
//!
//! sqlx's own migrator applies them on either engine: it takes an advisory lock on PostgreSQL, runs each file in a
//! transaction, and rejects a database when its record differs from these files.

use std::sync::Arc;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, SqlSafeStr as _};

use super::Error;

/// The name of the first migration.
const FIRST: &str = "schema";

/// Every migration, oldest first.
pub(super) const FILES: &[(i64, &str, &str)] = &[
    (1, FIRST, include_str!("../migrations/0001_schema.sql")),
    (2, "question load", include_str!("../migrations/0002_question_load.sql")),
    (3, "calendar refresh", include_str!("../migrations/0003_calendar_refresh.sql")),
    (4, "codex operations", include_str!("../migrations/0004_codex_operations.sql")),
    (5, "machines", include_str!("../migrations/0005_machines.sql")),
    (6, "questions of machines", include_str!("../migrations/0006_questions_of_machines.sql")),
    (7, "times of tasks", include_str!("../migrations/0007_times_of_tasks.sql")),
    (8, "workers", include_str!("../migrations/0008_workers.sql")),
    (9, "answer files", include_str!("../migrations/0009_answer_files.sql")),
    (10, "users of questions", include_str!("../migrations/0010_users_of_questions.sql")),
    (11, "start page", include_str!("../migrations/0011_start_page.sql")),
    (12, "order of lanes", include_str!("../migrations/0012_order_of_lanes.sql")),
];

/// The name of a database's first migration; no row if the database is new.
const BEGINNING: &str = "SELECT description FROM _sqlx_migrations WHERE version = 1";

const NEWEST: &str = "SELECT MAX(version) FROM _sqlx_migrations";

/// The newest migration that a version must know to use the tables.
const OLDEST: &str = "SELECT oldest FROM schema_compatibility";

/// Fails if the tables are those of a build before the first release, or of a newer version with tables that this
/// version cannot use. Hubs of two neighbouring versions may run side by side. Reads only.
pub(super) async fn check(connection: &mut AnyConnection) -> Result<(), Error> {
    // Without the table of migrations the database is new.
    let beginning: Result<Option<String>, _> =
        sqlx::query_scalar(BEGINNING).fetch_optional(&mut *connection).await;
    if beginning.ok().flatten().is_some_and(|name| name != FIRST) {
        return Err(Error::BeforeFirstRelease);
    }
    let newest: Result<Option<i64>, _> = sqlx::query_scalar(NEWEST).fetch_one(&mut *connection).await;
    let known = FILES.last().map_or(0, |(version, ..)| *version);
    if newest.ok().flatten().is_none_or(|version| version <= known) {
        return Ok(());
    }
    let oldest: Result<i64, _> = sqlx::query_scalar(OLDEST).fetch_one(connection).await;
    if oldest.is_ok_and(|oldest| oldest <= known) { Ok(()) } else { Err(Error::Newer) }
}

/// Brings the tables up to date, also while another process does the same.
pub(super) async fn run(connection: &mut AnyConnection) -> Result<(), Error> {
    check(connection).await?;
    let mut done = once(connection, FILES).await;
    // SQLite has no lock for migrations: the process that lost the race for one file finds its tables there, and
    // continues with the next file.
    for _ in FILES {
        if !matches!(done, Err(MigrateError::ExecuteMigration(..) | MigrateError::Execute(_))) {
            break;
        }
        done = once(connection, FILES).await;
    }
    done.map_err(|error| Error::Foreign(Arc::new(error)))
}

/// Applies the files that are missing. Those of a newer version are left alone, because [`check`] decides about them.
pub(super) async fn once(
    connection: &mut AnyConnection,
    files: &[(i64, &'static str, &'static str)],
) -> Result<(), MigrateError> {
    let migrations = files.iter().map(|&(version, description, sql)| {
        Migration::new(version, description.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    migrator.set_ignore_missing(true).run_direct(None, connection, false).await
}
