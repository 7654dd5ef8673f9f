//! Leases of running tasks: renewed by their hub, or taken over from a hub that has ended.

use super::read::GET;
use super::{Lease, Task};
use crate::{Error, Millis, Store, change, change_concurrently, read};

const EXTEND: &str = "\
    UPDATE tasks SET lease_until = $3, spool = CASE WHEN $4 = '' THEN spool ELSE $4 END \
    WHERE id = $1 AND state = 'running' AND fence = $2 \
    RETURNING CASE WHEN cancel_requested_at IS NULL THEN 0 ELSE 1 END";

const MOVE: &str = "\
    UPDATE tasks SET runner = $3, attempt = attempt + 1 WHERE id = $1 AND state = 'running' AND fence = $2";

const RUNNING: &str = select_tasks!(
    "i.text",
    "WHERE t.state = 'running' AND (t.hub = $1 OR t.lease_until < $2 AND t.machine IN ('', $3) AND t.hub NOT LIKE 'worker:%') ORDER BY t.seq"
);

const TAKE_OVER: &str = "\
    UPDATE tasks SET hub = $3, lease_until = $4, fence = fence + 1 \
    WHERE id = $1 AND state = 'running' AND fence = $2 \
    RETURNING id";

/// Extends the lease of a task to `lease_until`, and records the folder of its run once it is known. `None` when
/// this hub has lost the lease; then its run must end. Otherwise returns whether the task is to be cancelled.
pub async fn extend(
    store: &Store,
    lease: &Lease,
    lease_until: Millis,
    spool: Option<&str>,
) -> Result<Option<bool>, Error> {
    let arguments = (lease.clone(), lease_until, spool.unwrap_or_default().to_owned());
    change_concurrently!(store, arguments, |connection, (lease, lease_until, spool)| {
        let asked: Vec<i64> = sqlx::query_scalar(EXTEND)
            .bind(&lease.task)
            .bind(lease.fence)
            .bind(lease_until)
            .bind(spool)
            .fetch_all(connection)
            .await?;
        Ok(asked.first().map(|asked| *asked == 1))
    })
}

/// Records that a running task continues on another runner, as its next attempt. False when the lease is lost.
pub async fn move_to_runner(store: &Store, lease: &Lease, runner: &str) -> Result<bool, Error> {
    change!(store, (lease.clone(), runner.to_owned()), |connection, (lease, runner)| {
        let query = sqlx::query(MOVE).bind(&lease.task).bind(lease.fence).bind(runner);
        Ok(query.execute(connection).await?.rows_affected() == 1)
    })
}

/// Returns the running tasks of `hub`, and those of this machine that other hubs hold with a lease that ended before `now`,
/// oldest first, without those of workers. A hub that knows that the process before it has ended passes `Millis::MAX`.
pub async fn running(store: &Store, hub: &str, now: Millis) -> Result<Vec<Task>, Error> {
    Ok(read!(store, sqlx::query_as(RUNNING).bind(hub).bind(now).bind(store.machine()), fetch_all))
}

/// Takes a running task over with a new fence. `None` when another hub was faster, or the task has ended.
pub async fn take_over(
    store: &Store,
    old: &Lease,
    hub: &str,
    lease_until: Millis,
) -> Result<Option<Task>, Error> {
    change!(store, (old.clone(), hub.to_owned(), lease_until), |connection, (old, hub, lease_until)| {
        let taken: Vec<String> = sqlx::query_scalar(TAKE_OVER)
            .bind(&old.task)
            .bind(old.fence)
            .bind(hub)
            .bind(lease_until)
            .fetch_all(&mut *connection)
            .await?;
        match taken.first() {
            Some(id) => sqlx::query_as(GET).bind(id).fetch_optional(connection).await,
            None => Ok(None),
        }
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[EXTEND, MOVE, RUNNING, TAKE_OVER];
