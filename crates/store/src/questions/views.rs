//! A question is shown, put off, and comes back.

use futures::future::BoxFuture;
use sqlx::AnyConnection;

use super::audit;
use crate::store::{Error, Millis, Store};

const SEEN_BEFORE: &str = "SELECT seen_at FROM questions WHERE id = $1 AND state = 'pending'";

/// Only time between two looks that follow each other closely was seen.
const SEEN: &str = "\
    UPDATE questions SET \
        seen_ms = seen_ms + CASE WHEN seen_until <= $2 AND $2 - seen_until <= $3 THEN $2 - seen_until ELSE 0 END, \
        seen_until = $2, seen_at = COALESCE(seen_at, $2) \
    WHERE id = $1 AND state = 'pending'";

/// The deadline moves by as much as the question is put off anew.
const SNOOZE: &str = "\
    UPDATE questions SET \
        deadline = deadline + $3 - CASE WHEN snoozed_until > $2 THEN snoozed_until ELSE $2 END, snoozed_until = $3 \
    WHERE id = $1 AND state = 'pending' \
    RETURNING id";

const WAKE: &str = "\
    UPDATE questions SET snoozed_until = NULL WHERE id = $1 AND state = 'pending' AND snoozed_until <= $2";

/// A presenter shows a question.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) id: String,
    pub(crate) now: Millis,
    /// Longest time since the look before that counts as seen.
    pub(crate) gap: Millis,
    /// The presenter, for the audit.
    pub(crate) who: String,
}

/// Notes a look at a pending question; true for the first one.
pub(crate) async fn seen(store: &Store, seen: Seen) -> Result<bool, Error> {
    store.write(seen, seen_verb).await
}

fn seen_verb<'a>(
    connection: &'a mut AnyConnection,
    seen: &'a Seen,
) -> BoxFuture<'a, Result<bool, sqlx::Error>> {
    Box::pin(async move {
        let before = sqlx::query_scalar(SEEN_BEFORE).bind(&seen.id);
        let before: Option<Option<Millis>> = before.fetch_optional(&mut *connection).await?;
        let look = sqlx::query(SEEN).bind(&seen.id).bind(seen.now).bind(seen.gap);
        look.execute(&mut *connection).await?;
        let first = before == Some(None);
        if first {
            audit::append(connection, &seen.id, "seen", &seen.who, seen.now).await?;
        }
        Ok(first)
    })
}

/// Puts a pending question off; false when it is not pending.
pub(crate) async fn snooze(
    store: &Store,
    id: &str,
    who: &str,
    now: Millis,
    until: Millis,
) -> Result<bool, Error> {
    store.write((id.to_owned(), who.to_owned(), now, until), snooze_verb).await
}

fn snooze_verb<'a>(
    connection: &'a mut AnyConnection,
    (id, who, now, until): &'a (String, String, Millis, Millis),
) -> BoxFuture<'a, Result<bool, sqlx::Error>> {
    Box::pin(async move {
        let done = sqlx::query_scalar(SNOOZE).bind(id).bind(*now).bind(*until);
        let done: Vec<String> = done.fetch_all(&mut *connection).await?;
        if !done.is_empty() {
            audit::append(connection, id, "snoozed", who, *now).await?;
        }
        Ok(!done.is_empty())
    })
}

/// Brings a question back that was put off until now.
pub(crate) async fn wake(store: &Store, id: &str, now: Millis) -> Result<bool, Error> {
    store.write((id.to_owned(), now), wake_verb).await
}

fn wake_verb<'a>(
    connection: &'a mut AnyConnection,
    (id, now): &'a (String, Millis),
) -> BoxFuture<'a, Result<bool, sqlx::Error>> {
    Box::pin(async move {
        let done = sqlx::query(WAKE).bind(id).bind(*now).execute(connection).await?;
        Ok(done.rows_affected() == 1)
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[SEEN_BEFORE, SEEN, SNOOZE, WAKE];
