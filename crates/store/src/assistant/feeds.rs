//! The secrets of feeds, one for each user.

use super::audit::{self, AuditRow};
use crate::{Error, Millis, Store, change, read};

const SECRET: &str = "SELECT secret FROM feeds WHERE user_id = $1";

const OWNER: &str = "SELECT user_id FROM feeds WHERE digest = $1";

/// A new secret replaces the user's previous one.
const PUT: &str = "\
    INSERT INTO feeds (user_id, secret, digest, made_at) VALUES ($1, $2, $3, $4) \
    ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, digest = excluded.digest, \
        made_at = excluded.made_at";

const REMOVE: &str = "DELETE FROM feeds WHERE user_id = $1";

/// The secret of a user's feed.
#[derive(Clone, Debug)]
pub struct NewFeed {
    pub user: String,
    pub secret: String,
    pub digest: String,
    pub at: Millis,
    pub audit: AuditRow,
}

/// Returns the secret of a user's feed, if there is one.
pub async fn secret(store: &Store, user: &str) -> Result<Option<String>, Error> {
    Ok(read!(store, sqlx::query_scalar(SECRET).bind(user), fetch_optional))
}

/// Returns the user of the feed with this digest of its secret.
pub async fn owner(store: &Store, digest: &str) -> Result<Option<String>, Error> {
    Ok(read!(store, sqlx::query_scalar(OWNER).bind(digest), fetch_optional))
}

/// Gives a user's feed a secret; the previous one is invalid from then on.
pub async fn put(store: &Store, feed: NewFeed) -> Result<(), Error> {
    change!(store, feed, |connection, feed| {
        let query = sqlx::query(PUT).bind(&feed.user).bind(&feed.secret).bind(&feed.digest);
        query.bind(feed.at).execute(&mut *connection).await?;
        audit::append(connection, &feed.audit).await
    })
}

/// Removes a user's feed; `false` if there was none.
pub async fn remove(store: &Store, user: String, audit: AuditRow) -> Result<bool, Error> {
    change!(store, (user, audit), |connection, (user, audit)| {
        let gone = sqlx::query(REMOVE).bind(user).execute(&mut *connection).await?.rows_affected() > 0;
        audit::append(connection, audit).await?;
        Ok(gone)
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[SECRET, OWNER, PUT, REMOVE];
