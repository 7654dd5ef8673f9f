//! The claim of the next queued task by a hub.

use super::Task;
use super::read::GET;
use crate::{Error, Millis, Store, change};

/// Runners that one claim can name at most.
const RUNNERS: usize = 16;

/// The head of each lane is a seek in an index; the lanes' turns make callers equal. The inner query may return the
/// same task to two hubs at once; the outer condition lets one of them win.
const CLAIM: &str = "\
    UPDATE tasks SET state = 'running', attempt = 1, fence = fence + 1, hub = $1, lease_until = $2, started_at = $3 \
    WHERE state = 'queued' AND id = ( \
        SELECT q.id FROM (VALUES \
            (CAST($5 AS TEXT), CAST($6 AS BIGINT)), ($7, $8), ($9, $10), ($11, $12), ($13, $14), ($15, $16), \
            ($17, $18), ($19, $20), ($21, $22), ($23, $24), ($25, $26), ($27, $28), ($29, $30), ($31, $32), \
            ($33, $34), ($35, $36)) AS slots \
        JOIN task_lanes l ON l.runner = slots.column1 \
        JOIN tasks q ON q.id = (SELECT head.id FROM tasks head \
            WHERE head.state = 'queued' AND head.caller = l.caller AND head.runner = l.runner \
            ORDER BY head.priority DESC, head.seq LIMIT 1) \
        WHERE (SELECT COUNT(*) FROM tasks r WHERE r.state = 'running' AND r.hub = $1) < CAST($4 AS BIGINT) \
          AND (SELECT COUNT(*) FROM tasks r WHERE r.state = 'running' AND r.hub = $1 \
               AND r.runner = slots.column1) < slots.column2 \
        ORDER BY l.turn, q.priority DESC, q.seq LIMIT 1) \
    RETURNING id, caller";

const TURN: &str = "\
    UPDATE task_lanes SET turn = (SELECT MAX(turn) FROM task_lanes) + 1 WHERE caller = $1";

/// The number of tasks that a hub runs at once on a runner.
#[derive(Clone, Debug)]
pub struct Slots {
    pub runner: String,
    /// 0 while the runner is paused.
    pub slots: u32,
}

/// The tasks that a hub can take now.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The claiming process; each start has a new name, so that tasks of the process before it are recognized.
    pub hub: String,
    pub now: Millis,
    pub lease_until: Millis,
    /// Tasks that this hub runs at once.
    pub total: u32,
    /// The runners of this hub; tasks for other runners are left to other hubs. The first 16 count.
    pub runners: Vec<Slots>,
    /// Tasks to claim in one call at most.
    pub at_most: u32,
}

/// Claims the next tasks that the limits allow: callers in turn, and each caller's tasks by priority, then by age.
/// They are running then, with a lease of this hub. Await it to its end: a dropped call may have claimed tasks,
/// which stay with this hub.
pub async fn claim(store: &Store, claim: Claim) -> Result<Vec<Task>, Error> {
    change!(store, claim, |connection, claim| {
        let mut tasks = Vec::new();
        for _ in 0..claim.at_most {
            let mut query = sqlx::query_as(CLAIM)
                .bind(&claim.hub)
                .bind(claim.lease_until)
                .bind(claim.now)
                .bind(i64::from(claim.total));
            // No task waits for a runner without a name.
            let named = claim.runners.iter().map(|runner| (runner.runner.as_str(), i64::from(runner.slots)));
            for (runner, slots) in named.chain(std::iter::repeat(("", 0))).take(RUNNERS) {
                query = query.bind(runner).bind(slots);
            }
            let claimed: Vec<(String, String)> = query.fetch_all(&mut *connection).await?;
            let [(id, caller)] = &claimed[..] else { break };
            sqlx::query(TURN).bind(caller).execute(&mut *connection).await?;
            tasks.push(sqlx::query_as(GET).bind(id).fetch_one(&mut *connection).await?);
        }
        Ok(tasks)
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[CLAIM, TURN];
