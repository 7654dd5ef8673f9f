//! Workers on other machines: who joined, what each one last reported, and the codes by which workers join.

use sqlx::Connection as _;

use crate::{Error, Millis, Store, change, connect, read, row};
use adjutant_base::config::Database;

/// Workers without credentials at most. Anybody who may publish could invent more.
const MAX_OPEN_WORKERS: i64 = 1_000;

const INVITE: &str = "\
    INSERT INTO worker_invitations (id, labels, created_at, expires_at) VALUES ($1, $2, $3, $4)";

/// A used code is accepted again from the same worker, because the answer may have been lost.
const USE: &str = "\
    UPDATE worker_invitations SET worker = $2 \
    WHERE id = $1 AND expires_at > $3 AND (worker IS NULL OR worker = $2) \
    RETURNING labels";

const KNOWN: &str = "SELECT COUNT(*) FROM worker_invitations WHERE id = $1";

const JOIN: &str = "\
    INSERT INTO workers (id, name, version, protocol, runners, labels, max_tasks, joined_at, expires_at, seen_at) \
    VALUES ($1, $2, '', 0, '', $3, 0, $4, $5, $4) \
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, expires_at = excluded.expires_at";

const REPLACE: &str = "DELETE FROM workers WHERE id = $1";

/// The labels of a worker that joined are those of its invitation.
const REPORT: &str = "\
    INSERT INTO workers (id, name, version, protocol, runners, labels, max_tasks, seen_at) \
    SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS TEXT), \
           CAST($6 AS TEXT), CAST($7 AS BIGINT), CAST($8 AS BIGINT) \
    WHERE (SELECT COUNT(*) FROM workers WHERE joined_at IS NULL) < $9 \
       OR EXISTS (SELECT 1 FROM workers WHERE id = $1) \
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, version = excluded.version, protocol = excluded.protocol, \
        runners = excluded.runners, max_tasks = excluded.max_tasks, seen_at = excluded.seen_at, \
        labels = CASE WHEN workers.joined_at IS NULL THEN excluded.labels ELSE workers.labels END";

const RENEW: &str = "UPDATE workers SET expires_at = $2 WHERE id = $1 AND revoked_at IS NULL";

const REVOKE: &str = "UPDATE workers SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";

const DRAIN: &str = "UPDATE workers SET draining = $2 WHERE id = $1 AND revoked_at IS NULL";

const FORGET_OPEN: &str =
    "DELETE FROM workers WHERE joined_at IS NULL AND draining = 0 AND revoked_at IS NULL AND seen_at < $1";

const FORGET_REVOKED: &str = "DELETE FROM workers WHERE revoked_at < $1 AND expires_at < $1";

const FORGET_INVITATIONS: &str = "DELETE FROM worker_invitations WHERE expires_at < $1";

/// Starts a statement that reads whole workers.
macro_rules! select_workers {
    ($($rest:tt)+) => {
        concat!(
            "SELECT w.id, w.name, w.version, w.protocol, w.runners, w.labels, w.max_tasks, w.joined_at, w.expires_at, ",
            "w.seen_at, w.draining, w.revoked_at FROM workers w ",
            $($rest)+
        )
    };
}

const GET: &str = select_workers!("WHERE w.id = $1");

const LIST: &str = select_workers!("ORDER BY w.name, w.id");

const HELD: &str = "\
    SELECT t.id, t.hub, t.agent FROM tasks t WHERE t.state = 'running' AND t.hub LIKE 'worker:%' ORDER BY t.seq";

row! {
    /// One row of `workers`.
    Worker {
        id: String,
        /// The host name.
        name: String,
        /// Of the program; empty before the first report.
        version: String,
        protocol: i64,
        /// Separated by spaces.
        runners: String,
        /// Separated by spaces.
        labels: String,
        max_tasks: i64,
        /// `None` for a worker without credentials.
        joined_at: Option<Millis>,
        expires_at: Option<Millis>,
        seen_at: Millis,
        draining: i64,
        revoked_at: Option<Millis>,
    }
}

row! {
    /// A running task that a worker holds.
    HeldTask {
        id: String,
        /// [`crate::tasks::holder`] of the worker.
        hub: String,
        agent: String,
    }
}

/// A worker's report about itself.
#[derive(Clone, Debug)]
pub struct Report {
    pub id: String,
    pub name: String,
    pub version: String,
    pub protocol: i64,
    /// Separated by spaces.
    pub runners: String,
    /// Separated by spaces; for a worker without credentials.
    pub labels: String,
    pub max_tasks: i64,
    pub now: Millis,
}

/// Stores a one-time code by its public key.
pub async fn invite(
    store: &Store,
    id: &str,
    labels: &str,
    now: Millis,
    expires_at: Millis,
) -> Result<(), Error> {
    let arguments = (id.to_owned(), labels.to_owned(), now, expires_at);
    change!(store, arguments, |connection, (id, labels, now, expires_at)| {
        let query = sqlx::query(INVITE).bind(id).bind(labels).bind(now).bind(expires_at);
        query.execute(connection).await.map(drop)
    })
}

/// Uses a code for a worker, which is its public key and its name, whose credentials end at `expires_at`. The worker
/// `earlier` is forgotten. Returns the labels of the code; `None` when it is unknown, expired or used by another worker.
pub async fn join(
    store: &Store,
    invitation: &str,
    (worker, name): (&str, &str),
    now: Millis,
    expires_at: Millis,
    earlier: Option<&str>,
) -> Result<Option<String>, Error> {
    let worker = (worker.to_owned(), name.to_owned());
    let arguments = (invitation.to_owned(), worker, now, expires_at, earlier.map(ToOwned::to_owned));
    change!(store, arguments, |connection, (invitation, (worker, name), now, expires_at, earlier)| {
        let used: Vec<String> = sqlx::query_scalar(USE)
            .bind(invitation)
            .bind(worker)
            .bind(now)
            .fetch_all(&mut *connection)
            .await?;
        let Some(labels) = used.into_iter().next() else { return Ok(None) };
        if let Some(earlier) = earlier.as_ref().filter(|earlier| *earlier != worker) {
            sqlx::query(REPLACE).bind(earlier).execute(&mut *connection).await?;
        }
        let query = sqlx::query(JOIN).bind(worker).bind(name).bind(&labels).bind(now).bind(expires_at);
        query.execute(connection).await?;
        Ok(Some(labels))
    })
}

/// Returns whether a code was made in this database, also when it has ended.
pub async fn is_invitation(store: &Store, id: &str) -> Result<bool, Error> {
    let count: i64 = read!(store, sqlx::query_scalar(KNOWN).bind(id), fetch_one);
    Ok(count > 0)
}

/// Records the report of a worker and returns its row; `None` where too many workers without credentials are known.
pub async fn report(store: &Store, report: Report) -> Result<Option<Worker>, Error> {
    change!(store, report, |connection, report| {
        let query = sqlx::query(REPORT)
            .bind(&report.id)
            .bind(&report.name)
            .bind(&report.version)
            .bind(report.protocol)
            .bind(&report.runners)
            .bind(&report.labels)
            .bind(report.max_tasks)
            .bind(report.now)
            .bind(MAX_OPEN_WORKERS);
        query.execute(&mut *connection).await?;
        sqlx::query_as(GET).bind(&report.id).fetch_optional(connection).await
    })
}

/// Records the new end of a worker's credentials. False for a worker that is unknown or revoked.
pub async fn renew(store: &Store, id: &str, expires_at: Millis) -> Result<bool, Error> {
    set(store, RENEW, id, expires_at).await
}

/// Revokes a worker. False for a worker that is unknown or revoked already.
pub async fn revoke(store: &Store, id: &str, now: Millis) -> Result<bool, Error> {
    set(store, REVOKE, id, now).await
}

/// Lets a worker claim no more tasks, or claim them again. False for a worker that is unknown or revoked.
pub async fn drain(store: &Store, id: &str, draining: bool) -> Result<bool, Error> {
    set(store, DRAIN, id, i64::from(draining)).await
}

async fn set(store: &Store, statement: &'static str, id: &str, value: i64) -> Result<bool, Error> {
    change!(store, (statement, id.to_owned(), value), |connection, (statement, id, value)| {
        let query = sqlx::query(*statement).bind(id).bind(*value);
        Ok(query.execute(connection).await?.rows_affected() == 1)
    })
}

/// Forgets workers without credentials that were seen last before `seen`, and what ended before `ended`: codes, and the
/// credentials of revoked workers.
pub async fn forget(store: &Store, seen: Millis, ended: Millis) -> Result<(), Error> {
    change!(store, (seen, ended), |connection, (seen, ended)| {
        for (statement, before) in [(FORGET_OPEN, seen), (FORGET_REVOKED, ended), (FORGET_INVITATIONS, ended)]
        {
            sqlx::query(statement).bind(*before).execute(&mut *connection).await?;
        }
        Ok(())
    })
}

/// Returns a worker by its id.
pub async fn get(store: &Store, id: &str) -> Result<Option<Worker>, Error> {
    Ok(read!(store, sqlx::query_as(GET).bind(id), fetch_optional))
}

/// Returns all workers, by name.
pub async fn list(store: &Store) -> Result<Vec<Worker>, Error> {
    Ok(read!(store, sqlx::query_as(LIST), fetch_all))
}

/// Returns all workers of a database and the tasks that they hold, by name. Opens it read-only.
pub async fn list_of(database: &Database) -> Result<(Vec<Worker>, Vec<HeldTask>), Error> {
    let Some(mut connection) = connect::read_only(database).await? else { return Ok(Default::default()) };
    let listed = sqlx::query_as(LIST).fetch_all(&mut connection).await;
    let held = sqlx::query_as(HELD).fetch_all(&mut connection).await;
    let _ = connection.close().await;
    Ok((listed?, held?))
}

/// Returns the running tasks that workers hold, oldest first.
pub async fn held(store: &Store) -> Result<Vec<HeldTask>, Error> {
    Ok(read!(store, sqlx::query_as(HELD), fetch_all))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[
    INVITE,
    USE,
    KNOWN,
    JOIN,
    REPLACE,
    REPORT,
    RENEW,
    REVOKE,
    DRAIN,
    FORGET_OPEN,
    FORGET_REVOKED,
    FORGET_INVITATIONS,
    GET,
    LIST,
    HELD,
];
