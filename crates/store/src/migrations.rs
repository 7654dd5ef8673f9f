//! How the tables came to be: files that are added, never edited, and recorded in the database with their checksums.
//!
//! sqlx's own migrator does it, on either engine: it takes an advisory lock on PostgreSQL, runs each file in a
//! transaction, and refuses a database whose record differs from these files.

use std::sync::Arc;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, SqlSafeStr as _};

use super::Error;

/// Every migration, oldest first.
const FILES: &[(i64, &str, &str)] = &[
    (1, "tasks", include_str!("../../migrations/0001_tasks.sql")),
    (2, "popups", include_str!("../../migrations/0002_popups.sql")),
    (3, "assistant", include_str!("../../migrations/0003_assistant.sql")),
    (4, "codex", include_str!("../../migrations/0004_codex.sql")),
    (5, "feeds", include_str!("../../migrations/0005_feeds.sql")),
    (6, "codex handles", include_str!("../../migrations/0006_codex_handles.sql")),
    (7, "silent", include_str!("../../migrations/0007_silent.sql")),
    (8, "turns alive", include_str!("../../migrations/0008_turns_alive.sql")),
];

/// Returns the version that the tables have once all files were applied.
pub(super) fn newest() -> i64 {
    FILES.last().map_or(0, |(version, ..)| *version)
}

/// Brings the tables up to date, also while another process does the same.
pub(super) async fn run(connection: &mut AnyConnection) -> Result<(), Error> {
    let mut done = once(connection).await;
    // SQLite has no lock for it: who lost the race for one file finds its tables made, and goes on with the next.
    for _ in FILES {
        if !matches!(done, Err(MigrateError::ExecuteMigration(..) | MigrateError::Execute(_))) {
            break;
        }
        done = once(connection).await;
    }
    done.map_err(|error| match error {
        MigrateError::VersionMissing(_) => Error::Newer,
        other => Error::Foreign(Arc::new(other)),
    })
}

async fn once(connection: &mut AnyConnection) -> Result<(), MigrateError> {
    let migrations = FILES.iter().map(|&(version, description, sql)| {
        Migration::new(version, description.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.collect()).run_direct(None, connection, false).await
}
