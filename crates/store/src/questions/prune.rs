//! Old questions go, with their words, their deliveries and their audit.

use futures::future::BoxFuture;
use sqlx::AnyConnection;

use crate::store::{Error, Millis, Store};

/// Questions that go in one transaction, so that nobody waits long behind them.
const AT_ONCE: i64 = 200;

const PRUNE: &str = "\
    DELETE FROM questions WHERE state = 'decided' AND id IN ( \
        SELECT q.id FROM questions q WHERE q.state = 'decided' AND q.decided_at < $1 ORDER BY q.seq LIMIT $2)";

/// Removes questions that were decided before `since`, 200 at most, oldest first; returns how many went. Ask again until
/// there are none.
pub(crate) async fn prune(store: &Store, since: Millis) -> Result<u64, Error> {
    store.write(since, verb).await
}

fn verb<'a>(connection: &'a mut AnyConnection, since: &'a Millis) -> BoxFuture<'a, Result<u64, sqlx::Error>> {
    Box::pin(async move {
        Ok(sqlx::query(PRUNE).bind(*since).bind(AT_ONCE).execute(connection).await?.rows_affected())
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[PRUNE];
