//! The end of a task.

use super::{Ending, Lease, State};
use crate::{Error, Millis, Store, change, change_concurrently};

const FINISH: &str = "\
    UPDATE tasks SET state = $3, failure = $4, ended_at = $5, lease_until = NULL \
    WHERE id = $1 AND state = 'running' AND fence = $2 \
    RETURNING caller";

const RESULT: &str = "INSERT INTO task_results (task, caller, outcome) VALUES ($1, $2, $3)";

const CANCEL_WAITING: &str = "\
    UPDATE tasks SET state = 'cancelled', ended_at = $2 WHERE id = $1 AND state = 'queued' RETURNING caller";

const ASK: &str = "\
    UPDATE tasks SET cancel_requested_at = COALESCE(cancel_requested_at, $2) WHERE id = $1 AND state = 'running'";

const STATE: &str = "SELECT state FROM tasks WHERE id = $1";

/// The result of a request to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The task was waiting, and is cancelled now.
    Waiting,
    /// The task runs; its hub learns of the request with the next `extend`.
    Asked,
    /// The task had ended already, or does not exist.
    Not(Option<State>),
}

/// Ends a running task with its outcome, JSON of the domain, which is undelivered from now on. False when the lease
/// is lost: then another hub decides how the task ends.
pub async fn finish(
    store: &Store,
    lease: &Lease,
    ending: Ending,
    failure: Option<&str>,
    outcome: &str,
    now: Millis,
) -> Result<bool, Error> {
    let arguments = (lease.clone(), ending, failure.map(str::to_owned), outcome.to_owned(), now);
    change_concurrently!(store, arguments, |connection, (lease, ending, failure, outcome, now)| {
        let ended = sqlx::query_scalar(FINISH).bind(&lease.task).bind(lease.fence).bind(ending.name());
        let caller: Vec<String> = ended.bind(failure).bind(now).fetch_all(&mut *connection).await?;
        let [caller] = &caller[..] else { return Ok(false) };
        sqlx::query(RESULT).bind(&lease.task).bind(caller).bind(outcome).execute(connection).await?;
        Ok(true)
    })
}

/// Cancels a waiting task with `outcome`, or records the request for a running task.
pub async fn cancel(store: &Store, task: &str, outcome: &str, now: Millis) -> Result<Cancelled, Error> {
    change!(store, (task.to_owned(), outcome.to_owned(), now), |connection, (task, outcome, now)| {
        let waiting = sqlx::query_scalar(CANCEL_WAITING).bind(task).bind(now);
        let caller: Vec<String> = waiting.fetch_all(&mut *connection).await?;
        if let [caller] = &caller[..] {
            let result = sqlx::query(RESULT).bind(task).bind(caller).bind(outcome);
            result.execute(connection).await?;
            return Ok(Cancelled::Waiting);
        }
        let asked = sqlx::query(ASK).bind(task).bind(now).execute(&mut *connection).await?;
        if asked.rows_affected() == 1 {
            return Ok(Cancelled::Asked);
        }
        let state: Option<String> = sqlx::query_scalar(STATE).bind(task).fetch_optional(connection).await?;
        Ok(Cancelled::Not(state.as_deref().and_then(State::from_name)))
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[FINISH, RESULT, CANCEL_WAITING, ASK, STATE];
