//! The audit log of the assistant: actor, action, subject and time.

use sqlx::AnyConnection;

use crate::{Error, Millis, Store, row};

row! {
    /// One entry of the audit log.
    AuditRow {
        id: String,
        at: Millis,
        /// A user, a client by its name, or the hub itself.
        actor: String,
        action: String,
        /// The id of the changed row.
        subject: String,
        detail: String,
    }
}

const APPEND: &str = "\
    INSERT INTO audit (id, at, actor, action, subject, detail) VALUES ($1, $2, $3, $4, $5, $6) \
    ON CONFLICT (id) DO NOTHING";

const OF: &str = "\
    SELECT id, at, actor, action, subject, detail FROM audit WHERE subject = $1 ORDER BY at DESC, id LIMIT $2";

/// Appends an entry within the transaction of the action.
pub(super) async fn append(connection: &mut AnyConnection, row: &AuditRow) -> Result<(), sqlx::Error> {
    let query = sqlx::query(APPEND).bind(&row.id).bind(row.at).bind(&row.actor).bind(&row.action);
    query.bind(&row.subject).bind(&row.detail).execute(connection).await.map(drop)
}

/// Returns the latest entries of a subject, newest first.
#[cfg_attr(not(test), expect(dead_code, reason = "the tests read what the timeline shows"))]
pub(crate) async fn of(store: &Store, subject: &str, limit: u32) -> Result<Vec<AuditRow>, Error> {
    let mut connection = store.read().await?;
    Ok(sqlx::query_as(OF).bind(subject).bind(i64::from(limit)).fetch_all(&mut *connection).await?)
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[APPEND, OF];
