//! The insert of a task.

use sqlx::AnyConnection;

use super::{NewTask, State, Task};
use crate::{Error, Store, verb};

/// The statement itself checks the limits, so that two callers cannot exceed one together.
const INSERT: &str = "\
    INSERT INTO tasks (id, seq, caller, agent, runner, workdir, priority, parent, root, depth, state, attempt, fence, \
                       created_at) \
    SELECT CAST($1 AS TEXT), COALESCE((SELECT MAX(seq) FROM tasks), 0) + 1, CAST($2 AS TEXT), CAST($3 AS TEXT), \
           CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS BIGINT), CAST($7 AS TEXT), CAST($8 AS TEXT), \
           CAST($9 AS BIGINT), 'queued', 0, 0, CAST($10 AS BIGINT) \
    WHERE (SELECT COUNT(*) FROM tasks WHERE state = 'queued' AND caller = $2) < CAST($11 AS BIGINT) \
      AND (SELECT COUNT(*) FROM tasks WHERE state = 'queued') < CAST($12 AS BIGINT) \
    ON CONFLICT (id) DO NOTHING \
    RETURNING seq";

const INPUT: &str = "INSERT INTO task_inputs (task, text, options) VALUES ($1, $2, $3)";

/// A new caller joins at the end of the round; a known caller keeps its turn.
const LANE: &str = "\
    INSERT INTO task_lanes (caller, runner, turn) \
    SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), \
           COALESCE((SELECT MAX(turn) FROM task_lanes WHERE caller = $1), (SELECT MAX(turn) FROM task_lanes), 0) \
    WHERE NOT EXISTS (SELECT 1 FROM task_lanes WHERE caller = $1 AND runner = $2) \
    ON CONFLICT (caller, runner) DO NOTHING";

const EXISTS: &str = "SELECT COUNT(*) FROM tasks WHERE id = $1";

const WAITING_OF: &str = "SELECT COUNT(*) FROM tasks WHERE state = 'queued' AND caller = $1";

/// The number of tasks that may wait.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimits {
    pub each_caller: u32,
    pub total: u32,
}

/// Inserts a task as queued and returns its row, which is on disk then. No text may contain a NUL character, because
/// PostgreSQL rejects it.
pub async fn enqueue(store: &Store, new: NewTask, limits: QueueLimits) -> Result<Task, Error> {
    let verb = verb!(|connection,
                      (new, limits): &(NewTask, QueueLimits)|
     -> Result<Result<Task, Error>, sqlx::Error> {
        let seq: Vec<i64> = sqlx::query_scalar(INSERT)
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
            .fetch_all(&mut *connection)
            .await?;
        let [seq] = seq[..] else {
            return why_not(connection, new, *limits).await.map(Err);
        };
        sqlx::query(INPUT).bind(&new.id).bind(&new.text).bind(&new.options).execute(&mut *connection).await?;
        sqlx::query(LANE).bind(&new.caller).bind(&new.runner).execute(&mut *connection).await?;
        Ok(Ok(row(new, seq)))
    });
    store.write((new, limits), verb).await?
}

async fn why_not(
    connection: &mut AnyConnection,
    new: &NewTask,
    limits: QueueLimits,
) -> Result<Error, sqlx::Error> {
    let known: i64 = sqlx::query_scalar(EXISTS).bind(&new.id).fetch_one(&mut *connection).await?;
    if known > 0 {
        return Ok(Error::Exists { id: new.id.clone() });
    }
    let waiting: i64 = sqlx::query_scalar(WAITING_OF).bind(&new.caller).fetch_one(&mut *connection).await?;
    let own = waiting >= i64::from(limits.each_caller);
    Ok(Error::QueueFull { waiting: if own { limits.each_caller } else { limits.total }, own })
}

fn row(new: &NewTask, seq: i64) -> Task {
    Task {
        id: new.id.clone(),
        seq,
        caller: new.caller.clone(),
        agent: new.agent.clone(),
        runner: new.runner.clone(),
        text: new.text.clone(),
        workdir: new.workdir.clone(),
        priority: new.priority,
        parent: new.parent.clone(),
        root: new.root.clone(),
        depth: new.depth,
        options: new.options.clone(),
        state: State::Queued,
        attempt: 0,
        fence: 0,
        hub: None,
        lease_until: None,
        spool: None,
        cancel_requested_at: None,
        failure: None,
        created_at: new.created_at,
        started_at: None,
        ended_at: None,
    }
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[INSERT, INPUT, LANE, EXISTS, WAITING_OF];
