//! Queries of tasks.

use super::{State, Task};
use crate::{Error, Store, pattern, read};

pub(super) const GET: &str = select_tasks!("i.text", "WHERE t.id = $1");

/// A list shows the beginning of a task's text.
const LIST: &str = select_tasks!(
    "SUBSTR(i.text, 1, 400)",
    "WHERE ($1 = '' OR t.caller = $1) AND ($2 = '' OR t.root = $2) \
       AND ($3 = '' OR $3 LIKE '%,' || t.state || ',%') \
       AND ($4 = '' OR LOWER(i.text) LIKE $4 ESCAPE '!' OR LOWER(t.agent) LIKE $4 ESCAPE '!' OR LOWER(COALESCE( \
            (SELECT r.outcome FROM task_results r WHERE r.task = t.id AND $7 = 0), '')) LIKE $4 ESCAPE '!') \
       AND t.seq < $5 \
     ORDER BY t.seq DESC LIMIT $6"
);

const COUNT: &str = "\
    SELECT COUNT(*) FROM tasks t JOIN task_inputs i ON i.task = t.id \
    WHERE ($1 = '' OR t.caller = $1) AND ($2 = '' OR t.root = $2) \
      AND ($3 = '' OR $3 LIKE '%,' || t.state || ',%') \
      AND ($4 = '' OR LOWER(i.text) LIKE $4 ESCAPE '!' OR LOWER(t.agent) LIKE $4 ESCAPE '!' OR LOWER(COALESCE( \
           (SELECT r.outcome FROM task_results r WHERE r.task = t.id AND $5 = 0), '')) LIKE $4 ESCAPE '!')";

/// Callers of a machine take turns: the first tasks of all callers come before their second tasks.
const POSITION: &str = "\
    SELECT place FROM ( \
        SELECT id, ROW_NUMBER() OVER (ORDER BY round, turn, priority DESC, seq) AS place FROM ( \
            SELECT t.id, t.priority, t.seq, l.turn, \
                   ROW_NUMBER() OVER (PARTITION BY t.caller ORDER BY t.priority DESC, t.seq) AS round \
            FROM tasks t \
            JOIN (SELECT caller, MAX(turn) AS turn FROM task_lanes GROUP BY caller) l ON l.caller = t.caller \
            WHERE t.state = 'queued' AND t.machine = (SELECT o.machine FROM tasks o WHERE o.id = $1)) AS rounds) AS places \
    WHERE id = $1";

const COUNT_BY_STATE: &str = "SELECT state, COUNT(*) FROM tasks WHERE machine = $1 GROUP BY state";

const IDS: &str = "SELECT id FROM tasks WHERE ($1 = '' OR caller = $1) AND id LIKE $2 ESCAPE '!' ORDER BY seq DESC LIMIT $3";

/// The filter of a list of tasks; the default is all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub caller: Option<String>,
    pub root: Option<String>,
    /// Any of these; empty means all.
    pub states: Vec<State>,
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
    let query = sqlx::query_as(LIST)
        .bind(filter.caller.as_deref().unwrap_or_default())
        .bind(filter.root.as_deref().unwrap_or_default())
        .bind(filter.states())
        .bind(pattern(filter.text.as_deref().unwrap_or_default()))
        .bind(before.unwrap_or(i64::MAX))
        .bind(i64::from(limit))
        .bind(i64::from(filter.skip_outcomes));
    Ok(read!(store, query, fetch_all))
}

/// Returns the number of tasks that pass the filter.
pub async fn count(store: &Store, filter: &Filter) -> Result<u64, Error> {
    let query = sqlx::query_scalar(COUNT)
        .bind(filter.caller.as_deref().unwrap_or_default())
        .bind(filter.root.as_deref().unwrap_or_default())
        .bind(filter.states())
        .bind(pattern(filter.text.as_deref().unwrap_or_default()))
        .bind(i64::from(filter.skip_outcomes));
    let count: i64 = read!(store, query, fetch_one);
    Ok(count.cast_unsigned())
}

/// Returns the number of this machine's tasks in each state that has some.
pub async fn count_by_state(store: &Store) -> Result<Vec<(State, u64)>, Error> {
    let query = sqlx::query_as::<_, (State, i64)>(COUNT_BY_STATE).bind(store.machine());
    let counted = read!(store, query, fetch_all).into_iter();
    Ok(counted.map(|(state, count)| (state, count.cast_unsigned())).collect())
}

/// Returns at most `limit` ids that begin with `start`, newest task first; of one caller if it is given.
pub async fn ids(store: &Store, caller: Option<&str>, start: &str, limit: u32) -> Result<Vec<String>, Error> {
    let plain = start.replace('!', "!!").replace('%', "!%").replace('_', "!_");
    let query = sqlx::query_scalar(IDS)
        .bind(caller.unwrap_or_default())
        .bind(format!("{plain}%"))
        .bind(i64::from(limit));
    Ok(read!(store, query, fetch_all))
}

/// Returns the position of a waiting task, 1 for the next to be claimed, as if no runner were full.
pub async fn position(store: &Store, task: &str) -> Result<Option<u64>, Error> {
    let place: Option<i64> = read!(store, sqlx::query_scalar(POSITION).bind(task), fetch_optional);
    Ok(place.map(i64::cast_unsigned))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[GET, LIST, COUNT, COUNT_BY_STATE, IDS, POSITION];
