//! Notifications with their states.

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow as _, Row as _};

use super::bulk_insert;
use crate::{Error, Millis, Store, read, row};

/// End of the id of a notification that the user snoozed. A plan supersedes no such notification.
pub const SNOOZED: &str = "-snoozed";

row! {
    /// A notification.
    NotificationRow {
        id: String,
        plan_id: String,
        user_id: String,
        event_id: String,
        occurrence: String,
        channel: String,
        due_at: Millis,
        urgency: String,
        status: String,
        try_at: Millis,
        attempts: i64,
        lease_owner: Option<String>,
        lease_until: Option<Millis>,
        sent_at: Option<Millis>,
        acknowledged_at: Option<Millis>,
        error: Option<String>,
        /// JSON.
        details: String,
        updated_at: Millis,
    }
}

macro_rules! select_notifications {
    ($rest:literal) => {
        concat!(
            "SELECT n.id, n.plan_id, n.user_id, n.event_id, n.occurrence, n.channel, n.due_at, n.urgency, n.status, ",
            "n.try_at, n.attempts, n.lease_owner, n.lease_until, n.sent_at, n.acknowledged_at, n.error, n.details, ",
            "n.updated_at FROM notifications n ",
            $rest
        )
    };
}

pub(super) use select_notifications;

const GET: &str = select_notifications!("WHERE n.id = $1");
const OF_OCCURRENCE: &str =
    select_notifications!("WHERE n.event_id = $1 AND n.occurrence = $2 ORDER BY n.due_at, n.id");
const OF_EVENT: &str = select_notifications!("WHERE n.event_id = $1 ORDER BY n.due_at, n.id LIMIT $2");

/// Two statements, because each needs a different index.
const LIST: &str = select_notifications!(
    "WHERE n.due_at >= $1 AND n.due_at < $2 AND ($3 = '' OR n.status = $3) ORDER BY n.due_at, n.id LIMIT $4"
);
const LIST_OF: &str = select_notifications!(
    "WHERE n.user_id = $5 AND n.due_at >= $1 AND n.due_at < $2 AND ($3 = '' OR n.status = $3) \
     ORDER BY n.due_at, n.id LIMIT $4"
);

/// Notifications of a user's occurrences within a window.
const HISTORY: &str = select_notifications!(
    "JOIN occurrences o ON o.event_id = n.event_id AND o.occurrence = n.occurrence \
     WHERE o.user_id = $1 AND o.starts_at >= $2 AND o.starts_at < $3 ORDER BY n.due_at, n.id"
);

/// Planned notifications of a user from an instant on, each with the start of its occurrence.
const UPCOMING: &str = "\
    SELECT n.id, n.plan_id, n.user_id, n.event_id, n.occurrence, n.channel, n.due_at, n.urgency, n.status, n.try_at, \
        n.attempts, n.lease_owner, n.lease_until, n.sent_at, n.acknowledged_at, n.error, n.details, n.updated_at, \
        o.starts_at \
    FROM notifications n JOIN occurrences o ON o.event_id = n.event_id AND o.occurrence = n.occurrence \
    WHERE n.user_id = $1 AND n.due_at >= $2 AND n.status = 'planned' ORDER BY n.due_at, n.id LIMIT $3";

const INSERT: &str = "\
    INSERT INTO notifications (id, plan_id, user_id, event_id, occurrence, channel, due_at, urgency, status, try_at, \
        attempts, details, updated_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'planned', $9, 0, $10, $11)";

const ADOPT: &str = "UPDATE notifications SET plan_id = $2 WHERE id = $1";

const WITHDRAW: &str =
    "UPDATE notifications SET status = $2, updated_at = $3 WHERE id = $1 AND status = 'planned'";

const WITHDRAW_ALL: &str = "\
    UPDATE notifications SET status = 'cancelled', error = $2, updated_at = $3 \
    WHERE event_id = $1 AND status = 'planned'";

/// The filter of a list of notifications.
#[derive(Clone, Debug)]
pub struct NotificationFilter {
    pub user: Option<String>,
    /// One status; empty means all.
    pub status: String,
    pub from: Millis,
    pub until: Millis,
}

/// Returns one notification.
pub async fn get(store: &Store, id: &str) -> Result<Option<NotificationRow>, Error> {
    Ok(read!(store, sqlx::query_as(GET).bind(id), fetch_optional))
}

/// Returns at most `limit` notifications in the order of their due times.
pub async fn list(
    store: &Store,
    filter: &NotificationFilter,
    limit: u32,
) -> Result<Vec<NotificationRow>, Error> {
    let text = if filter.user.is_some() { LIST_OF } else { LIST };
    let query = || {
        let query = sqlx::query_as(text).bind(filter.from).bind(filter.until).bind(&filter.status);
        let query = query.bind(i64::from(limit));
        match &filter.user {
            Some(user) => query.bind(user),
            None => query,
        }
    };
    Ok(read!(store, query(), fetch_all))
}

/// Returns the notifications of a user's occurrences that start from `from` to before `until`.
pub async fn history(
    store: &Store,
    user: &str,
    from: Millis,
    until: Millis,
) -> Result<Vec<NotificationRow>, Error> {
    Ok(read!(store, sqlx::query_as(HISTORY).bind(user).bind(from).bind(until), fetch_all))
}

/// Returns at most `limit` planned notifications of a user from `from` on, in the order of their due times, each with
/// the start of its occurrence.
pub async fn upcoming(
    store: &Store,
    user: &str,
    from: Millis,
    limit: u32,
) -> Result<Vec<(NotificationRow, Millis)>, Error> {
    let query = || sqlx::query(UPCOMING).bind(user).bind(from).bind(i64::from(limit));
    let rows = read!(store, query(), fetch_all);
    let with_start = |row: &AnyRow| Ok((NotificationRow::from_row(row)?, row.try_get("starts_at")?));
    Ok(rows.iter().map(with_start).collect::<Result<_, sqlx::Error>>()?)
}

/// Returns at most `limit` notifications of an event.
pub async fn of_event(store: &Store, event: &str, limit: u32) -> Result<Vec<NotificationRow>, Error> {
    Ok(read!(store, sqlx::query_as(OF_EVENT).bind(event).bind(i64::from(limit)), fetch_all))
}

pub(super) async fn of_occurrence(
    connection: &mut AnyConnection,
    event: &str,
    occurrence: &str,
) -> Result<Vec<NotificationRow>, sqlx::Error> {
    sqlx::query_as(OF_OCCURRENCE).bind(event).bind(occurrence).fetch_all(connection).await
}

/// Adds a notification under a plan.
pub(super) async fn insert(
    connection: &mut AnyConnection,
    row: &NotificationRow,
    plan: &str,
) -> Result<(), sqlx::Error> {
    insert_all(connection, &[&NotificationRow { plan_id: plan.to_owned(), ..row.clone() }]).await
}

/// Adds notifications.
pub(super) async fn insert_all(
    connection: &mut AnyConnection,
    rows: &[&NotificationRow],
) -> Result<(), sqlx::Error> {
    for chunk in rows.chunks(bulk_insert::rows(INSERT)) {
        let mut query = sqlx::query(bulk_insert::repeated(connection, INSERT, chunk.len()));
        for row in chunk {
            query = query.bind(&row.id).bind(&row.plan_id).bind(&row.user_id).bind(&row.event_id);
            query = query.bind(&row.occurrence).bind(&row.channel).bind(row.due_at).bind(&row.urgency);
            query = query.bind(row.try_at).bind(&row.details).bind(row.updated_at);
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Moves an unchanged notification to a newer plan.
pub(super) async fn adopt(connection: &mut AnyConnection, id: &str, plan: &str) -> Result<(), sqlx::Error> {
    sqlx::query(ADOPT).bind(id).bind(plan).execute(connection).await.map(drop)
}

/// Gives a notification a final status, if it is still planned.
pub(super) async fn withdraw(
    connection: &mut AnyConnection,
    id: &str,
    status: &str,
    at: Millis,
) -> Result<(), sqlx::Error> {
    sqlx::query(WITHDRAW).bind(id).bind(status).bind(at).execute(connection).await.map(drop)
}

/// Cancels the planned notifications of an event with a reason.
pub(super) async fn withdraw_all(
    connection: &mut AnyConnection,
    event: &str,
    why: &str,
    at: Millis,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query(WITHDRAW_ALL).bind(event).bind(why).bind(at).execute(connection).await?;
    Ok(done.rows_affected())
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] =
    &[GET, OF_OCCURRENCE, OF_EVENT, LIST, LIST_OF, HISTORY, UPCOMING, INSERT, ADOPT, WITHDRAW, WITHDRAW_ALL];
