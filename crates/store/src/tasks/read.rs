//! Queries of tasks.

use super::{State, Task};
use crate::{Error, Store, pattern, read};

pub(super) const GET: &str = select_tasks!("i.text", "WHERE t.id = $1");

/// The condition of a filter. `LIKE` of SQLite and `ILIKE` of PostgreSQL ignore the case of ASCII letters without a copy of
/// each text in lower case. Outcomes are searched once, in the order in which they are stored.
macro_rules! matching {
    ($like:literal, $skip_outcomes:literal, $refuted_failed:literal) => {
        concat!(
            "WHERE ($1 = '' OR t.caller = $1) AND ($2 = '' OR t.root = $2) \
               AND ($3 = '' OR $3 LIKE '%,' || CASE WHEN ",
            $refuted_failed,
            " = 1 AND t.state = 'succeeded' AND t.id IN (SELECT v.task FROM task_results v \
                  WHERE v.outcome LIKE '{\"status\":\"succeeded\",\"verdict\":\"refuted\"%') \
               THEN 'failed' ELSE t.state END || ',%') AND ($4 = '' OR i.text ",
            $like,
            " $4 ESCAPE '!' OR t.agent ",
            $like,
            " $4 ESCAPE '!' OR (",
            $skip_outcomes,
            " = 0 AND t.id IN (SELECT r.task FROM task_results r WHERE r.outcome ",
            $like,
            " $4 ESCAPE '!'))) "
        )
    };
}

/// A list shows the beginning of a task's text.
macro_rules! list {
    ($like:literal) => {
        select_tasks!(
            "SUBSTR(i.text, 1, 400)",
            matching!($like, "$7", "$8"),
            "AND t.seq < $5 ORDER BY t.seq DESC LIMIT $6"
        )
    };
}

macro_rules! count {
    ($like:literal) => {
        concat!(
            "SELECT COUNT(*) FROM tasks t JOIN task_inputs i ON i.task = t.id ",
            matching!($like, "$5", "$6")
        )
    };
}

/// Statements in the words of one engine.
struct Searches {
    list: &'static str,
    count: &'static str,
}

const SQLITE_SEARCHES: Searches = Searches { list: list!("LIKE"), count: count!("LIKE") };
const POSTGRES_SEARCHES: Searches = Searches { list: list!("ILIKE"), count: count!("ILIKE") };

/// The condition is the one of the index `tasks_unended`.
const UNENDED: &str = select_tasks!(
    "SUBSTR(i.text, 1, 400)",
    "WHERE t.state IN ('queued', 'running') ORDER BY t.seq DESC LIMIT $1"
);
const COUNT_UNENDED: &str = "SELECT COUNT(*) FROM tasks WHERE state IN ('queued', 'running')";

/// Callers of a machine take turns: the first tasks of all callers come before their second tasks.
const POSITION: &str = "\
    SELECT place FROM ( \
        SELECT id, ROW_NUMBER() OVER (ORDER BY round, turn, caller, priority DESC, seq) AS place FROM ( \
            SELECT t.id, t.caller, t.priority, t.seq, l.turn, \
                   ROW_NUMBER() OVER (PARTITION BY t.caller ORDER BY t.priority DESC, t.seq) AS round \
            FROM tasks t \
            JOIN (SELECT caller, MAX(turn) AS turn FROM task_lanes GROUP BY caller) l ON l.caller = t.caller \
            WHERE t.state = 'queued' AND t.machine = (SELECT o.machine FROM tasks o WHERE o.id = $1)) AS rounds) AS places \
    WHERE id = $1";

const COUNT_BY_STATE: &str = "SELECT state, COUNT(*) FROM tasks WHERE machine = $1 GROUP BY state";

const IDS: &str = "SELECT id FROM tasks WHERE ($1 = '' OR caller = $1) AND id LIKE $2 ESCAPE '!' ORDER BY seq DESC LIMIT $3";

const SAME_TEXT: &str = "\
    SELECT t.id FROM tasks o JOIN task_inputs oi ON oi.task = o.id \
    JOIN tasks t ON t.seq BETWEEN o.seq - $2 AND o.seq + $2 AND t.caller = o.caller AND t.workdir = o.workdir \
    JOIN task_inputs i ON i.task = t.id AND i.text = oi.text \
    WHERE o.id = $1 ORDER BY t.seq";

/// The filter of a list of tasks; the default is all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub caller: Option<String>,
    pub root: Option<String>,
    /// Any of these; empty means all.
    pub states: Vec<State>,
    /// Whether a task with a refuted result is failed for `states`, and not succeeded.
    pub refuted_failed: bool,
    /// Found in the task's text, its agent's name or its outcome, in any case (beyond ASCII, as written).
    pub text: Option<String>,
    /// Whether the text is not looked for in outcomes, which are long.
    pub skip_outcomes: bool,
}

impl Filter {
    /// Returns the states as `,queued,running,`; empty for all.
    fn states(&self) -> String {
        self.states.iter().fold(String::new(), |names, state| {
            let start = if names.is_empty() { "," } else { &names };
            format!("{start}{},", state.as_str())
        })
    }
}

fn searches(store: &Store) -> Searches {
    if store.is_shared() { POSTGRES_SEARCHES } else { SQLITE_SEARCHES }
}

/// Returns one task.
pub async fn get(store: &Store, task: &str) -> Result<Option<Task>, Error> {
    Ok(read!(store, sqlx::query_as(GET).bind(task), fetch_optional))
}

/// Returns at most `limit` tasks, newest first, older than the `seq` of `before` if it is given, each with the first
/// 400 characters of its text.
pub async fn list(
    store: &Store,
    filter: &Filter,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<Task>, Error> {
    let query = || {
        sqlx::query_as(searches(store).list)
            .bind(filter.caller.as_deref().unwrap_or_default())
            .bind(filter.root.as_deref().unwrap_or_default())
            .bind(filter.states())
            .bind(pattern(filter.text.as_deref().unwrap_or_default()))
            .bind(before.unwrap_or(i64::MAX))
            .bind(i64::from(limit))
            .bind(i64::from(filter.skip_outcomes))
            .bind(i64::from(filter.refuted_failed))
    };
    Ok(read!(store, query(), fetch_all))
}

/// Returns the number of tasks that pass the filter.
pub async fn count(store: &Store, filter: &Filter) -> Result<u64, Error> {
    let query = || {
        sqlx::query_scalar(searches(store).count)
            .bind(filter.caller.as_deref().unwrap_or_default())
            .bind(filter.root.as_deref().unwrap_or_default())
            .bind(filter.states())
            .bind(pattern(filter.text.as_deref().unwrap_or_default()))
            .bind(i64::from(filter.skip_outcomes))
            .bind(i64::from(filter.refuted_failed))
    };
    let count: i64 = read!(store, query(), fetch_one);
    Ok(count.cast_unsigned())
}

/// Returns at most `limit` queued and running tasks, newest first, each with the first 400 characters of its text.
pub async fn unended(store: &Store, limit: u32) -> Result<Vec<Task>, Error> {
    Ok(read!(store, sqlx::query_as(UNENDED).bind(i64::from(limit)), fetch_all))
}

/// Returns the number of queued and running tasks.
pub async fn count_unended(store: &Store) -> Result<u64, Error> {
    let count: i64 = read!(store, sqlx::query_scalar(COUNT_UNENDED), fetch_one);
    Ok(count.cast_unsigned())
}

/// Returns the number of this machine's tasks in each state that has some.
pub async fn count_by_state(store: &Store) -> Result<Vec<(State, u64)>, Error> {
    let query = || sqlx::query_as::<_, (State, i64)>(COUNT_BY_STATE).bind(store.machine());
    let counted = read!(store, query(), fetch_all).into_iter();
    Ok(counted.map(|(state, count)| (state, count.cast_unsigned())).collect())
}

/// Returns at most `limit` ids that begin with `start`, newest task first; of one caller if it is given.
pub async fn ids(store: &Store, caller: Option<&str>, start: &str, limit: u32) -> Result<Vec<String>, Error> {
    let plain = start.replace('!', "!!").replace('%', "!%").replace('_', "!_");
    let query = || {
        sqlx::query_scalar(IDS)
            .bind(caller.unwrap_or_default())
            .bind(format!("{plain}%"))
            .bind(i64::from(limit))
    };
    Ok(read!(store, query(), fetch_all))
}

/// Returns the ids of the tasks with the caller, the folder and the text of this one, this one included, in the order of their
/// creation. Only tasks that are at most `distance` before or after it are read.
pub async fn same_text(store: &Store, task: &str, distance: u32) -> Result<Vec<String>, Error> {
    Ok(read!(store, sqlx::query_scalar(SAME_TEXT).bind(task).bind(i64::from(distance)), fetch_all))
}

/// Returns the position of a waiting task, 1 for the next to be claimed, as if no runner were full.
pub async fn position(store: &Store, task: &str) -> Result<Option<u64>, Error> {
    let place: Option<i64> = read!(store, sqlx::query_scalar(POSITION).bind(task), fetch_optional);
    Ok(place.map(i64::cast_unsigned))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[GET, COUNT_BY_STATE, IDS, SAME_TEXT, POSITION];
#[cfg(test)]
pub(super) const OF_UNENDED: &[&str] = &[UNENDED, COUNT_UNENDED];
#[cfg(test)]
pub(super) const OF_POSTGRES: &[&str] = &[POSTGRES_SEARCHES.list, POSTGRES_SEARCHES.count];
#[cfg(test)]
pub(super) const OF_SQLITE: &[&str] = &[SQLITE_SEARCHES.list, SQLITE_SEARCHES.count];
