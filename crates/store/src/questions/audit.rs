//! The audit log of a question, in order, never changed.

use futures::future::BoxFuture;
use sqlx::AnyConnection;

use crate::{Error, Millis, Store};

const APPEND: &str = "\
    INSERT INTO question_events (question, seq, at, kind, who) \
    SELECT CAST($1 AS TEXT), COALESCE((SELECT MAX(e.seq) FROM question_events e WHERE e.question = $1), 0) + 1, \
           CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS TEXT)";

const READ: &str = "SELECT at, kind, who FROM question_events WHERE question = $1 ORDER BY seq LIMIT 1000";

/// One row of `question_events`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub at: Millis,
    pub kind: String,
    pub who: String,
}

/// Appends an event within the transaction of a verb.
pub(super) async fn append(
    connection: &mut AnyConnection,
    question: &str,
    kind: &str,
    who: &str,
    now: Millis,
) -> Result<(), sqlx::Error> {
    sqlx::query(APPEND).bind(question).bind(now).bind(kind).bind(who).execute(connection).await.map(drop)
}

/// Notes something that changes nothing else.
pub async fn note(store: &Store, question: &str, kind: &str, who: &str, now: Millis) -> Result<(), Error> {
    store.write((question.to_owned(), kind.to_owned(), who.to_owned(), now), verb).await
}

fn verb<'a>(
    connection: &'a mut AnyConnection,
    (question, kind, who, now): &'a (String, String, String, Millis),
) -> BoxFuture<'a, Result<(), sqlx::Error>> {
    Box::pin(append(connection, question, kind, who, *now))
}

/// Returns the first thousand events of a question.
pub async fn events(store: &Store, question: &str) -> Result<Vec<Event>, Error> {
    let mut connection = store.read().await?;
    let rows: Vec<(Millis, String, String)> =
        sqlx::query_as(READ).bind(question).fetch_all(&mut *connection).await?;
    Ok(rows.into_iter().map(|(at, kind, who)| Event { at, kind, who }).collect())
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[APPEND, READ];
