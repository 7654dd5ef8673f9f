//! The claim of the next queued tasks by a hub, in each engine's best way.

mod postgres;
mod sqlite;

use std::time::{Duration, Instant};

use sqlx::AnyConnection;

use super::Task;
use super::read::GET;
use crate::{Error, Millis, POSTGRES, Store, Timings, change_concurrently};

/// Runners that one claim can name at most.
const RUNNERS: usize = 16;

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

/// Claims the next tasks of this machine that the limits allow: callers in turn, and each caller's tasks by priority,
/// then by age. They are running then, with a lease of this hub. Await it to its end: a dropped call may have claimed
/// tasks, which stay with this hub.
pub async fn claim(store: &Store, claim: Claim) -> Result<Vec<Task>, Error> {
    let (began, now, timings) = (Instant::now(), claim.now, store.timings());
    let claimed =
        change_concurrently!(store, (claim, store.machine().to_owned()), |connection, (claim, machine)| {
            let mut tasks = Vec::new();
            while tasks.len() < claim.at_most as usize {
                let Some(task) = next(connection, claim, machine).await? else { break };
                tasks.push(task);
            }
            Ok(tasks)
        })?;
    observe(timings, began, now, &claimed);
    Ok(claimed)
}

/// Counts a claim that began at `began` and found these tasks at `now`; none is not counted.
pub(super) fn observe(timings: &Timings, began: Instant, now: Millis, claimed: &[Task]) {
    if !claimed.is_empty() {
        timings.claims.observe(began.elapsed());
    }
    for task in claimed {
        timings.waits.observe(Duration::from_millis(u64::try_from(now - task.created_at).unwrap_or(0)));
    }
}

async fn next(
    connection: &mut AnyConnection,
    claim: &Claim,
    machine: &str,
) -> Result<Option<Task>, sqlx::Error> {
    let (statement, turn) = match connection.backend_name() {
        POSTGRES => (postgres::CLAIM, postgres::TURN),
        _ => (sqlite::CLAIM, sqlite::TURN),
    };
    let mut query = sqlx::query_as(statement)
        .bind(&claim.hub)
        .bind(claim.lease_until)
        .bind(claim.now)
        .bind(i64::from(claim.total));
    // No task waits for a runner without a name.
    let named = claim.runners.iter().map(|runner| (runner.runner.as_str(), i64::from(runner.slots)));
    for (runner, slots) in named.chain(std::iter::repeat(("", 0))).take(RUNNERS) {
        query = query.bind(runner).bind(slots);
    }
    let claimed: Option<(String, String)> = query.bind(machine).fetch_optional(&mut *connection).await?;
    let Some((id, caller)) = claimed else { return Ok(None) };
    sqlx::query(turn).bind(caller).execute(&mut *connection).await?;
    sqlx::query_as(GET).bind(id).fetch_optional(connection).await
}

#[cfg(test)]
pub(crate) const OF_POSTGRES: &[&str] = &[postgres::CLAIM, postgres::TURN];
#[cfg(test)]
pub(crate) const OF_SQLITE: &[&str] = &[sqlite::CLAIM, sqlite::TURN];
