//! Logins of users: role and password.

use super::audit::{self, AuditRow};
use crate::{Error, Millis, Store, change, read, row};

row! {
    /// A login, with the name of its user.
    LoginRow {
        user_id: String,
        name: String,
        role: String,
        /// The verifier of the password; empty for a login at the identity provider alone.
        password: String,
        generation: Millis,
    }
}

const GET: &str = "\
    SELECT l.user_id, u.name, l.role, l.password, l.generation \
    FROM user_logins l JOIN users u ON u.id = l.user_id WHERE l.user_id = $1";

/// The roles of the users with these ids and those between them.
const ROLES: &str = "SELECT user_id, role FROM user_logins WHERE user_id BETWEEN $1 AND $2 ORDER BY user_id";

/// The first login, which is a seek in an index.
const FIRST: &str = "SELECT MIN(user_id) FROM user_logins";

const KNOWN: &str = "SELECT COUNT(*) FROM users WHERE id = $1";

const PUT: &str = "\
    INSERT INTO user_logins (user_id, role, password, generation, changed_at) VALUES ($1, $2, $3, $4, $4) \
    ON CONFLICT (user_id) DO UPDATE SET role = excluded.role, password = excluded.password, \
        generation = CASE WHEN excluded.generation > user_logins.generation THEN excluded.generation \
                          ELSE user_logins.generation + 1 END, \
        changed_at = excluded.changed_at";

/// A login without a password, or another role for one that exists.
const PUT_ROLE: &str = "\
    INSERT INTO user_logins (user_id, role, password, generation, changed_at) \
    SELECT id, CAST($2 AS TEXT), '', CAST($3 AS BIGINT), CAST($3 AS BIGINT) FROM users WHERE id = $1 \
    ON CONFLICT (user_id) DO UPDATE SET role = excluded.role, generation = user_logins.generation + 1, \
        changed_at = excluded.changed_at";

const SET_ROLE: &str = "\
    UPDATE user_logins SET role = $2, generation = generation + 1, changed_at = $3 WHERE user_id = $1";

const END: &str = "UPDATE user_logins SET generation = generation + 1 WHERE user_id = $1";

const REMOVE: &str = "DELETE FROM user_logins WHERE user_id = $1";

/// Returns the login of a user.
pub async fn get(store: &Store, user: &str) -> Result<Option<LoginRow>, Error> {
    Ok(read!(store, sqlx::query_as(GET).bind(user), fetch_optional))
}

/// Returns the ids and roles of users with a login, from the id `first` to the id `last`.
pub async fn roles(store: &Store, first: &str, last: &str) -> Result<Vec<(String, String)>, Error> {
    Ok(read!(store, sqlx::query_as(ROLES).bind(first).bind(last), fetch_all))
}

/// Returns whether any user has a login.
pub async fn exist(store: &Store) -> Result<bool, Error> {
    let first: Option<String> = read!(store, sqlx::query_scalar(FIRST), fetch_one);
    Ok(first.is_some())
}

/// Gives a user a login, or changes it, which ends the logins before. Returns `false` for an unknown user.
pub async fn put(
    store: &Store,
    (user, role, password): (String, String, String),
    now: Millis,
    audit: AuditRow,
) -> Result<bool, Error> {
    change!(store, (user, role, password, now, audit), |connection, (user, role, password, now, audit)| {
        let known: i64 = sqlx::query_scalar(KNOWN).bind(&*user).fetch_one(&mut *connection).await?;
        if known == 0 {
            return Ok(false);
        }
        let put = sqlx::query(PUT).bind(&*user).bind(&*role).bind(&*password).bind(*now);
        put.execute(&mut *connection).await?;
        audit::append(connection, audit).await?;
        Ok(true)
    })
}

/// Changes the role of a login, which ends the logins before. If `gives_login`, a user without one gets one that has no
/// password. Returns `false` if there is no such login, or no such user to give one.
pub async fn set_role(
    store: &Store,
    (user, role): (String, String),
    gives_login: bool,
    now: Millis,
    audit: AuditRow,
) -> Result<bool, Error> {
    let statement = if gives_login { PUT_ROLE } else { SET_ROLE };
    change!(store, (statement, user, role, now, audit), |connection, (statement, user, role, now, audit)| {
        let set = sqlx::query(*statement).bind(&*user).bind(&*role).bind(*now);
        let is_set = set.execute(&mut *connection).await?.rows_affected() > 0;
        if is_set {
            audit::append(connection, audit).await?;
        }
        Ok(is_set)
    })
}

/// Ends the logins of a user in all browsers.
pub async fn end(store: &Store, user: String) -> Result<(), Error> {
    change!(store, user, |connection, user| {
        sqlx::query(END).bind(&*user).execute(connection).await.map(drop)
    })
}

/// Takes the login of a user away; `false` if there was none.
pub async fn remove(store: &Store, user: String, audit: AuditRow) -> Result<bool, Error> {
    change!(store, (user, audit), |connection, (user, audit)| {
        let is_gone = sqlx::query(REMOVE).bind(&*user).execute(&mut *connection).await?.rows_affected() > 0;
        if is_gone {
            audit::append(connection, audit).await?;
        }
        Ok(is_gone)
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[GET, ROLES, FIRST, KNOWN, PUT, PUT_ROLE, SET_ROLE, END, REMOVE];
