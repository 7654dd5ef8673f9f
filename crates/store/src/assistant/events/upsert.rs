//! Inserts, updates and deletes of events, with their plans in the same transaction.

use std::borrow::Borrow;
use std::collections::HashSet;

use sqlx::AnyConnection;

use super::OccurrenceRow;
use crate::assistant::plans::{self, NewPlan};
use crate::assistant::{audit, bulk_insert, notifications};
use crate::{Error, Millis, Store, change};

pub(super) const FIND: &str = "\
    SELECT id, digest, COALESCE(etag, '') FROM events WHERE calendar_id = $1 AND uid = $2 AND recurrence_id = $3";

pub(super) const INSERT: &str = "\
    INSERT INTO events (id, user_id, calendar_id, uid, recurrence_id, title, status, starts_at, ends_at, recurs, \
        details, digest, etag, updated_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) \
    ON CONFLICT (calendar_id, uid, recurrence_id) DO NOTHING";

pub(super) const UPDATE: &str = "\
    UPDATE events SET title = $2, status = $3, starts_at = $4, ends_at = $5, recurs = $6, details = $7, digest = $8, \
        etag = $9, updated_at = $10 WHERE id = $1";

pub(super) const SOURCE: &str = "\
    INSERT INTO event_sources (event_id, source) VALUES ($1, $2) \
    ON CONFLICT (event_id) DO UPDATE SET source = excluded.source";

pub(super) const FORGET: &str = "DELETE FROM occurrences WHERE event_id = $1";

pub(super) const OCCURRENCE: &str = "\
    INSERT INTO occurrences (event_id, occurrence, user_id, starts_at, ends_at, adjusted) \
    VALUES ($1, $2, $3, $4, $5, $6) \
    ON CONFLICT (event_id, occurrence) DO UPDATE SET starts_at = excluded.starts_at, ends_at = excluded.ends_at, \
        adjusted = excluded.adjusted";

pub(super) const CANCEL: &str = "\
    UPDATE events SET status = 'cancelled', digest = '', updated_at = $2 WHERE id = $1 AND digest <> ''";

/// The row of an event, a series, or a changed occurrence of a series.
#[derive(Clone, Debug)]
pub struct EventRow {
    pub id: String,
    pub user_id: String,
    pub calendar_id: String,
    pub uid: String,
    /// Empty except for a changed occurrence.
    pub recurrence_id: String,
    pub title: String,
    pub status: String,
    pub starts_at: Millis,
    pub ends_at: Millis,
    /// 1 for a series.
    pub recurs: i64,
    /// JSON.
    pub details: String,
    pub digest: String,
    pub etag: Option<String>,
    pub updated_at: Millis,
}

/// An event to insert or update.
#[derive(Clone, Debug)]
pub struct EventChange {
    /// The id is used only if the event is new.
    pub event: EventRow,
    /// True if the calendar lacked the event a moment ago, so that it is likely to be new. Then no event has this id.
    pub fresh: bool,
    /// The original component; may be empty.
    pub source: String,
    pub occurrences: Vec<OccurrenceRow>,
    /// The digest of the version that these plans were made from. If the stored event has a different digest by now,
    /// they are left out; the previous notifications are cancelled all the same.
    pub planned_from: String,
    pub plans: Vec<NewPlan>,
}

/// The result of putting an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    Added,
    /// The event is unchanged.
    Same,
    /// The event has changed, and so many notifications were cancelled.
    Updated {
        withdrawn: u64,
    },
}

/// Inserts or updates events in one transaction, and returns the result of each.
pub async fn put(store: &Store, changes: Vec<EventChange>) -> Result<Vec<Changed>, Error> {
    change!(store, changes, |connection, changes| {
        let fresh: Vec<&EventChange> = changes.iter().filter(|change| change.fresh).collect();
        let mut added = add(connection, &fresh).await?;
        let mut became = Vec::with_capacity(changes.len());
        for change in changes {
            // The list may name an event twice, or another call may have added it; then its row has a different id.
            became.push(if added.remove(change.event.id.as_str()) {
                Changed::Added
            } else {
                put_one(connection, change).await?
            });
        }
        Ok(became)
    })
}

/// Adds the events that are new, and returns their ids.
async fn add(
    connection: &mut AnyConnection,
    changes: &[&EventChange],
) -> Result<HashSet<String>, sqlx::Error> {
    let mut added = HashSet::new();
    for chunk in changes.chunks(bulk_insert::rows(INSERT)) {
        let mut query = sqlx::query(bulk_insert::repeated(connection, INSERT, chunk.len()));
        for EventChange { event, .. } in chunk {
            query = query.bind(&event.id).bind(&event.user_id).bind(&event.calendar_id);
            query = query.bind(&event.uid).bind(&event.recurrence_id).bind(&event.title).bind(&event.status);
            query = query.bind(event.starts_at).bind(event.ends_at).bind(event.recurs).bind(&event.details);
            query = query.bind(&event.digest).bind(&event.etag).bind(event.updated_at);
        }
        let inserted = query.execute(&mut *connection).await?.rows_affected();
        // A row that a statement returns costs as much as its insert: the ids are read only if some are missing.
        if inserted == chunk.len() as u64 {
            added.extend(chunk.iter().map(|change| change.event.id.clone()));
            continue;
        }
        let mut query = sqlx::query_scalar(bulk_insert::repeated(connection, plans::EVENTS, chunk.len()));
        for change in chunk {
            query = query.bind(&change.event.id);
        }
        let ids: Vec<String> = query.fetch_all(&mut *connection).await?;
        added.extend(ids);
    }
    let new: Vec<_> = changes.iter().filter(|change| added.contains(&change.event.id)).copied().collect();
    let sources: Vec<_> = new.iter().filter(|change| !change.source.is_empty()).collect();
    for chunk in sources.chunks(bulk_insert::rows(SOURCE)) {
        let mut query = sqlx::query(bulk_insert::repeated(connection, SOURCE, chunk.len()));
        for change in chunk {
            query = query.bind(&change.event.id).bind(&change.source);
        }
        query.execute(&mut *connection).await?;
    }
    let occurrences: Vec<&OccurrenceRow> = new.iter().flat_map(|change| &change.occurrences).collect();
    insert_occurrences(connection, &occurrences).await?;
    Ok(added)
}

async fn put_one(connection: &mut AnyConnection, change: &EventChange) -> Result<Changed, sqlx::Error> {
    let event = &change.event;
    let query = sqlx::query_as(FIND).bind(&event.calendar_id).bind(&event.uid).bind(&event.recurrence_id);
    let found: Option<(String, String, String)> = query.fetch_optional(&mut *connection).await?;
    let Some((id, digest, etag)) = found else {
        add(connection, &[change]).await?;
        return Ok(Changed::Added);
    };
    if digest == event.digest && etag == event.etag.as_deref().unwrap_or_default() {
        // The horizon may have moved since.
        insert_occurrences(connection, &occurrences_of(change, &id)).await?;
        return Ok(Changed::Same);
    }
    let query = sqlx::query(UPDATE).bind(&id).bind(&event.title).bind(&event.status).bind(event.starts_at);
    let query = query.bind(event.ends_at).bind(event.recurs).bind(&event.details).bind(&event.digest);
    query.bind(&event.etag).bind(event.updated_at).execute(&mut *connection).await?;
    if !change.source.is_empty() {
        sqlx::query(SOURCE).bind(&id).bind(&change.source).execute(&mut *connection).await?;
    }
    if digest == event.digest {
        return Ok(Changed::Same);
    }
    sqlx::query(FORGET).bind(&id).execute(&mut *connection).await?;
    insert_occurrences(connection, &occurrences_of(change, &id)).await?;
    plans::supersede_all(connection, &id, event.updated_at).await?;
    let why = if event.status == "cancelled" { "the event was cancelled" } else { "the event changed" };
    let withdrawn = notifications::withdraw_all(connection, &id, why, event.updated_at).await?;
    if digest == change.planned_from {
        for plan in &change.plans {
            plans::apply_one(connection, plan).await?;
        }
    }
    Ok(Changed::Updated { withdrawn })
}

/// Returns the occurrences of a change under the event's existing id.
fn occurrences_of(change: &EventChange, id: &str) -> Vec<OccurrenceRow> {
    let rows = change.occurrences.iter();
    rows.map(|row| OccurrenceRow { event_id: id.to_owned(), ..row.clone() }).collect()
}

async fn insert_occurrences<R: Borrow<OccurrenceRow>>(
    connection: &mut AnyConnection,
    occurrences: &[R],
) -> Result<(), sqlx::Error> {
    for chunk in occurrences.chunks(bulk_insert::rows(OCCURRENCE)) {
        let mut query = sqlx::query(bulk_insert::repeated(connection, OCCURRENCE, chunk.len()));
        for row in chunk.iter().map(R::borrow) {
            query = query.bind(&row.event_id).bind(&row.occurrence).bind(&row.user_id);
            query = query.bind(row.starts_at).bind(row.ends_at).bind(row.adjusted);
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Adds occurrences of a series when the horizon moves.
pub async fn add_occurrences(store: &Store, occurrences: Vec<OccurrenceRow>) -> Result<(), Error> {
    change!(store, occurrences, |connection, occurrences| insert_occurrences(connection, occurrences).await)
}

/// Cancels events that were removed from their calendar, with their planned notifications. Each event comes with its
/// audit entry. Returns the number of cancelled notifications.
pub async fn remove(store: &Store, events: Vec<(String, audit::AuditRow)>, at: Millis) -> Result<u64, Error> {
    change!(store, (events, at), |connection, (events, at)| {
        let mut withdrawn = 0;
        for (event, audit) in events {
            sqlx::query(CANCEL).bind(event).bind(*at).execute(&mut *connection).await?;
            sqlx::query(FORGET).bind(event).execute(&mut *connection).await?;
            plans::supersede_all(connection, event, *at).await?;
            let why = "the event is no longer in its calendar";
            withdrawn += notifications::withdraw_all(connection, event, why, *at).await?;
            audit::append(connection, audit).await?;
        }
        Ok(withdrawn)
    })
}
