//! Calendars, the sources of events.

use crate::{Error, Millis, Store, change, read, row};

row! {
    /// A calendar of a user.
    CalendarRow {
        id: String,
        user_id: String,
        name: String,
        source: String,
        place: String,
        etag: Option<String>,
        sync_token: Option<String>,
        read_at: Option<Millis>,
        refresh: String,
    }
}

macro_rules! select_calendars {
    ($rest:literal) => {
        concat!(
            "SELECT id, user_id, name, source, place, etag, sync_token, read_at, refresh FROM calendars ",
            $rest
        )
    };
}

const LIST: &str = select_calendars!("WHERE user_id = $1 ORDER BY name, id");
const FIND: &str = select_calendars!("WHERE user_id = $1 AND source = $2 AND place = $3");
const LIST_REFRESHED: &str = select_calendars!("WHERE refresh <> '' ORDER BY id");
const SET_REFRESH: &str = "UPDATE calendars SET refresh = $2 WHERE id = $1";

/// Rows with the same user, source and place are the same calendar, even under different ids.
const PUT: &str = "\
    INSERT INTO calendars (id, user_id, name, source, place, etag, sync_token, read_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
    ON CONFLICT (user_id, source, place) DO UPDATE SET name = excluded.name, etag = excluded.etag, \
        sync_token = excluded.sync_token, read_at = excluded.read_at";

/// Returns a user's calendars by name.
pub async fn list(store: &Store, user: &str) -> Result<Vec<CalendarRow>, Error> {
    Ok(read!(store, sqlx::query_as(LIST).bind(user), fetch_all))
}

/// Returns the calendars of all users that a hub reads again.
pub async fn refreshed(store: &Store) -> Result<Vec<CalendarRow>, Error> {
    Ok(read!(store, sqlx::query_as(LIST_REFRESHED), fetch_all))
}

/// Sets how a calendar is read again; an empty `refresh` ends that.
pub async fn set_refresh(store: &Store, id: String, refresh: String) -> Result<(), Error> {
    change!(store, (id, refresh), |connection, (id, refresh)| {
        sqlx::query(SET_REFRESH).bind(id).bind(refresh).execute(connection).await?;
        Ok(())
    })
}

/// Adds a calendar, or records its name and sync state; returns the row in the store. `refresh` of an existing row
/// stays.
pub async fn put(store: &Store, calendar: CalendarRow) -> Result<CalendarRow, Error> {
    change!(store, calendar, |connection, row| {
        let query = sqlx::query(PUT).bind(&row.id).bind(&row.user_id).bind(&row.name).bind(&row.source);
        let query = query.bind(&row.place).bind(&row.etag).bind(&row.sync_token).bind(row.read_at);
        query.execute(&mut *connection).await?;
        let query = sqlx::query_as(FIND).bind(&row.user_id).bind(&row.source).bind(&row.place);
        query.fetch_one(connection).await
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[LIST, FIND, LIST_REFRESHED, SET_REFRESH, PUT];
