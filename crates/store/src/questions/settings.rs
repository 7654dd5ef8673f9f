//! Settings of all questions.

use super::pending_count::count_change;
use crate::{Error, Store, change, read};

const GET: &str = "SELECT value FROM question_settings WHERE name = $1";

const GET_ALL: &str = "SELECT value FROM question_settings WHERE name LIKE $1";

const SET: &str = "\
    INSERT INTO question_settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

const SET_FIRST: &str = "\
    INSERT INTO question_settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";

/// Returns a setting, JSON of the domain.
pub async fn setting(store: &Store, name: &str) -> Result<Option<String>, Error> {
    Ok(read!(store, sqlx::query_scalar(GET).bind(name), fetch_optional))
}

/// Returns all settings with names that begin like this, in no order. The beginning has no `%` and no `_`.
pub async fn settings(store: &Store, beginning: &str) -> Result<Vec<String>, Error> {
    Ok(read!(store, sqlx::query_scalar(GET_ALL).bind(format!("{beginning}%")), fetch_all))
}

/// Writes a setting.
pub async fn set_setting(store: &Store, name: &str, value: &str) -> Result<(), Error> {
    change!(store, (name.to_owned(), value.to_owned()), |connection, (name, value)| {
        sqlx::query(SET).bind(name).bind(value).execute(&mut *connection).await?;
        count_change(connection).await
    })
}

/// Writes a setting unless it has a value, and returns the value that it has then: hubs that start together get the same.
pub async fn set_first(store: &Store, name: &str, value: &str) -> Result<String, Error> {
    change!(store, (name.to_owned(), value.to_owned()), |connection, (name, value)| {
        sqlx::query(SET_FIRST).bind(name).bind(value).execute(&mut *connection).await?;
        sqlx::query_scalar(GET).bind(name).fetch_one(connection).await
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[GET, GET_ALL, SET, SET_FIRST];

#[cfg(test)]
pub(super) const PER_QUESTION: &[&str] = &[GET, SET];
