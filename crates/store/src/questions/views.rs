//! Views and snoozing of a question.

use super::audit;
use crate::{Error, Millis, Store, change};

const SEEN_AT: &str = "SELECT seen_at FROM questions WHERE id = $1 AND state = 'pending'";

/// Adds the time between two views only if they follow each other closely.
const SEEN: &str = "\
    UPDATE questions SET \
        seen_ms = seen_ms + CASE WHEN seen_until <= $2 AND $2 - seen_until <= $3 THEN $2 - seen_until ELSE 0 END, \
        seen_until = $2, seen_at = COALESCE(seen_at, $2) \
    WHERE id = $1 AND state = 'pending'";

/// Moves the deadline by the additional time of the snooze.
const SNOOZE: &str = "\
    UPDATE questions SET \
        deadline = deadline + $3 - CASE WHEN snoozed_until > $2 THEN snoozed_until ELSE $2 END, snoozed_until = $3 \
    WHERE id = $1 AND state = 'pending' \
    RETURNING id";

const END_SNOOZE: &str = "\
    UPDATE questions SET snoozed_until = NULL WHERE id = $1 AND state = 'pending' AND snoozed_until <= $2";

/// A view of a question on a channel.
#[derive(Clone, Debug)]
pub struct View {
    pub id: String,
    pub now: Millis,
    /// The longest time since the previous view that counts as seen.
    pub gap: Millis,
    /// The channel, for the audit.
    pub who: String,
}

/// Records a view of a pending question; true for the first one.
pub async fn mark_seen(store: &Store, view: View) -> Result<bool, Error> {
    change!(store, view, |connection, view| {
        let before = sqlx::query_scalar(SEEN_AT).bind(&view.id);
        let before: Option<Option<Millis>> = before.fetch_optional(&mut *connection).await?;
        let view_query = sqlx::query(SEEN).bind(&view.id).bind(view.now).bind(view.gap);
        view_query.execute(&mut *connection).await?;
        let first = before == Some(None);
        if first {
            audit::append(connection, &view.id, "seen", &view.who, view.now).await?;
        }
        Ok(first)
    })
}

/// Snoozes a pending question; false when it is not pending.
pub async fn snooze(store: &Store, id: &str, who: &str, now: Millis, until: Millis) -> Result<bool, Error> {
    change!(store, (id.to_owned(), who.to_owned(), now, until), |connection, (id, who, now, until)| {
        let changed = sqlx::query_scalar(SNOOZE).bind(id).bind(*now).bind(*until);
        audit::append_if_changed(connection, changed, (id, "snoozed", who, *now)).await
    })
}

/// Ends the snooze of a question when its time is over.
pub async fn end_snooze(store: &Store, id: &str, now: Millis) -> Result<bool, Error> {
    change!(store, (id.to_owned(), now), |connection, (id, now)| {
        let done = sqlx::query(END_SNOOZE).bind(id).bind(*now).execute(connection).await?;
        Ok(done.rows_affected() == 1)
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[SEEN_AT, SEEN, SNOOZE, END_SNOOZE];
