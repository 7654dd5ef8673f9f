//! The deletion of old questions, with their texts, deliveries and audit.

use crate::{Error, Millis, Store, change};

/// Questions that are deleted in one transaction, so that other writers do not wait for long.
const BATCH_SIZE: i64 = 200;

const PRUNE: &str = "\
    DELETE FROM questions WHERE state = 'decided' AND id IN ( \
        SELECT q.id FROM questions q WHERE q.state = 'decided' AND q.decided_at < $1 \
          AND (q.kind NOT IN ('answered', 'declined', 'dismissed') OR NOT EXISTS ( \
              SELECT 1 FROM question_deliveries d WHERE d.question = q.id AND d.delivered_at IS NULL)) \
        ORDER BY q.seq LIMIT $2)";

/// Deletes questions that were decided before `since`, oldest first, at most 200, and returns their number. An answer that
/// an asker has not received stays. Call it again until it returns 0.
pub async fn prune(store: &Store, since: Millis) -> Result<u64, Error> {
    change!(store, since, |connection, since| {
        Ok(sqlx::query(PRUNE).bind(*since).bind(BATCH_SIZE).execute(connection).await?.rows_affected())
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[PRUNE];
