//! The audit log of a question, append-only.

use sqlx::AnyConnection;

use super::pending_count::count_change;
use crate::{Error, Millis, Store, change, read, row};

const APPEND: &str = "\
    INSERT INTO question_events (question, seq, at, kind, who) \
    SELECT CAST($1 AS TEXT), COALESCE((SELECT MAX(e.seq) FROM question_events e WHERE e.question = $1), 0) + 1, \
           CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS TEXT)";

/// A snoozed question rings once more when it is back.
const APPEND_RING: &str = "\
    INSERT INTO question_events (question, seq, at, kind, who) \
    SELECT CAST($1 AS TEXT), COALESCE((SELECT MAX(e.seq) FROM question_events e WHERE e.question = $1), 0) + 1, \
           CAST($2 AS BIGINT), 'rung', CAST($3 AS TEXT) \
    WHERE NOT EXISTS (SELECT 1 FROM question_events e WHERE e.question = $1 AND e.kind = 'rung' AND e.who = $3 \
        AND e.seq > COALESCE((SELECT MAX(s.seq) FROM question_events s \
            WHERE s.question = $1 AND s.kind = 'snoozed'), 0))";

const READ: &str = "SELECT at, kind, who FROM question_events WHERE question = $1 ORDER BY seq LIMIT 1000";

row! {
    /// One row of `question_events`.
    Event {
        at: Millis,
        kind: String,
        who: String,
    }
}

/// Appends an event within the transaction of a verb.
pub(super) async fn append(
    connection: &mut AnyConnection,
    question: &str,
    kind: &str,
    who: &str,
    now: Millis,
) -> Result<(), sqlx::Error> {
    let query = sqlx::query(APPEND).bind(question).bind(now).bind(kind).bind(who);
    query.execute(&mut *connection).await?;
    count_change(connection).await
}

/// Runs a statement that returns the changed questions, and appends an event if there are any. Returns whether there
/// were any.
pub(super) async fn append_if_changed(
    connection: &mut AnyConnection,
    changed: sqlx::query::QueryScalar<'_, sqlx::Any, String, sqlx::any::AnyArguments>,
    (question, kind, who, now): (&str, &str, &str, Millis),
) -> Result<bool, sqlx::Error> {
    let changed: Vec<String> = changed.fetch_all(&mut *connection).await?;
    if !changed.is_empty() {
        append(connection, question, kind, who, now).await?;
    }
    Ok(!changed.is_empty())
}

/// Appends an event without any other change.
pub async fn append_event(
    store: &Store,
    question: &str,
    kind: &str,
    who: &str,
    now: Millis,
) -> Result<(), Error> {
    let arguments = (question.to_owned(), kind.to_owned(), who.to_owned(), now);
    change!(store, arguments, |connection, (question, kind, who, now)| {
        append(connection, question, kind, who, *now).await
    })
}

/// Appends that the channel `who` rings, unless it has rung since the question was snoozed last. Returns whether it was
/// appended: of several hubs, one alone rings.
pub async fn append_ring(store: &Store, question: &str, who: &str, now: Millis) -> Result<bool, Error> {
    let arguments = (question.to_owned(), who.to_owned(), now);
    change!(store, arguments, |connection, (question, who, now)| {
        let query = sqlx::query(APPEND_RING).bind(question.as_str()).bind(*now).bind(who.as_str());
        let is_first = query.execute(&mut *connection).await?.rows_affected() > 0;
        if is_first {
            count_change(connection).await?;
        }
        Ok(is_first)
    })
}

/// Returns the first thousand events of a question.
pub async fn events(store: &Store, question: &str) -> Result<Vec<Event>, Error> {
    Ok(read!(store, sqlx::query_as(READ).bind(question), fetch_all))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[APPEND, APPEND_RING, READ];
