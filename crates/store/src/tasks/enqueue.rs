//! The insert of a task.

use sqlx::AnyConnection;

use super::read::GET;
use super::{NewTask, Task};
use crate::{Error, Store, change};

/// The statement itself checks the limits, so that two callers cannot exceed one together.
const INSERT: &str = "\
    INSERT INTO tasks (id, seq, caller, agent, runner, workdir, priority, parent, root, depth, state, attempt, fence, \
                       created_at, machine) \
    SELECT CAST($1 AS TEXT), COALESCE((SELECT MAX(seq) FROM tasks), 0) + 1, CAST($2 AS TEXT), CAST($3 AS TEXT), \
           CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS BIGINT), CAST($7 AS TEXT), CAST($8 AS TEXT), \
           CAST($9 AS BIGINT), 'queued', 0, 0, CAST($10 AS BIGINT), CAST($13 AS TEXT) \
    WHERE (SELECT COUNT(*) FROM tasks WHERE state = 'queued' AND machine = $13 AND caller = $2) < CAST($11 AS BIGINT) \
      AND (SELECT COUNT(*) FROM tasks WHERE state = 'queued' AND machine = $13) < CAST($12 AS BIGINT) \
    ON CONFLICT (id) DO NOTHING";

const INPUT: &str = "INSERT INTO task_inputs (task, text, options) VALUES ($1, $2, $3)";

/// A new caller joins at the end of the round; a known caller keeps its turn. No two callers share a turn, but for those that
/// join at the same time.
const LANE: &str = "\
    INSERT INTO task_lanes (caller, runner, turn) \
    SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), \
           COALESCE((SELECT MAX(turn) FROM task_lanes WHERE caller = $1), (SELECT MAX(turn) FROM task_lanes) + 1, 0) \
    WHERE NOT EXISTS (SELECT 1 FROM task_lanes WHERE caller = $1 AND runner = $2) \
    ON CONFLICT (caller, runner) DO NOTHING";

const EXISTS: &str = "SELECT COUNT(*) FROM tasks WHERE id = $1";

const WAITING_OF: &str = "SELECT COUNT(*) FROM tasks WHERE state = 'queued' AND machine = $2 AND caller = $1";

/// The number of tasks of one machine that may wait.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimits {
    pub each_caller: u32,
    pub total: u32,
}

/// Inserts a task of this machine as queued and returns its row, which is on disk then. No text may contain a NUL
/// character, because PostgreSQL rejects it.
pub async fn enqueue(store: &Store, new: NewTask, limits: QueueLimits) -> Result<Task, Error> {
    change!(store, (new, limits, store.machine().to_owned()), |connection, (new, limits, machine)| {
        let query = sqlx::query(INSERT)
            .bind(&new.id)
            .bind(&new.caller)
            .bind(&new.agent)
            .bind(&new.runner)
            .bind(&new.workdir)
            .bind(new.priority)
            .bind(&new.parent)
            .bind(&new.root)
            .bind(new.depth)
            .bind(new.created_at)
            .bind(i64::from(limits.each_caller))
            .bind(i64::from(limits.total))
            .bind(machine);
        if query.execute(&mut *connection).await?.rows_affected() == 0 {
            return rejection(connection, new, *limits, machine).await.map(Err);
        }
        sqlx::query(INPUT).bind(&new.id).bind(&new.text).bind(&new.options).execute(&mut *connection).await?;
        sqlx::query(LANE).bind(&new.caller).bind(&new.runner).execute(&mut *connection).await?;
        sqlx::query_as(GET).bind(&new.id).fetch_one(connection).await.map(Ok)
    })?
}

async fn rejection(
    connection: &mut AnyConnection,
    new: &NewTask,
    limits: QueueLimits,
    machine: &str,
) -> Result<Error, sqlx::Error> {
    let known: i64 = sqlx::query_scalar(EXISTS).bind(&new.id).fetch_one(&mut *connection).await?;
    if known > 0 {
        return Ok(Error::Exists { id: new.id.clone() });
    }
    let waiting = sqlx::query_scalar(WAITING_OF).bind(&new.caller).bind(machine);
    let waiting: i64 = waiting.fetch_one(&mut *connection).await?;
    let own = waiting >= i64::from(limits.each_caller);
    Ok(Error::QueueFull { waiting: if own { limits.each_caller } else { limits.total }, own })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[INSERT, INPUT, LANE, EXISTS, WAITING_OF];
