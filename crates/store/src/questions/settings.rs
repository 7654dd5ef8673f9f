//! Settings of all questions.

use crate::{Error, Store, verb};

const GET: &str = "SELECT value FROM question_settings WHERE name = $1";

const SET: &str = "\
    INSERT INTO question_settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

/// Returns a setting, JSON of the domain.
pub async fn setting(store: &Store, name: &str) -> Result<Option<String>, Error> {
    let mut connection = store.read().await?;
    Ok(sqlx::query_scalar(GET).bind(name).fetch_optional(&mut *connection).await?)
}

/// Writes a setting.
pub async fn set_setting(store: &Store, name: &str, value: &str) -> Result<(), Error> {
    let verb = verb!(|connection, (name, value): &(String, String)| -> Result<(), sqlx::Error> {
        sqlx::query(SET).bind(name).bind(value).execute(connection).await.map(drop)
    });
    store.write((name.to_owned(), value.to_owned()), verb).await
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[GET, SET];
