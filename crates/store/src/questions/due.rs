//! Questions that are due for a change by time, and the next due time.

use super::Question;
use crate::{Error, Millis, Store, read};

const HELD: &str =
    "SELECT id FROM questions WHERE state = 'held' AND held_until <= $1 ORDER BY held_until LIMIT $2";

const SNOOZED: &str = "SELECT id FROM questions WHERE state = 'pending' AND snoozed_until <= $1 ORDER BY snoozed_until LIMIT $2";

/// A default counts only after the question was seen for as long as its asker demanded.
const DEFAULTS: &str = select_questions!(
    "WHERE q.state = 'pending' AND q.default_after IS NOT NULL AND q.seen_at IS NOT NULL \
       AND q.seen_ms >= q.default_after \
     ORDER BY q.seq LIMIT $1"
);

const TIMED_OUT: &str =
    "SELECT id, seen_ms FROM questions WHERE state = 'pending' AND deadline <= $1 ORDER BY deadline LIMIT $2";

const GONE: &str = "\
    SELECT DISTINCT q.id, q.seen_ms FROM question_deliveries d JOIN questions q ON q.id = d.question \
    WHERE d.delivered_at IS NULL AND d.disconnected_at <= $1 AND q.state = 'pending' \
      AND NOT EXISTS (SELECT 1 FROM question_deliveries p WHERE p.question = q.id AND p.delivered_at IS NULL \
                      AND (p.disconnected_at IS NULL OR p.disconnected_at > $1)) \
    LIMIT $2";

const SILENT: &str = "\
    SELECT DISTINCT q.id FROM question_deliveries d JOIN questions q ON q.id = d.question \
    WHERE d.delivered_at IS NULL AND d.disconnected_at IS NULL AND d.silent_at IS NULL AND d.lease_until <= $1 \
      AND q.state = 'pending' \
    LIMIT $2";

const NEXT: &str = "\
    SELECT MIN(at) FROM ( \
        SELECT MIN(deadline) AS at FROM questions WHERE state = 'pending' \
        UNION ALL SELECT MIN(held_until) FROM questions WHERE state = 'held' \
        UNION ALL SELECT MIN(snoozed_until) FROM questions WHERE state = 'pending' \
        UNION ALL SELECT MIN(disconnected_at) + CAST($2 AS BIGINT) FROM question_deliveries \
                  WHERE delivered_at IS NULL AND disconnected_at > CAST($1 AS BIGINT) - CAST($2 AS BIGINT) \
        UNION ALL SELECT MIN(lease_until) FROM question_deliveries \
                  WHERE delivered_at IS NULL AND disconnected_at IS NULL AND silent_at IS NULL AND lease_until > CAST($1 AS BIGINT)) \
        AS due";

/// The due questions, by the change.
#[derive(Clone, Debug, Default)]
pub struct Due {
    /// Questions with an outcome that can no longer be undone.
    pub held: Vec<String>,
    /// Questions that were snoozed until now.
    pub snoozed: Vec<String>,
    pub defaults: Vec<Question>,
    /// Questions past their deadline, with the time that they were seen for.
    pub timed_out: Vec<(String, Millis)>,
    /// Questions without any client left, with the time that they were seen for.
    pub gone: Vec<(String, Millis)>,
    /// Questions with a client that should have polled by now.
    pub silent: Vec<String>,
}

impl Due {
    /// Returns whether any list reached `limit`, so that more may be due.
    pub fn is_full(&self, limit: u32) -> bool {
        let Self { held, snoozed, defaults, timed_out, gone, silent } = self;
        let counts = [held.len(), snoozed.len(), defaults.len(), timed_out.len(), gone.len(), silent.len()];
        counts.iter().any(|count| *count >= limit as usize)
    }
}

/// Returns the questions due at `now`, at most `limit` per change. A client that disconnected before `gone_before`
/// counts as gone.
pub async fn due_now(store: &Store, now: Millis, gone_before: Millis, limit: u32) -> Result<Due, Error> {
    let mut connection = store.read().await?;
    let limit = i64::from(limit);
    Ok(Due {
        held: sqlx::query_scalar(HELD).bind(now).bind(limit).fetch_all(&mut *connection).await?,
        snoozed: sqlx::query_scalar(SNOOZED).bind(now).bind(limit).fetch_all(&mut *connection).await?,
        defaults: sqlx::query_as(DEFAULTS).bind(limit).fetch_all(&mut *connection).await?,
        timed_out: sqlx::query_as(TIMED_OUT).bind(now).bind(limit).fetch_all(&mut *connection).await?,
        gone: sqlx::query_as(GONE).bind(gone_before).bind(limit).fetch_all(&mut *connection).await?,
        silent: sqlx::query_scalar(SILENT).bind(now).bind(limit).fetch_all(&mut *connection).await?,
    })
}

/// Returns the next due time, without defaults: a view of the question makes those due.
pub async fn next_due(store: &Store, now: Millis, grace: Millis) -> Result<Option<Millis>, Error> {
    Ok(read!(store, sqlx::query_scalar(NEXT).bind(now).bind(grace), fetch_one))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[HELD, SNOOZED, DEFAULTS, TIMED_OUT, GONE, SILENT, NEXT];
