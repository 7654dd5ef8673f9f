//! What the person set for the desk as a whole.

use futures::future::BoxFuture;
use sqlx::AnyConnection;

use crate::store::{Error, Store};

const GET: &str = "SELECT value FROM desk WHERE name = $1";

const SET: &str = "\
    INSERT INTO desk (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

/// Returns a setting, JSON of the room's own.
pub(crate) async fn desk(store: &Store, name: &str) -> Result<Option<String>, Error> {
    let mut connection = store.read().await?;
    Ok(sqlx::query_scalar(GET).bind(name).fetch_optional(&mut *connection).await?)
}

/// Keeps a setting.
pub(crate) async fn set_desk(store: &Store, name: &str, value: &str) -> Result<(), Error> {
    store.write((name.to_owned(), value.to_owned()), verb).await
}

fn verb<'a>(
    connection: &'a mut AnyConnection,
    (name, value): &'a (String, String),
) -> BoxFuture<'a, Result<(), sqlx::Error>> {
    Box::pin(async move { sqlx::query(SET).bind(name).bind(value).execute(connection).await.map(drop) })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[GET, SET];
