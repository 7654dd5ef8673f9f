//! The audit log of the assistant: actor, action, subject and time.

use sqlx::AnyConnection;

use crate::{Millis, row};

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

/// Appends an entry within the transaction of the action.
pub(super) async fn append(connection: &mut AnyConnection, row: &AuditRow) -> Result<(), sqlx::Error> {
    let query = sqlx::query(APPEND).bind(&row.id).bind(row.at).bind(&row.actor).bind(&row.action);
    query.bind(&row.subject).bind(&row.detail).execute(connection).await.map(drop)
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[APPEND];
