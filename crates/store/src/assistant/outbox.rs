//! The outbox of due notifications: leased, with the attempt on disk before the send, and its outcome afterwards.

use super::audit::{self, AuditRow};
use super::notifications::{self, NotificationRow, select_notifications};
use crate::{Error, Millis, Store, change, read, row};

row! {
    /// One attempt to send a notification.
    AttemptRow {
        notification_id: String,
        attempt: i64,
        started_at: Millis,
        ended_at: Option<Millis>,
        outcome: Option<String>,
        detail: Option<String>,
    }
}

const DUE: &str =
    select_notifications!("WHERE n.status = 'planned' AND n.try_at <= $1 ORDER BY n.try_at, n.id LIMIT $2");

/// Repeats the condition, so that one of two hubs wins.
const LEASE: &str = "\
    UPDATE notifications SET status = 'sending', lease_owner = $2, lease_until = $3, attempts = attempts + 1, \
        updated_at = $4 WHERE id = $1 AND status = 'planned'";

/// Notifications that a hub has leased until a time.
const LEASED: &str = select_notifications!(
    "WHERE n.status = 'sending' AND n.lease_owner = $1 AND n.lease_until = $2 ORDER BY n.try_at, n.id"
);

const EXTEND: &str = "\
    UPDATE notifications SET lease_until = $2 WHERE status = 'sending' AND lease_owner = $1";

const START: &str = "\
    INSERT INTO attempts (notification_id, attempt, started_at) VALUES ($1, $2, $3) \
    ON CONFLICT (notification_id, attempt) DO NOTHING";

const END: &str = "\
    UPDATE attempts SET ended_at = $3, outcome = $4, detail = $5 \
    WHERE notification_id = $1 AND attempt = $2 AND ended_at IS NULL";

const RECORD_RESULT: &str = "\
    UPDATE notifications SET status = $3, try_at = $4, sent_at = $5, error = $6, lease_owner = NULL, \
        lease_until = NULL, updated_at = $7 WHERE id = $1 AND attempts = $2 AND status IN ('sending', 'unknown')";

/// Notifications in the state `sending` with an expired lease.
const EXPIRED: &str = select_notifications!("WHERE n.status = 'sending' AND n.lease_until < $1 LIMIT $2");

/// Overdue notifications that were never tried, or were held until now.
const MISSED: &str = select_notifications!(
    "WHERE n.status = 'planned' AND n.try_at <= $1 AND (n.attempts = 0 AND n.try_at < $2 \
       OR EXISTS (SELECT 1 FROM attempts a \
                  WHERE a.notification_id = n.id AND a.attempt = n.attempts AND a.outcome = 'held')) \
     ORDER BY n.try_at, n.id LIMIT $3"
);

const MERGED: &str =
    select_notifications!("WHERE n.status = 'merged' AND n.error = $1 ORDER BY n.due_at, n.id");

/// Urgent notifications that were sent or failed for good, without a next step yet. A notification that failed five
/// times escalates while it is retried.
const UNACKNOWLEDGED: &str = select_notifications!(
    "WHERE n.urgency = 'urgent' AND n.acknowledged_at IS NULL \
     AND (n.status IN ('sent', 'simulated', 'failed', 'dead') OR n.status = 'planned' AND 5 <= \
       (SELECT COUNT(*) FROM attempts a WHERE a.notification_id = n.id AND a.outcome = 'failed')) \
     AND n.updated_at >= $1 AND (n.updated_at > $1 OR n.id > $2) \
     AND NOT EXISTS (SELECT 1 FROM notifications s WHERE s.id = n.id || '-next') \
     ORDER BY n.updated_at, n.id LIMIT $3"
);

const EXISTS: &str = "SELECT COUNT(*) FROM notifications WHERE id = $1";

const NEXT: &str = "SELECT MIN(try_at) FROM notifications WHERE status = 'planned'";

const MERGE: &str = "\
    UPDATE notifications SET status = 'merged', error = $2, updated_at = $3 WHERE id = $1 AND status = 'planned'";

/// Moves a notification to another state by a user's decision, if it is in the expected one.
const MOVE: &str = "\
    UPDATE notifications SET status = $3, try_at = $4, error = $5, updated_at = $4 WHERE id = $1 AND status = $2";

const ACKNOWLEDGE: &str = "UPDATE notifications SET acknowledged_at = $2, updated_at = $2 WHERE id = $1 AND acknowledged_at IS NULL";

/// Acknowledges the other sent notifications of the same occurrence too, so that none of them escalates.
const ACKNOWLEDGE_OTHERS: &str = "\
    UPDATE notifications SET acknowledged_at = $2, updated_at = $2 \
    WHERE acknowledged_at IS NULL AND status IN ('sent', 'simulated', 'unknown') \
      AND (event_id, occurrence) IN (SELECT a.event_id, a.occurrence FROM notifications a WHERE a.id = $1)";

const COUNT_ATTEMPTS: &str =
    "SELECT COUNT(*) FROM attempts WHERE notification_id = $1 AND (outcome IS NULL OR outcome <> 'held')";

const ATTEMPTS: &str = "\
    SELECT notification_id, attempt, started_at, ended_at, outcome, detail FROM attempts \
    WHERE notification_id = $1 ORDER BY attempt";

/// The result of an attempt.
#[derive(Clone, Debug)]
pub struct AttemptResult {
    pub id: String,
    /// The number of the attempt: a later one is left alone.
    pub attempt: i64,
    /// The outcome of the attempt: sent, simulated, failed or unknown.
    pub outcome: String,
    pub detail: String,
    /// The status of the notification from now on.
    pub status: String,
    pub try_at: Millis,
    pub sent_at: Option<Millis>,
    pub error: Option<String>,
    pub at: Millis,
}

/// A hub's request for due notifications.
#[derive(Clone, Debug)]
pub struct LeaseRequest {
    /// The hub.
    pub owner: String,
    pub now: Millis,
    /// The end of the leases.
    pub until: Millis,
    /// Maximum notifications to lease.
    pub limit: u32,
    /// Whether the hub is sending nothing now. Notifications that it holds all the same are leased to it again, because
    /// the connection broke after their lease was committed and before the hub knew of it.
    pub is_idle: bool,
}

/// Leases due notifications, each with an attempt that is on disk before anything is sent. Returns the updated rows in
/// the order of `try_at`.
pub async fn lease(store: &Store, request: LeaseRequest) -> Result<Vec<NotificationRow>, Error> {
    change!(store, request, |connection, request| {
        let mut leased = Vec::new();
        if request.is_idle {
            let query = sqlx::query(EXTEND).bind(&request.owner).bind(request.until);
            if query.execute(&mut *connection).await?.rows_affected() > 0 {
                let query = sqlx::query_as(LEASED).bind(&request.owner).bind(request.until);
                leased = query.fetch_all(&mut *connection).await?;
            }
        }
        let limit = i64::from(request.limit).saturating_sub_unsigned(leased.len() as u64).max(0);
        let query = sqlx::query_as(DUE).bind(request.now).bind(limit);
        let due: Vec<NotificationRow> = query.fetch_all(&mut *connection).await?;
        for mut row in due {
            let query = sqlx::query(LEASE).bind(&row.id).bind(&request.owner).bind(request.until);
            if query.bind(request.now).execute(&mut *connection).await?.rows_affected() == 0 {
                continue;
            }
            row.attempts += 1;
            "sending".clone_into(&mut row.status);
            (row.lease_owner, row.lease_until) = (Some(request.owner.clone()), Some(request.until));
            row.updated_at = request.now;
            let query = sqlx::query(START).bind(&row.id).bind(row.attempts).bind(request.now);
            query.execute(&mut *connection).await?;
            leased.push(row);
        }
        Ok(leased)
    })
}

/// Records the result of an attempt; `false` if the notification has changed since.
pub async fn record_attempt(store: &Store, result: AttemptResult) -> Result<bool, Error> {
    change!(store, result, |connection, done| {
        let query = sqlx::query(END).bind(&done.id).bind(done.attempt).bind(done.at);
        query.bind(&done.outcome).bind(&done.detail).execute(&mut *connection).await?;
        let query = sqlx::query(RECORD_RESULT).bind(&done.id).bind(done.attempt).bind(&done.status);
        let query = query.bind(done.try_at).bind(done.sent_at).bind(&done.error).bind(done.at);
        Ok(query.execute(connection).await?.rows_affected() > 0)
    })
}

/// Returns notifications in the state `sending` with a lease that expired before `now`: their hub has ended, and may
/// or may not have sent them.
pub async fn expired_sendings(store: &Store, now: Millis, limit: u32) -> Result<Vec<NotificationRow>, Error> {
    Ok(read!(store, sqlx::query_as(EXPIRED).bind(now).bind(i64::from(limit)), fetch_all))
}

/// Returns the time at which the next notification is to be tried.
pub async fn next(store: &Store) -> Result<Option<Millis>, Error> {
    Ok(read!(store, sqlx::query_scalar(NEXT), fetch_one))
}

/// Returns planned notifications that missed their time: due before `before` and never tried, or held until now.
pub async fn missed(
    store: &Store,
    now: Millis,
    before: Millis,
    limit: u32,
) -> Result<Vec<NotificationRow>, Error> {
    let query = || sqlx::query_as(MISSED).bind(now).bind(before).bind(i64::from(limit));
    Ok(read!(store, query(), fetch_all))
}

/// Returns the notifications that were merged into `carrier`.
pub async fn merged_into(store: &Store, carrier: &str) -> Result<Vec<NotificationRow>, Error> {
    Ok(read!(store, sqlx::query_as(MERGED).bind(carrier), fetch_all))
}

/// Returns at most `limit` urgent notifications that were sent or failed and are not acknowledged, in the order of
/// their last change, after the given time and id.
pub async fn unacknowledged(
    store: &Store,
    after: &(Millis, String),
    limit: u32,
) -> Result<Vec<NotificationRow>, Error> {
    let query = || sqlx::query_as(UNACKNOWLEDGED).bind(after.0).bind(&after.1).bind(i64::from(limit));
    Ok(read!(store, query(), fetch_all))
}

/// Plans the next step of an escalation, unless it is planned already.
pub async fn escalate(store: &Store, next: NotificationRow) -> Result<(), Error> {
    change!(store, next, |connection, next| {
        let there: i64 = sqlx::query_scalar(EXISTS).bind(&next.id).fetch_one(&mut *connection).await?;
        if there == 0 {
            notifications::insert(connection, next, &next.plan_id).await?;
        }
        Ok(())
    })
}

/// Merges missed notifications into the notification `into`; their `error` holds its id.
pub async fn merge(store: &Store, ids: Vec<String>, into: String, at: Millis) -> Result<(), Error> {
    change!(store, (ids, into, at), |connection, (ids, into, at)| {
        for id in ids {
            sqlx::query(MERGE).bind(id).bind(into).bind(*at).execute(&mut *connection).await?;
        }
        Ok(())
    })
}

/// A user's decision about a notification.
#[derive(Clone, Debug)]
pub struct Resolution {
    pub id: String,
    /// The status that it must have now.
    pub from: String,
    pub to: String,
    pub error: Option<String>,
    pub at: Millis,
    pub audit: AuditRow,
}

/// Moves a notification by a user's decision; `false` if its status has changed from `from` before.
pub async fn resolve(store: &Store, resolution: Resolution) -> Result<bool, Error> {
    change!(store, resolution, |connection, resolution| {
        let query = sqlx::query(MOVE)
            .bind(&resolution.id)
            .bind(&resolution.from)
            .bind(&resolution.to)
            .bind(resolution.at);
        if query.bind(&resolution.error).execute(&mut *connection).await?.rows_affected() == 0 {
            return Ok(false);
        }
        audit::append(connection, &resolution.audit).await?;
        Ok(true)
    })
}

/// A user's decision to be notified later.
#[derive(Clone, Debug)]
pub struct Snooze {
    pub id: String,
    /// The notification is planned, and is superseded; otherwise it was sent, and is acknowledged.
    pub planned: bool,
    /// The later notification.
    pub next: NotificationRow,
    pub at: Millis,
    pub audit: AuditRow,
}

/// Plans a later notification instead of one; `false` if that one is no longer planned.
pub async fn snooze(store: &Store, snooze: Snooze) -> Result<bool, Error> {
    change!(store, snooze, |connection, snooze| {
        if snooze.planned {
            let query = sqlx::query(MOVE).bind(&snooze.id).bind("planned").bind("superseded");
            let query = query.bind(snooze.at).bind(None::<String>);
            if query.execute(&mut *connection).await?.rows_affected() == 0 {
                return Ok(false);
            }
        } else {
            let query = sqlx::query(ACKNOWLEDGE).bind(&snooze.id).bind(snooze.at);
            query.execute(&mut *connection).await?;
        }
        notifications::insert(connection, &snooze.next, &snooze.next.plan_id).await?;
        audit::append(connection, &snooze.audit).await?;
        Ok(true)
    })
}

/// Acknowledges a notification, and with it the other sent ones of the same occurrence. `false` if it was
/// acknowledged before.
pub async fn acknowledge(store: &Store, id: String, at: Millis, audit: AuditRow) -> Result<bool, Error> {
    change!(store, (id, at, audit), |connection, (id, at, audit)| {
        let query = sqlx::query(ACKNOWLEDGE).bind(id).bind(*at);
        if query.execute(&mut *connection).await?.rows_affected() == 0 {
            return Ok(false);
        }
        sqlx::query(ACKNOWLEDGE_OTHERS).bind(id).bind(*at).execute(&mut *connection).await?;
        audit::append(connection, audit).await?;
        Ok(true)
    })
}

/// Returns the number of attempts, with the present one and without held ones.
pub async fn attempt_count(store: &Store, id: &str) -> Result<i64, Error> {
    Ok(read!(store, sqlx::query_scalar(COUNT_ATTEMPTS).bind(id), fetch_one))
}

/// Returns the attempts of a notification, held ones too.
pub async fn attempts(store: &Store, id: &str) -> Result<Vec<AttemptRow>, Error> {
    Ok(read!(store, sqlx::query_as(ATTEMPTS).bind(id), fetch_all))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[
    DUE,
    LEASE,
    LEASED,
    EXTEND,
    START,
    END,
    RECORD_RESULT,
    EXPIRED,
    MISSED,
    MERGED,
    UNACKNOWLEDGED,
    EXISTS,
    NEXT,
    MERGE,
    MOVE,
    ACKNOWLEDGE,
    ACKNOWLEDGE_OTHERS,
    COUNT_ATTEMPTS,
    ATTEMPTS,
];
