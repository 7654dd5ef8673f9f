//! Questions that are due for a change by time, and the time of the next one.

use super::Question;
use crate::{Error, Millis, Store};

const HELD: &str =
    "SELECT id FROM questions WHERE state = 'held' AND held_until <= $1 ORDER BY held_until LIMIT $2";

const SNOOZED: &str = "SELECT id FROM questions WHERE state = 'pending' AND snoozed_until <= $1 ORDER BY snoozed_until LIMIT $2";

/// A default needs to have been seen, for as long as its asker said.
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
    /// Outcomes that can no longer be taken back.
    pub held: Vec<String>,
    /// Questions that were snoozed until now.
    pub snoozed: Vec<String>,
    pub defaults: Vec<Question>,
    /// Questions past their deadline, and how long they were seen.
    pub timed_out: Vec<(String, Millis)>,
    /// Questions all of whose clients are gone for good, and how long they were seen.
    pub gone: Vec<(String, Millis)>,
    /// Questions of which a client was expected to ask again by now.
    pub silent: Vec<String>,
}

impl Due {
    /// Tells whether there may be more than `limit` of something.
    pub fn is_full(&self, limit: u32) -> bool {
        let most = [
            &self.held.len(),
            &self.snoozed.len(),
            &self.defaults.len(),
            &self.timed_out.len(),
            &self.gone.len(),
            &self.silent.len(),
        ];
        most.into_iter().any(|count| *count >= limit as usize)
    }
}

/// Returns what is due at `now`, at most `limit` of each; clients that left before `gone_before` are gone for good.
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

/// Returns when the next thing falls due, apart from defaults, which a look at the question brings.
pub async fn next_due(store: &Store, now: Millis, grace: Millis) -> Result<Option<Millis>, Error> {
    let mut connection = store.read().await?;
    Ok(sqlx::query_scalar(NEXT).bind(now).bind(grace).fetch_one(&mut *connection).await?)
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[HELD, SNOOZED, DEFAULTS, TIMED_OUT, GONE, SILENT, NEXT];
