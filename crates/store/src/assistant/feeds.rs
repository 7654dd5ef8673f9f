//! The secrets of feeds, one for each user.

use futures::future::BoxFuture;
use sqlx::AnyConnection;

use super::audit::{self, AuditRow};
use crate::store::{Error, Millis, Store};

const SECRET: &str = "SELECT secret FROM feeds WHERE user_id = $1";

const OWNER: &str = "SELECT user_id FROM feeds WHERE digest = $1";

/// Where a user has one already, the new one takes its place.
const PUT: &str = "\
    INSERT INTO feeds (user_id, secret, digest, made_at) VALUES ($1, $2, $3, $4) \
    ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, digest = excluded.digest, \
        made_at = excluded.made_at";

const REMOVE: &str = "DELETE FROM feeds WHERE user_id = $1";

/// The secret of a user's feed.
#[derive(Clone, Debug)]
pub(crate) struct NewFeed {
    pub(crate) user: String,
    pub(crate) secret: String,
    pub(crate) digest: String,
    pub(crate) at: Millis,
    pub(crate) audit: AuditRow,
}

/// Returns the secret of a user's feed, where there is one.
pub(crate) async fn secret(store: &Store, user: &str) -> Result<Option<String>, Error> {
    let mut connection = store.read().await?;
    Ok(sqlx::query_scalar(SECRET).bind(user).fetch_optional(&mut *connection).await?)
}

/// Returns whose feed has a secret of this digest.
pub(crate) async fn owner(store: &Store, digest: &str) -> Result<Option<String>, Error> {
    let mut connection = store.read().await?;
    Ok(sqlx::query_scalar(OWNER).bind(digest).fetch_optional(&mut *connection).await?)
}

/// Gives a user's feed a secret; an older one is good for nothing from then on.
pub(crate) async fn put(store: &Store, feed: NewFeed) -> Result<(), Error> {
    fn verb<'a>(
        connection: &'a mut AnyConnection,
        feed: &'a NewFeed,
    ) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        Box::pin(async move {
            let query = sqlx::query(PUT).bind(&feed.user).bind(&feed.secret).bind(&feed.digest);
            query.bind(feed.at).execute(&mut *connection).await?;
            audit::append(connection, &feed.audit).await
        })
    }
    store.write(feed, verb).await
}

/// Ends a user's feed; `false` where there was none.
pub(crate) async fn remove(store: &Store, user: String, audit: AuditRow) -> Result<bool, Error> {
    fn verb<'a>(
        connection: &'a mut AnyConnection,
        (user, audit): &'a (String, AuditRow),
    ) -> BoxFuture<'a, Result<bool, sqlx::Error>> {
        Box::pin(async move {
            let gone = sqlx::query(REMOVE).bind(user).execute(&mut *connection).await?.rows_affected() > 0;
            audit::append(connection, audit).await?;
            Ok(gone)
        })
    }
    store.write((user, audit), verb).await
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[SECRET, OWNER, PUT, REMOVE];
