//! Rules of a user.

use crate::{Error, Store, change, read, row};

row! {
    /// A rule of a user.
    RuleRow {
        id: String,
        user_id: String,
        kind: String,
        /// JSON.
        terms: String,
        enabled: i64,
        priority: i64,
    }
}

const LIST: &str = "\
    SELECT id, user_id, kind, terms, enabled, priority FROM rules WHERE user_id = $1 ORDER BY priority DESC, id";

const PUT: &str = "\
    INSERT INTO rules (id, user_id, kind, terms, enabled, priority) VALUES ($1, $2, $3, $4, $5, $6) \
    ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, terms = excluded.terms, enabled = excluded.enabled, \
        priority = excluded.priority WHERE rules.user_id = excluded.user_id";

const REMOVE: &str = "DELETE FROM rules WHERE user_id = $1 AND id = $2";

/// A change of a rule makes plans outdated, as a change of the preferences does.
const REVISE: &str = "UPDATE users SET revision = revision + 1 WHERE id = $1";

/// Returns a user's rules, highest priority first.
pub async fn list(store: &Store, user: &str) -> Result<Vec<RuleRow>, Error> {
    Ok(read!(store, sqlx::query_as(LIST).bind(user), fetch_all))
}

/// Adds a rule, or updates the one with this id.
pub async fn put(store: &Store, rule: RuleRow) -> Result<(), Error> {
    change!(store, rule, |connection, rule| {
        let query = sqlx::query(PUT).bind(&rule.id).bind(&rule.user_id).bind(&rule.kind);
        let query = query.bind(&rule.terms).bind(rule.enabled).bind(rule.priority);
        query.execute(&mut *connection).await?;
        sqlx::query(REVISE).bind(&rule.user_id).execute(connection).await.map(drop)
    })
}

/// Removes a rule; `false` if there was none.
pub async fn remove(store: &Store, user: String, id: String) -> Result<bool, Error> {
    change!(store, (user, id), |connection, (user, id)| {
        let gone = sqlx::query(REMOVE).bind(user).bind(id).execute(&mut *connection).await?;
        sqlx::query(REVISE).bind(user).execute(connection).await?;
        Ok(gone.rows_affected() > 0)
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[LIST, PUT, REMOVE, REVISE];
