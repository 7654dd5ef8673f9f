//! Tasks that workers on other machines run for the hub of the machine that has their folders.
//!
//! The `hub` of such a row is [`holder`] of its worker, and no hub adopts it. Its `spool` is set once the agent was started.

use std::time::Instant;

use super::claim::observe;
use super::read::GET;
use super::{Lease, Task};
use crate::{Error, Millis, Store, change, read};

/// The beginning of `hub` in the row of a task that a worker holds.
const PREFIX: &str = "worker:";

const OFFERED: &str = select_tasks!(
    "SUBSTR(i.text, 1, 400)",
    "WHERE t.state = 'queued' AND t.machine IN ('', $1) ORDER BY t.priority DESC, t.seq LIMIT $2"
);

const CLAIM_FOR: &str = "\
    UPDATE tasks SET state = 'running', attempt = 1, fence = fence + 1, hub = $3, lease_until = $4, started_at = $5 \
    WHERE id = $1 AND state = 'queued' AND fence = $2 AND machine IN ('', $6) \
    RETURNING id";

const EXPIRED: &str = select_tasks!(
    "SUBSTR(i.text, 1, 400)",
    "WHERE t.state = 'running' AND t.hub LIKE 'worker:%' AND t.machine IN ('', $1) \
     AND (t.lease_until < $2 \
          OR EXISTS (SELECT 1 FROM workers w WHERE t.hub = 'worker:' || w.id AND w.revoked_at IS NOT NULL)) \
     ORDER BY t.seq"
);

const RELEASE: &str = "\
    UPDATE tasks SET state = 'queued', attempt = 0, fence = fence + 1, hub = NULL, lease_until = NULL, started_at = NULL \
    WHERE id = $1 AND state = 'running' AND fence = $2 AND spool IS NULL AND cancel_requested_at IS NULL";

/// Returns the `hub` of the tasks that a worker holds.
pub fn holder(worker: &str) -> String {
    format!("{PREFIX}{worker}")
}

/// Returns the worker of the `hub` of a row; `None` for a hub.
pub fn held_by(hub: &str) -> Option<&str> {
    hub.strip_prefix(PREFIX)
}

/// Returns the first `limit` queued tasks of this machine, with the first 400 characters of their texts.
pub async fn offered(store: &Store, limit: u32) -> Result<Vec<Task>, Error> {
    let query = || sqlx::query_as(OFFERED).bind(store.machine()).bind(i64::from(limit));
    Ok(read!(store, query(), fetch_all))
}

/// Claims one queued task of this machine for a worker. `None` when it is not queued with this fence any more.
pub async fn claim_for_worker(
    store: &Store,
    ticket: &Lease,
    worker: &str,
    now: Millis,
    lease_until: Millis,
) -> Result<Option<Task>, Error> {
    let began = Instant::now();
    let arguments = (ticket.clone(), holder(worker), now, lease_until, store.machine().to_owned());
    let claimed: Option<Task> =
        change!(store, arguments, |connection, (ticket, holder, now, lease_until, machine)| {
            let claimed: Vec<String> = sqlx::query_scalar(CLAIM_FOR)
                .bind(&ticket.task)
                .bind(ticket.fence)
                .bind(holder)
                .bind(lease_until)
                .bind(now)
                .bind(machine)
                .fetch_all(&mut *connection)
                .await?;
            match claimed.first() {
                Some(id) => sqlx::query_as(GET).bind(id).fetch_optional(connection).await,
                None => Ok(None),
            }
        })?;
    observe(store.timings(), began, now, claimed.as_slice());
    Ok(claimed)
}

/// Returns the tasks of this machine that workers hold with leases that ended before `before`, or that revoked workers hold,
/// oldest first.
pub async fn expired(store: &Store, before: Millis) -> Result<Vec<Task>, Error> {
    Ok(read!(store, sqlx::query_as(EXPIRED).bind(store.machine()).bind(before), fetch_all))
}

/// Puts a task back into the queue with a new fence. False when its agent was started, its cancellation was requested, or
/// the lease is lost.
pub async fn release(store: &Store, lease: &Lease) -> Result<bool, Error> {
    change!(store, lease.clone(), |connection, lease| {
        let query = sqlx::query(RELEASE).bind(&lease.task).bind(lease.fence);
        Ok(query.execute(connection).await?.rows_affected() == 1)
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[OFFERED, CLAIM_FOR, EXPIRED, RELEASE];
