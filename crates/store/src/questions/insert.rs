//! The insert of a question, or of a further asker of a pending question.

use sqlx::any::AnyArguments;
use sqlx::query::QueryAs;
use sqlx::{Any, AnyConnection};

use super::deliveries::reassign;
use super::{audit, pending_count};
use crate::{Error, Millis, Store, change, read};

/// An identical question that is open or undelivered: from this asker, or from an asker with a session that ends by `$5`.
const SAME: &str = "\
    SELECT q.id, d.asker, COALESCE(d.disconnected_at, 9223372036854775807) \
    FROM questions q JOIN question_deliveries d ON d.question = q.id \
    WHERE q.fingerprint = $1 \
      AND (d.asker = $2 OR $4 = 1 AND d.stream = '' AND COALESCE(d.disconnected_at, 9223372036854775807) <= $5) \
      AND (q.state <> 'decided' AND (d.asker = $2 OR d.delivered_at IS NULL) \
           OR d.stream = $3 AND d.delivered_at IS NULL AND q.kind IN ('answered', 'declined', 'dismissed')) \
    ORDER BY CASE WHEN d.asker = $2 THEN 0 ELSE 1 END, CASE WHEN q.state <> 'decided' THEN 0 ELSE 1 END, q.seq LIMIT 1";

const SAME_REQUEST: &str = "\
    SELECT d.question FROM question_deliveries d \
    WHERE d.stream = $1 AND d.stream <> '' AND d.request = $2 AND d.delivered_at IS NULL LIMIT 1";

const OWN: &str = "SELECT COUNT(*) FROM questions WHERE state = 'pending' AND asker = $1";

const INSERT: &str = "\
    INSERT INTO questions (id, seq, fingerprint, asker, client, workspace, title, level, state, asked_at, deadline, \
                           default_after, seen_ms, machine, addressee) \
    SELECT CAST($1 AS TEXT), COALESCE((SELECT MAX(seq) FROM questions), 0) + 1, CAST($2 AS TEXT), CAST($3 AS TEXT), \
           CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS TEXT), CAST($7 AS TEXT), 'pending', CAST($8 AS BIGINT), \
           CAST($9 AS BIGINT), CAST($10 AS BIGINT), 0, CAST($11 AS TEXT), CAST($12 AS TEXT)";

const BODY: &str = "INSERT INTO question_bodies (question, message, form) VALUES ($1, $2, $3)";

/// An asker that returns is connected again, under its new session, for as long as its call lasts.
const DELIVERY: &str = "\
    INSERT INTO question_deliveries (question, asker, stream, request, session, asked_at) \
    VALUES ($1, $2, $3, $4, $5, $6) \
    ON CONFLICT (question, asker, stream, request) DO UPDATE \
    SET session = excluded.session, disconnected_at = NULL, delivered_at = NULL, lease_until = NULL, silent_at = NULL";

/// A question to insert.
#[derive(Clone, Debug)]
pub struct NewQuestion {
    /// Unique and opaque, chosen by the caller of the store.
    pub id: String,
    pub fingerprint: String,
    pub asker: String,
    /// True if an identical question of an ended session passes to this asker.
    pub continues: bool,
    pub client: String,
    pub session: String,
    /// The stream and the request that get the outcome; both empty for a tool call.
    pub stream: String,
    pub request: String,
    pub workspace: String,
    pub title: String,
    pub level: String,
    pub message: String,
    pub form: String,
    pub asked_at: Millis,
    pub deadline: Millis,
    pub default_after: Option<Millis>,
    /// The user or `@group` that it is for; empty for all.
    pub addressee: String,
}

/// The limits of pending questions.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub each_asker: u32,
    pub total: u32,
    /// True if a new question is rejected, and only an existing one can be joined.
    pub attach_only: bool,
}

/// The result of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    New {
        id: String,
    },
    Joined {
        id: String,
    },
    /// The question is new, and new ones are rejected.
    Closed,
    Full {
        pending: u32,
        own: bool,
    },
    /// A request with this id waits for another question's answer on the same stream.
    SameRequest,
}

/// A question that is identical to a new one: its id, its asker, and when the session of that asker ends;
/// [`Millis::MAX`] for a session that is connected.
pub type Identical = (String, String, Millis);

/// Returns the question that a new one joins, or would join once the session of its asker has ended.
pub async fn identical(store: &Store, new: &NewQuestion) -> Result<Option<Identical>, Error> {
    Ok(read!(store, same(new, Millis::MAX), fetch_optional))
}

fn same(new: &NewQuestion, ended_by: Millis) -> QueryAs<'_, Any, Identical, AnyArguments> {
    let same = sqlx::query_as(SAME).bind(&new.fingerprint).bind(&new.asker).bind(&new.stream);
    same.bind(i64::from(new.continues)).bind(ended_by)
}

/// Inserts a question, which is on disk then. No text may contain a NUL character, because PostgreSQL rejects it.
pub async fn ask(store: &Store, new: NewQuestion, limits: Limits) -> Result<Asked, Error> {
    change!(store, (new, limits, store.machine().to_owned()), |connection, (new, limits, machine)| {
        let same = same(new, new.asked_at).fetch_optional(&mut *connection).await?;
        if !new.stream.is_empty() {
            let taken = sqlx::query_scalar(SAME_REQUEST).bind(&new.stream).bind(&new.request);
            let taken: Option<String> = taken.fetch_optional(&mut *connection).await?;
            if taken.is_some_and(|taken| same.as_ref().is_none_or(|(id, ..)| *id != taken)) {
                return Ok(Asked::SameRequest);
            }
        }
        if let Some((id, asker, _)) = same {
            if asker != new.asker {
                reassign(connection, &id, &asker, &new.asker).await?;
            }
            deliver(connection, &id, new).await?;
            audit::append(connection, &id, "asked_again", &new.client, new.asked_at).await?;
            return Ok(Asked::Joined { id });
        }
        if limits.attach_only {
            return Ok(Asked::Closed);
        }
        for (sql, limit, own) in [(OWN, limits.each_asker, true), (pending_count::COUNT, limits.total, false)]
        {
            let count = sqlx::query_scalar(sql);
            let count = if own { count.bind(&new.asker) } else { count };
            let count: i64 = count.fetch_one(&mut *connection).await?;
            if count >= i64::from(limit) {
                return Ok(Asked::Full { pending: limit, own });
            }
        }
        insert(connection, new, machine).await?;
        pending_count::add(connection, 1).await?;
        deliver(connection, &new.id, new).await?;
        audit::append(connection, &new.id, "asked", &new.client, new.asked_at).await?;
        Ok(Asked::New { id: new.id.clone() })
    })
}

async fn insert(connection: &mut AnyConnection, new: &NewQuestion, machine: &str) -> Result<(), sqlx::Error> {
    sqlx::query(INSERT)
        .bind(&new.id)
        .bind(&new.fingerprint)
        .bind(&new.asker)
        .bind(&new.client)
        .bind(&new.workspace)
        .bind(&new.title)
        .bind(&new.level)
        .bind(new.asked_at)
        .bind(new.deadline)
        .bind(new.default_after)
        .bind(machine)
        .bind(&new.addressee)
        .execute(&mut *connection)
        .await?;
    let body = sqlx::query(BODY).bind(&new.id).bind(&new.message).bind(&new.form);
    body.execute(connection).await.map(drop)
}

async fn deliver(connection: &mut AnyConnection, id: &str, new: &NewQuestion) -> Result<(), sqlx::Error> {
    let delivery = sqlx::query(DELIVERY).bind(id).bind(&new.asker).bind(&new.stream).bind(&new.request);
    delivery.bind(&new.session).bind(new.asked_at).execute(connection).await.map(drop)
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[SAME, SAME_REQUEST, OWN, INSERT, BODY, DELIVERY];
