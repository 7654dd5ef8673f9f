//! Undelivered outcomes, across disconnects and restarts.

use super::Task;
use crate::{Error, Millis, Store, change, read};

const OUTCOME: &str = "SELECT outcome FROM task_results WHERE task = $1";

const UNDELIVERED: &str = select_tasks!(
    "i.text",
    "JOIN task_results r ON r.task = t.id WHERE r.caller = $1 AND r.delivered_at IS NULL ORDER BY t.seq LIMIT $2"
);

const DELIVERED: &str = "UPDATE task_results SET delivered_at = $2 WHERE task = $1 AND delivered_at IS NULL";

/// Returns the outcome of an ended task.
pub async fn outcome(store: &Store, task: &str) -> Result<Option<String>, Error> {
    Ok(read!(store, sqlx::query_scalar(OUTCOME).bind(task), fetch_optional))
}

/// Returns the ended tasks of a caller with an undelivered outcome, oldest first, at most `limit`.
pub async fn undelivered(store: &Store, caller: &str, limit: u32) -> Result<Vec<Task>, Error> {
    let query = || sqlx::query_as(UNDELIVERED).bind(caller).bind(i64::from(limit));
    Ok(read!(store, query(), fetch_all))
}

/// Records that the outcome reached the caller. False when there is none, or when it was delivered before.
pub async fn mark_delivered(store: &Store, task: &str, now: Millis) -> Result<bool, Error> {
    change!(store, (task.to_owned(), now), |connection, (task, now)| {
        let query = sqlx::query(DELIVERED).bind(task).bind(now);
        Ok(query.execute(connection).await?.rows_affected() == 1)
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[OUTCOME, UNDELIVERED, DELIVERED];
