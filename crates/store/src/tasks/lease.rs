//! Leases of running tasks: renewed by their hub, or taken over from a hub that has ended.

use super::{Lease, Task};
use crate::{Error, Millis, Store, verb};

const EXTEND: &str = "\
    UPDATE tasks SET lease_until = $3, spool = CASE WHEN $4 = '' THEN spool ELSE $4 END \
    WHERE id = $1 AND state = 'running' AND fence = $2 \
    RETURNING CASE WHEN cancel_requested_at IS NULL THEN 0 ELSE 1 END";

const MOVE: &str = "\
    UPDATE tasks SET runner = $3, attempt = attempt + 1 WHERE id = $1 AND state = 'running' AND fence = $2";

const DEAD: &str = select_tasks!(
    "i.text",
    "WHERE t.state = 'running' AND t.hub <> $1 AND t.lease_until < $2 ORDER BY t.seq"
);

const TAKE_OVER: &str = "\
    UPDATE tasks SET hub = $3, lease_until = $4, fence = fence + 1 \
    WHERE id = $1 AND state = 'running' AND fence = $2 \
    RETURNING id";

const ROW: &str = select_tasks!("i.text", "WHERE t.id = $1");

/// Extends the lease of a task to `lease_until`, and records the folder of its run once it is known. `None` when
/// this hub has lost the lease; then its run must end. Otherwise returns whether the task is to be cancelled.
pub async fn extend(
    store: &Store,
    lease: &Lease,
    lease_until: Millis,
    spool: Option<&str>,
) -> Result<Option<bool>, Error> {
    let verb = verb!(|connection,
                      (lease, lease_until, spool): &(Lease, Millis, String)|
     -> Result<Option<bool>, sqlx::Error> {
        let asked: Vec<i64> = sqlx::query_scalar(EXTEND)
            .bind(&lease.task)
            .bind(lease.fence)
            .bind(lease_until)
            .bind(spool)
            .fetch_all(connection)
            .await?;
        Ok(asked.first().map(|asked| *asked == 1))
    });
    store.write((lease.clone(), lease_until, spool.unwrap_or_default().to_owned()), verb).await
}

/// Records that a running task continues on another runner, as its next attempt. False when the lease is lost.
pub async fn move_to_runner(store: &Store, lease: &Lease, runner: &str) -> Result<bool, Error> {
    let verb = verb!(|connection, (lease, runner): &(Lease, String)| -> Result<bool, sqlx::Error> {
        let query = sqlx::query(MOVE).bind(&lease.task).bind(lease.fence).bind(runner);
        Ok(query.execute(connection).await?.rows_affected() == 1)
    });
    store.write((lease.clone(), runner.to_owned()), verb).await
}

/// Returns running tasks of other hubs than `hub` with a lease that ended before `now`, oldest first. A hub that
/// knows that the process before it has ended passes `Millis::MAX`.
pub async fn expired_leases(store: &Store, hub: &str, now: Millis) -> Result<Vec<Task>, Error> {
    let mut connection = store.read().await?;
    Ok(sqlx::query_as(DEAD).bind(hub).bind(now).fetch_all(&mut *connection).await?)
}

/// Takes a running task over with a new fence. `None` when another hub was faster, or the task has ended.
pub async fn take_over(
    store: &Store,
    old: &Lease,
    hub: &str,
    lease_until: Millis,
) -> Result<Option<Task>, Error> {
    let verb = verb!(|connection,
                      (old, hub, lease_until): &(Lease, String, Millis)|
     -> Result<Option<Task>, sqlx::Error> {
        let taken: Vec<String> = sqlx::query_scalar(TAKE_OVER)
            .bind(&old.task)
            .bind(old.fence)
            .bind(hub)
            .bind(lease_until)
            .fetch_all(&mut *connection)
            .await?;
        match taken.first() {
            Some(id) => sqlx::query_as(ROW).bind(id).fetch_optional(connection).await,
            None => Ok(None),
        }
    });
    store.write((old.clone(), hub.to_owned(), lease_until), verb).await
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[EXTEND, MOVE, DEAD, TAKE_OVER, ROW];
