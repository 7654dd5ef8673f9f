//! The deletion of old tasks, with their events and outcomes.

use crate::{Error, Millis, Store, change};

/// Tasks that are deleted in one transaction, so that other writers do not wait for long.
const BATCH_SIZE: i64 = 200;

/// Events and outcomes are deleted with their task.
const PRUNE: &str = "\
    DELETE FROM tasks WHERE ended_at IS NOT NULL AND id IN ( \
        SELECT t.id FROM tasks t JOIN task_results r ON r.task = t.id \
        WHERE t.ended_at IS NOT NULL AND t.machine IN ('', $5) \
          AND (r.delivered_at < $1 OR t.ended_at < $2 OR t.seq <= COALESCE((SELECT k.seq FROM tasks k \
               WHERE k.ended_at IS NOT NULL AND k.machine IN ('', $5) ORDER BY k.seq DESC LIMIT 1 OFFSET $3), 0)) \
        ORDER BY t.seq LIMIT $4) \
    RETURNING id, COALESCE(spool, '')";

/// Deletes the lanes of callers without a waiting task, once a thousand turns of other callers have passed.
const LANES: &str = "\
    DELETE FROM task_lanes WHERE turn < (SELECT MAX(l.turn) FROM task_lanes l) - 1000 AND NOT EXISTS ( \
        SELECT 1 FROM tasks q \
        WHERE q.state = 'queued' AND q.caller = task_lanes.caller AND q.runner = task_lanes.runner)";

/// The ended tasks to keep.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Tasks with an outcome that was delivered before this instant are deleted.
    pub delivered_since: Millis,
    /// Tasks that ended before this instant are deleted, even with an undelivered outcome.
    pub ended_since: Millis,
    /// At most so many ended tasks of a machine are kept, the newest.
    pub count: u32,
}

/// A deleted task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    pub id: String,
    /// The folder of its run, which the caller must remove.
    pub spool: Option<String>,
}

/// Deletes ended tasks of this machine that `keep` does not keep, oldest first, at most 200, and returns them. Call it
/// again until it returns none. Other machines have the files of the other tasks.
pub async fn prune(store: &Store, keep: Retention) -> Result<Vec<Pruned>, Error> {
    change!(store, (keep, store.machine().to_owned()), |connection, (keep, machine)| {
        let gone: Vec<(String, String)> = sqlx::query_as(PRUNE)
            .bind(keep.delivered_since)
            .bind(keep.ended_since)
            .bind(i64::from(keep.count))
            .bind(BATCH_SIZE)
            .bind(machine)
            .fetch_all(&mut *connection)
            .await?;
        sqlx::query(LANES).execute(connection).await?;
        Ok(gone
            .into_iter()
            .map(|(id, spool)| Pruned { id, spool: Some(spool).filter(|spool| !spool.is_empty()) })
            .collect())
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[PRUNE, LANES];
