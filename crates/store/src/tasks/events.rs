//! Events of a task's run, append-only.

use super::{Lease, NewEvent, TaskEvent};
use crate::{Error, Store, change, read};

/// Events kept of one task; the rest of a longer run is in its spool only.
const EACH_TASK: i64 = 10_000;

const APPEND: &str = "\
    INSERT INTO task_events (task, seq, at, kind, data) \
    SELECT t.id, COALESCE((SELECT MAX(e.seq) FROM task_events e WHERE e.task = t.id), 0) + 1, \
           CAST($3 AS BIGINT), CAST($4 AS TEXT), CAST($5 AS TEXT) \
    FROM tasks t WHERE t.id = $1 AND t.state = 'running' AND t.fence = $2 \
      AND NOT EXISTS (SELECT 1 FROM task_events e WHERE e.task = t.id AND e.seq >= CAST($6 AS BIGINT))";

const LAST: &str = "\
    SELECT COALESCE((SELECT MAX(e.seq) FROM task_events e WHERE e.task = t.id), 0) \
    FROM tasks t WHERE t.id = $1 AND t.state = 'running' AND t.fence = $2";

const AFTER: &str = "\
    SELECT seq, at, kind, data FROM task_events WHERE task = $1 AND seq > $2 ORDER BY seq LIMIT $3";

const BEFORE: &str = "\
    SELECT seq, at, kind, data FROM task_events WHERE task = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3";

/// Appends events and returns the last `seq` of the task; `None` when the lease is lost. Events past 10,000 of a task
/// are dropped.
pub async fn append_events(
    store: &Store,
    lease: &Lease,
    events: Vec<NewEvent>,
) -> Result<Option<i64>, Error> {
    change!(store, (lease.clone(), events), |connection, (lease, events)| {
        for event in events {
            let query = sqlx::query(APPEND)
                .bind(&lease.task)
                .bind(lease.fence)
                .bind(event.at)
                .bind(&event.kind)
                .bind(&event.data)
                .bind(EACH_TASK);
            if query.execute(&mut *connection).await?.rows_affected() == 0 {
                break;
            }
        }
        sqlx::query_scalar(LAST).bind(&lease.task).bind(lease.fence).fetch_optional(connection).await
    })
}

/// Returns at most `limit` events of a task after `after`, in order.
pub async fn events(store: &Store, task: &str, after: i64, limit: u32) -> Result<Vec<TaskEvent>, Error> {
    read(store, AFTER, task, after, limit).await
}

/// Returns the last `limit` events of a task before the one numbered `before`, in order.
pub async fn events_before(
    store: &Store,
    task: &str,
    before: i64,
    limit: u32,
) -> Result<Vec<TaskEvent>, Error> {
    let mut events = read(store, BEFORE, task, before, limit).await?;
    events.reverse();
    Ok(events)
}

async fn read(
    store: &Store,
    statement: &'static str,
    task: &str,
    border: i64,
    limit: u32,
) -> Result<Vec<TaskEvent>, Error> {
    let query = || sqlx::query_as(statement).bind(task).bind(border).bind(i64::from(limit));
    Ok(read!(store, query(), fetch_all))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[APPEND, LAST, AFTER, BEFORE];
