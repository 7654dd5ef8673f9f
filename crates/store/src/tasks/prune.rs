//! The deletion of old tasks, with their events and outcomes.

use crate::{Error, Millis, Store, verb};

/// Tasks that go in one transaction, so that nobody waits long behind them.
const BATCH_SIZE: i64 = 200;

/// Events and outcomes go with their task.
const PRUNE: &str = "\
    DELETE FROM tasks WHERE ended_at IS NOT NULL AND id IN ( \
        SELECT t.id FROM tasks t JOIN task_results r ON r.task = t.id \
        WHERE t.ended_at IS NOT NULL AND (r.delivered_at < $1 OR t.ended_at < $2 OR t.seq <= COALESCE( \
            (SELECT k.seq FROM tasks k WHERE k.ended_at IS NOT NULL ORDER BY k.seq DESC LIMIT 1 OFFSET $3), 0)) \
        ORDER BY t.seq LIMIT $4) \
    RETURNING id, COALESCE(spool, '')";

/// Lanes of callers that nothing waits for, and that a thousand others went before.
const LANES: &str = "\
    DELETE FROM task_lanes WHERE turn < (SELECT MAX(l.turn) FROM task_lanes l) - 1000 AND NOT EXISTS ( \
        SELECT 1 FROM tasks q \
        WHERE q.state = 'queued' AND q.caller = task_lanes.caller AND q.runner = task_lanes.runner)";

/// What stays.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// Ended tasks whose outcome was fetched before this instant go.
    pub delivered_since: Millis,
    /// Tasks that ended before this instant go, even if nobody fetched their outcome.
    pub ended_since: Millis,
    /// Of ended tasks the youngest stay, so many at most.
    pub count: u32,
}

/// A task that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    pub id: String,
    /// The folder of its run, which is the caller's to remove.
    pub spool: Option<String>,
}

/// Removes ended tasks that `keep` does not keep, 200 at most, oldest first, and says which. Ask again until there are none.
pub async fn prune(store: &Store, keep: Keep) -> Result<Vec<Pruned>, Error> {
    let verb = verb!(|connection, keep: &Keep| -> Result<Vec<Pruned>, sqlx::Error> {
        let gone: Vec<(String, String)> = sqlx::query_as(PRUNE)
            .bind(keep.delivered_since)
            .bind(keep.ended_since)
            .bind(i64::from(keep.count))
            .bind(BATCH_SIZE)
            .fetch_all(&mut *connection)
            .await?;
        sqlx::query(LANES).execute(connection).await?;
        Ok(gone
            .into_iter()
            .map(|(id, spool)| Pruned { id, spool: Some(spool).filter(|spool| !spool.is_empty()) })
            .collect())
    });
    store.write(keep, verb).await
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[PRUNE, LANES];
