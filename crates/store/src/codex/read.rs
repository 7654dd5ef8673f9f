//! Queries of threads.

use serde::{Deserialize, Serialize};

use super::{Item, Thread};
use crate::{Error, Store, pattern, read};

/// Selects threads with the end of their last turn.
macro_rules! select_threads {
    ($rest:literal) => {
        concat!(
            "SELECT t.id, t.backend, t.version, t.cwd, t.model, t.title, t.settings, t.tokens, t.context, \
                    t.context_window, t.archived, t.parent, t.machine, t.created_at, t.updated_at, u.ended AS last_end, u.failure AS last_failure \
             FROM codex_threads t LEFT JOIN codex_turns u ON u.thread = t.id AND u.turn = \
                  (SELECT MAX(v.turn) FROM codex_turns v WHERE v.thread = t.id AND v.started_at = \
                       (SELECT MAX(w.started_at) FROM codex_turns w WHERE w.thread = t.id)) ",
            $rest
        )
    };
}

const ONE: &str = select_threads!("WHERE t.id = $1");

const LIST: &str = select_threads!(
    "WHERE (t.updated_at < $1 OR (t.updated_at = $1 AND t.id < $2)) \
       AND t.archived = $5 AND (t.parent = $6 OR ($3 <> '' AND $6 = '')) \
       AND ($3 = '' OR LOWER(t.title) LIKE $3 ESCAPE '!' OR LOWER(t.cwd) LIKE $3 ESCAPE '!' OR EXISTS \
            (SELECT 1 FROM codex_items i WHERE i.thread = t.id AND LOWER(i.text) LIKE $3 ESCAPE '!')) \
     ORDER BY t.updated_at DESC, t.id DESC LIMIT $4"
);

/// Counts the threads in a folder, without one and its agents.
const OTHERS: &str = "SELECT COUNT(*) FROM codex_threads WHERE cwd = $1 AND id <> $2 AND parent <> $2";

const ITEMS: &str = "\
    SELECT seq, id, turn, kind, body, at FROM codex_items \
    WHERE thread = $1 AND seq < $2 AND ($3 = '' OR LOWER(text) LIKE $3 ESCAPE '!') ORDER BY seq DESC LIMIT $4";

const LAST: &str = "\
    SELECT seq, id, turn, kind, body, at FROM codex_items WHERE thread = $1 AND kind = $2 ORDER BY seq DESC LIMIT 1";

const DIFFS: &str = "\
    SELECT turn, diff FROM codex_turns WHERE thread = $1 AND diff <> '' ORDER BY started_at, turn";

/// The filter of a list of threads or items.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Query {
    /// Found in its text, in any case (beyond ASCII, as written); empty means all.
    pub text: String,
    pub limit: u32,
    /// Of threads: only the archived ones, instead of the others.
    pub archived: bool,
    /// Of threads: only those of the agents of this thread. Empty means the threads of the user; a search for a text
    /// finds those of agents too.
    pub parent: String,
}

/// Returns whether other threads than this one and its agents work in its folder.
pub async fn is_folder_shared(store: &Store, thread: &Thread) -> Result<bool, Error> {
    let query = || sqlx::query_scalar(OTHERS).bind(thread.cwd.as_str()).bind(thread.id.as_str());
    let others: i64 = read!(store, query(), fetch_one);
    Ok(others > 0)
}

/// Returns one thread.
pub async fn thread(store: &Store, id: &str) -> Result<Option<Thread>, Error> {
    Ok(read!(store, sqlx::query_as(ONE).bind(id), fetch_optional))
}

/// Returns threads, last used first, older than `before` (`updated_at` and id) if it is given.
pub async fn threads(
    store: &Store,
    query: &Query,
    before: Option<(i64, &str)>,
) -> Result<Vec<Thread>, Error> {
    let (at, id) = before.unwrap_or((i64::MAX, ""));
    let select = || {
        let select = sqlx::query_as(LIST).bind(at).bind(id).bind(pattern(&query.text));
        select.bind(i64::from(query.limit)).bind(i64::from(query.archived)).bind(query.parent.as_str())
    };
    Ok(read!(store, select(), fetch_all))
}

/// Returns items of a thread, newest first, older than the item numbered `before` if it is given.
pub async fn items(
    store: &Store,
    thread: &str,
    query: &Query,
    before: Option<i64>,
) -> Result<Vec<Item>, Error> {
    let select = || {
        sqlx::query_as(ITEMS)
            .bind(thread)
            .bind(before.unwrap_or(i64::MAX))
            .bind(pattern(&query.text))
            .bind(i64::from(query.limit))
    };
    Ok(read!(store, select(), fetch_all))
}

/// Returns the last item of a kind.
pub async fn last_of_kind(store: &Store, thread: &str, kind: &str) -> Result<Option<Item>, Error> {
    Ok(read!(store, sqlx::query_as(LAST).bind(thread).bind(kind), fetch_optional))
}

/// Returns the turns that changed files, in order, each with its diff.
pub async fn diffs(store: &Store, thread: &str) -> Result<Vec<(String, String)>, Error> {
    Ok(read!(store, sqlx::query_as(DIFFS).bind(thread), fetch_all))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[ONE, LIST, OTHERS, ITEMS, LAST, DIFFS];
