//! Queries of events.

use sqlx::any::AnyRow;
use sqlx::{FromRow, Row as _};

use super::{EventView, OccurrenceRow};
use crate::assistant::packed_rows::{PackedRowReader, packed};
use crate::{Error, Millis, Store, read, row};

macro_rules! select_events {
    ($more:literal, $rest:literal) => {
        concat!(
            "SELECT e.id, e.user_id, e.uid, e.title, e.status, e.starts_at, e.ends_at, e.details, e.digest",
            $more,
            " FROM ",
            $rest
        )
    };
}

pub(super) const GET: &str = select_events!("", "events e WHERE e.id = $1");
pub(super) const SERIES: &str = select_events!(
    "",
    "events e WHERE e.recurs = 1 AND e.status <> 'cancelled' AND e.id > $1 ORDER BY e.id LIMIT $2"
);
/// An event that was removed from its calendar has no digest.
pub(super) const SOURCES: &str = select_events!(
    ", s.source",
    "events e JOIN event_sources s ON s.event_id = e.id \
     WHERE e.user_id = $1 AND e.digest <> '' AND (e.starts_at > $2 OR (e.starts_at = $2 AND e.id > $3)) \
     ORDER BY e.starts_at, e.id LIMIT $4"
);
/// The event first, then the others of its uid: a series and its changed occurrences.
pub(super) const SOURCE: &str = "\
    SELECT o.id, o.calendar_id, COALESCE(o.etag, ''), COALESCE(s.source, '') FROM events e \
    JOIN events o ON o.calendar_id = e.calendar_id AND o.uid = e.uid AND o.digest <> '' \
    LEFT JOIN event_sources s ON s.event_id = o.id \
    WHERE e.id = $1 AND e.digest <> '' ORDER BY CASE WHEN o.id = e.id THEN 0 ELSE 1 END, o.recurrence_id";
pub(super) const VERSIONS: &str = "\
    SELECT id, uid, recurrence_id, digest, COALESCE(etag, '') FROM events \
    WHERE calendar_id = $1 AND digest <> '' ORDER BY uid";

pub(super) const OCCURRENCE: &str = "\
    SELECT event_id, occurrence, user_id, starts_at, ends_at, adjusted FROM occurrences \
    WHERE event_id = $1 AND occurrence = $2";
pub(super) const OCCURRENCES: &str = "\
    SELECT event_id, occurrence, user_id, starts_at, ends_at, adjusted FROM occurrences \
    WHERE event_id = $1 AND starts_at >= $2 AND starts_at < $3 ORDER BY starts_at LIMIT $4";

/// Selects all rows as one text, because they may be hundreds; columns in the order of [`EventOccurrenceRow::unpack`].
macro_rules! select_event_occurrences {
    ($which:literal) => {
        concat!(
            "SELECT COALESCE(string_agg(packed, '' ORDER BY starts_at, event_id), '') FROM \
             (SELECT o.starts_at, o.event_id, ",
            packed!(
                text "e.id", text "e.user_id", text "e.uid", text "e.title", text "e.status",
                number "e.starts_at", number "e.ends_at", text "e.details", text "e.digest",
                text "o.occurrence", number "o.starts_at", number "o.ends_at", number "o.adjusted"
            ),
            " AS packed FROM occurrences o JOIN events e ON e.id = o.event_id \
             WHERE o.starts_at >= $1 AND o.starts_at < $2",
            $which,
            " ORDER BY o.starts_at, o.event_id LIMIT $3) AS found"
        )
    };
}

/// Two statements, because each needs a different index.
pub(super) const WINDOW: &str = select_event_occurrences!("");
pub(super) const WINDOW_OF: &str = select_event_occurrences!(" AND o.user_id = $4");
/// The occurrences of the window that end after it.
pub(super) const RUNNING_OF: &str = select_event_occurrences!(" AND o.user_id = $4 AND o.ends_at > $2");

/// The filter of a list of occurrences.
#[derive(Clone, Debug)]
pub struct Window {
    pub user: Option<String>,
    pub from: Millis,
    /// The first instant after the window.
    pub until: Millis,
    pub limit: u32,
}

/// An event with one of its occurrences.
#[derive(Clone, Debug, PartialEq)]
pub struct EventOccurrenceRow {
    pub event: EventView,
    pub occurrence: OccurrenceRow,
}

impl EventOccurrenceRow {
    fn unpack(packed: &mut PackedRowReader<'_>) -> Option<Self> {
        let event = EventView {
            id: packed.text()?,
            user_id: packed.text()?,
            uid: packed.text()?,
            title: packed.text()?,
            status: packed.text()?,
            starts_at: packed.number()?,
            ends_at: packed.number()?,
            details: packed.text()?,
            digest: packed.text()?,
        };
        let occurrence = OccurrenceRow {
            event_id: event.id.clone(),
            user_id: event.user_id.clone(),
            occurrence: packed.text()?,
            starts_at: packed.number()?,
            ends_at: packed.number()?,
            adjusted: packed.number()?,
        };
        Some(Self { event, occurrence })
    }
}

/// Returns one event.
pub async fn get(store: &Store, id: &str) -> Result<Option<EventView>, Error> {
    Ok(read!(store, sqlx::query_as(GET).bind(id), fetch_optional))
}

/// Returns at most `limit` series with ids after `after`, by id, without cancelled ones.
pub async fn series(store: &Store, after: &str, limit: u32) -> Result<Vec<EventView>, Error> {
    Ok(read!(store, sqlx::query_as(SERIES).bind(after).bind(i64::from(limit)), fetch_all))
}

/// Returns at most `limit` events of a user after `after`, by their first start, each with its original component.
/// Leaves out events that were removed from their calendar.
pub async fn sources(
    store: &Store,
    user: &str,
    after: &(Millis, String),
    limit: u32,
) -> Result<Vec<(EventView, String)>, Error> {
    let query = || sqlx::query(SOURCES).bind(user).bind(after.0).bind(&after.1).bind(i64::from(limit));
    let rows = read!(store, query(), fetch_all);
    let with_source = |row: &AnyRow| Ok((EventView::from_row(row)?, row.try_get("source")?));
    Ok(rows.iter().map(with_source).collect::<Result<_, sqlx::Error>>()?)
}

row! {
    /// The place of an event and its text.
    SourceRow {
        id: String,
        calendar_id: String,
        /// The server's name of the version; may be empty.
        etag: String,
        /// The original component; may be empty.
        source: String,
    }
}

/// Returns an event with its calendar and its text, and the other events of its calendar with the same uid; nothing for an
/// event that was removed from its calendar.
pub async fn source(store: &Store, event: &str) -> Result<Vec<SourceRow>, Error> {
    Ok(read!(store, sqlx::query_as(SOURCE).bind(event), fetch_all))
}

row! {
    /// The version of an event in a calendar.
    VersionRow {
        id: String,
        uid: String,
        recurrence_id: String,
        digest: String,
        /// The server's name of the version; may be empty.
        etag: String,
    }
}

/// Returns the events of a calendar with their versions, by uid.
pub async fn versions(store: &Store, calendar: &str) -> Result<Vec<VersionRow>, Error> {
    Ok(read!(store, sqlx::query_as(VERSIONS).bind(calendar), fetch_all))
}

/// Returns one occurrence of an event.
pub async fn occurrence(store: &Store, event: &str, key: &str) -> Result<Option<OccurrenceRow>, Error> {
    Ok(read!(store, sqlx::query_as(OCCURRENCE).bind(event).bind(key), fetch_optional))
}

/// Returns at most `limit` occurrences of an event that start from `from` to before `until`.
pub async fn occurrences(
    store: &Store,
    event: &str,
    from: Millis,
    until: Millis,
    limit: u32,
) -> Result<Vec<OccurrenceRow>, Error> {
    let query = || sqlx::query_as(OCCURRENCES).bind(event).bind(from).bind(until).bind(i64::from(limit));
    Ok(read!(store, query(), fetch_all))
}

/// Returns the occurrences that start in a window, by start.
pub async fn window(store: &Store, window: &Window) -> Result<Vec<EventOccurrenceRow>, Error> {
    select(store, if window.user.is_some() { WINDOW_OF } else { WINDOW }, window).await
}

/// Returns at most `limit` occurrences of a user that start from `from` to before `at` and end after `at`, by start.
pub async fn running(
    store: &Store,
    user: &str,
    from: Millis,
    at: Millis,
    limit: u32,
) -> Result<Vec<EventOccurrenceRow>, Error> {
    let window = Window { user: Some(user.to_owned()), from, until: at, limit };
    select(store, RUNNING_OF, &window).await
}

async fn select(
    store: &Store,
    text: &'static str,
    window: &Window,
) -> Result<Vec<EventOccurrenceRow>, Error> {
    let query = || {
        let query = sqlx::query_scalar(text).bind(window.from).bind(window.until);
        let query = query.bind(i64::from(window.limit));
        match &window.user {
            Some(user) => query.bind(user),
            None => query,
        }
    };
    let found: String = read!(store, query(), fetch_one);
    PackedRowReader::rows(&found, EventOccurrenceRow::unpack)
}
