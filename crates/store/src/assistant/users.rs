//! Users.

use super::audit::{self, AuditRow};
use crate::{Error, Millis, Store, change, read, row};

row! {
    /// A user.
    UserRow {
        id: String,
        name: String,
        email: Option<String>,
        phone: Option<String>,
        /// JSON.
        preferences: String,
        revision: Millis,
        created_at: Millis,
        updated_at: Millis,
    }
}

macro_rules! select_users {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, email, phone, preferences, revision, created_at, updated_at FROM users ",
            $rest
        )
    };
}

const GET: &str = select_users!("WHERE id = $1");
const WITH_EMAIL: &str = select_users!("WHERE email = $1");
const LIST: &str = select_users!("WHERE id > $1 ORDER BY id LIMIT $2");
const TAKEN: &str = "SELECT COUNT(*) FROM users WHERE email = $1 AND id <> $2";

/// Each update increments the revision, so that no plan outlives the preferences it was made for.
const PUT: &str = "\
    INSERT INTO users (id, name, email, phone, preferences, revision, created_at, updated_at) \
    VALUES ($1, $2, $3, $4, $5, 1, $6, $6) \
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, email = excluded.email, phone = excluded.phone, \
        preferences = excluded.preferences, revision = users.revision + 1, updated_at = excluded.updated_at";

const REMOVE: &str = "DELETE FROM users WHERE id = $1";

/// Returns one user.
pub async fn get(store: &Store, id: &str) -> Result<Option<UserRow>, Error> {
    Ok(read!(store, sqlx::query_as(GET).bind(id), fetch_optional))
}

/// Returns the user with a mail address.
pub async fn with_email(store: &Store, email: &str) -> Result<Option<UserRow>, Error> {
    Ok(read!(store, sqlx::query_as(WITH_EMAIL).bind(email), fetch_optional))
}

/// Returns at most `limit` users with ids after `after`, by id.
pub async fn list(store: &Store, after: &str, limit: u32) -> Result<Vec<UserRow>, Error> {
    Ok(read!(store, sqlx::query_as(LIST).bind(after).bind(i64::from(limit)), fetch_all))
}

/// Adds a user, or updates the one with this id; the store itself sets the revision and the time of creation.
/// Returns `false` and changes nothing if another user has the mail address.
pub async fn put(store: &Store, user: UserRow, audit: AuditRow) -> Result<bool, Error> {
    change!(store, (user, audit), |connection, (user, audit)| {
        let taken: i64 =
            sqlx::query_scalar(TAKEN).bind(&user.email).bind(&user.id).fetch_one(&mut *connection).await?;
        if taken > 0 {
            return Ok(false);
        }
        let query = sqlx::query(PUT).bind(&user.id).bind(&user.name).bind(&user.email).bind(&user.phone);
        query.bind(&user.preferences).bind(user.updated_at).execute(&mut *connection).await?;
        audit::append(connection, audit).await?;
        Ok(true)
    })
}

/// Removes a user with all their rows; `false` if there was none.
pub async fn remove(store: &Store, id: String, audit: AuditRow) -> Result<bool, Error> {
    change!(store, (id, audit), |connection, (id, audit)| {
        let gone = sqlx::query(REMOVE).bind(id).execute(&mut *connection).await?.rows_affected() > 0;
        audit::append(connection, audit).await?;
        Ok(gone)
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[GET, WITH_EMAIL, LIST, TAKEN, PUT, REMOVE];
