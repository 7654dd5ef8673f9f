//! Queries of threads.

use super::{Item, Thread};
use crate::{Error, Store, pattern, read};

/// Selects threads with the end of their last turn.
macro_rules! select_threads {
    ($rest:literal) => {
        concat!(
            "SELECT t.id, t.backend, t.version, t.cwd, t.model, t.title, t.settings, t.tokens, t.created_at, \
                    t.updated_at, u.ended AS last_end, u.failure AS last_failure \
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
       AND ($3 = '' OR LOWER(t.title) LIKE $3 ESCAPE '!' OR LOWER(t.cwd) LIKE $3 ESCAPE '!' OR EXISTS \
            (SELECT 1 FROM codex_items i WHERE i.thread = t.id AND LOWER(i.text) LIKE $3 ESCAPE '!')) \
     ORDER BY t.updated_at DESC, t.id DESC LIMIT $4"
);

const ITEMS: &str = "\
    SELECT seq, id, turn, kind, body, at FROM codex_items \
    WHERE thread = $1 AND seq < $2 AND ($3 = '' OR LOWER(text) LIKE $3 ESCAPE '!') ORDER BY seq DESC LIMIT $4";

/// The filter of a list of threads or items.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Found in its text, in any case (beyond ASCII, as written); empty means all.
    pub text: String,
    pub limit: u32,
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
    let query =
        sqlx::query_as(LIST).bind(at).bind(id).bind(pattern(&query.text)).bind(i64::from(query.limit));
    Ok(read!(store, query, fetch_all))
}

/// Returns items of a thread, newest first, older than the item numbered `before` if it is given.
pub async fn items(
    store: &Store,
    thread: &str,
    query: &Query,
    before: Option<i64>,
) -> Result<Vec<Item>, Error> {
    let query = sqlx::query_as(ITEMS)
        .bind(thread)
        .bind(before.unwrap_or(i64::MAX))
        .bind(pattern(&query.text))
        .bind(i64::from(query.limit));
    Ok(read!(store, query, fetch_all))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[ONE, LIST, ITEMS];
