//! Handles of turns, for callers that poll again after a restart of the hub.

use crate::{Error, Millis, Store, change, read, row};

/// Rows that are kept; the oldest are deleted first.
const RETAINED: i64 = 2048;

const ADD: &str = "\
    INSERT INTO codex_handles (id, owner, thread, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)";

const FORGET: &str = "\
    DELETE FROM codex_handles WHERE id IN \
        (SELECT id FROM codex_handles ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET $1)";

/// An end is never overwritten.
const END: &str = "\
    UPDATE codex_handles SET ended = $2, answer = $3, failure = $4, updated_at = $5 WHERE id = $1 AND ended IS NULL";

const ONE: &str = "\
    SELECT id, owner, thread, created_at, updated_at, ended, answer, failure FROM codex_handles \
    WHERE id = $1 AND owner = $2";

row! {
    /// One row of `codex_handles`.
    Handle {
        id: String,
        owner: String,
        thread: String,
        created_at: Millis,
        updated_at: Millis,
        /// `completed`, `interrupted`, `failed`, `withdrawn` or `lost`; `None` while it is open.
        ended: Option<String>,
        answer: Option<String>,
        failure: Option<String>,
    }
}

/// Inserts the handle of a new turn; its `ended`, `answer` and `failure` are ignored.
pub async fn add(store: &Store, handle: Handle) -> Result<(), Error> {
    change!(store, handle, |connection, handle| {
        let query = sqlx::query(ADD).bind(&handle.id).bind(&handle.owner).bind(&handle.thread);
        query.bind(handle.created_at).execute(&mut *connection).await?;
        sqlx::query(FORGET).bind(RETAINED).execute(connection).await.map(drop)
    })
}

/// Records the end of a turn, unless one is recorded already.
pub async fn end(store: &Store, handle: Handle) -> Result<(), Error> {
    change!(store, handle, |connection, handle| {
        let query = sqlx::query(END).bind(&handle.id).bind(&handle.ended).bind(&handle.answer);
        query.bind(&handle.failure).bind(handle.updated_at).execute(connection).await.map(drop)
    })
}

/// Returns the handle of this id if it belongs to `owner`.
pub async fn find(store: &Store, owner: &str, id: &str) -> Result<Option<Handle>, Error> {
    Ok(read!(store, sqlx::query_as(ONE).bind(id).bind(owner), fetch_optional))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[ADD, FORGET, END, ONE];
