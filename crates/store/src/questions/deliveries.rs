//! Deliveries of outcomes to askers: once, and also after a disconnect or a restart.

use sqlx::{AnyConnection, FromRow, Row as _};

use super::pending_count::count_change;
use super::{Question, audit};
use crate::{Error, Millis, Store, change, read};

/// An outcome for a stream: the number of its event, the id of the request as JSON, and the question.
type Numbered = (i64, String, Question);

/// The state of a delivery: its session, when its client disconnected and fell silent, and the end of its lease.
type Presence = (String, Option<Millis>, Option<Millis>, Option<Millis>);

/// Outcomes that one query of a stream returns at most.
const BATCH_SIZE: i64 = 100;

const IS_ASKER: &str = "SELECT COUNT(*) FROM question_deliveries WHERE question = $1 AND asker = $2";

const UNDELIVERED: &str = select_questions!(
    "JOIN question_deliveries d ON d.question = q.id \
     WHERE d.asker = $1 AND d.stream = '' AND d.delivered_at IS NULL \
       AND q.state = 'decided' AND q.kind IN ('answered', 'declined', 'dismissed') \
       AND ($2 = 0 OR RTRIM(q.workspace, '/') = $3) \
     ORDER BY q.seq LIMIT $4"
);

/// The askers with an undelivered outcome of one question.
const ASKERS: &str = "\
    SELECT DISTINCT d.asker, d.stream FROM question_deliveries d JOIN questions q ON q.id = d.question \
    WHERE d.question = $1 AND d.delivered_at IS NULL AND q.state = 'decided'";

/// The askers with an undelivered outcome of any question. It reads all open deliveries, so it is for the start alone.
const ALL_ASKERS: &str = "\
    SELECT DISTINCT d.asker, d.stream FROM question_deliveries d JOIN questions q ON q.id = d.question \
    WHERE d.delivered_at IS NULL AND q.state = 'decided'";

const PRESENCE: &str = "\
    SELECT session, disconnected_at, silent_at, lease_until FROM question_deliveries \
    WHERE question = $1 AND asker = $2 AND stream = '' AND delivered_at IS NULL LIMIT 1";

const MARK_WAITING: &str = "\
    UPDATE question_deliveries SET session = $3, lease_until = $4, disconnected_at = NULL, silent_at = NULL \
    WHERE question = $1 AND asker = $2 AND stream = '' AND delivered_at IS NULL";

/// A disconnected asker gets no lease.
const START_LEASE: &str = "\
    UPDATE question_deliveries SET lease_until = $4 \
    WHERE question = $1 AND asker = $2 AND stream = $3 AND delivered_at IS NULL AND disconnected_at IS NULL";

const MARK_SILENT: &str = "\
    UPDATE question_deliveries SET silent_at = $2 \
    WHERE question = $1 AND delivered_at IS NULL AND disconnected_at IS NULL AND silent_at IS NULL AND lease_until <= $2 \
    RETURNING question";

const ABANDON: &str = "\
    UPDATE question_deliveries SET disconnected_at = $3 \
    WHERE question = $1 AND asker = $2 AND stream = '' AND delivered_at IS NULL AND disconnected_at IS NULL";

const MARK_DELIVERED: &str = "\
    UPDATE question_deliveries SET delivered_at = $3 \
    WHERE question = $1 AND asker = $2 AND stream = '' AND delivered_at IS NULL \
      AND EXISTS (SELECT 1 FROM questions q WHERE q.id = $1 AND q.state = 'decided') \
    RETURNING question";

const UNNUMBERED: &str = "\
    SELECT d.question, d.request FROM question_deliveries d JOIN questions q ON q.id = d.question \
    WHERE d.stream = $1 AND d.stream <> '' AND d.event IS NULL AND d.delivered_at IS NULL AND q.state = 'decided' \
    ORDER BY q.decided_at, q.seq LIMIT $2";

const NUMBER: &str = "\
    UPDATE question_deliveries \
    SET event = (SELECT COALESCE(MAX(e.event), 0) + 1 FROM question_deliveries e WHERE e.stream = $1 AND e.stream <> '') \
    WHERE stream = $1 AND question = $2 AND request = $3 AND event IS NULL";

/// A whole question, then the event's number and the request.
const DUE_EVENTS: &str = concat!(
    "SELECT w.*, d.event, d.request FROM (",
    select_questions!(""),
    ") w JOIN question_deliveries d ON d.question = w.id ",
    "WHERE d.stream = $1 AND d.stream <> '' AND d.event IS NOT NULL AND (d.delivered_at IS NULL OR ($3 = 1 AND d.event > $2)) ORDER BY d.event LIMIT $4"
);

const MARK_SENT: &str = "\
    UPDATE question_deliveries SET delivered_at = $3, event = CAST($4 AS BIGINT) \
    WHERE stream = $1 AND stream <> '' AND event = $2 AND delivered_at IS NULL RETURNING question";

const CLOSE_SESSION: &str = "\
    UPDATE question_deliveries SET disconnected_at = $2 WHERE session = $1 AND delivered_at IS NULL AND disconnected_at IS NULL";

/// A stream's caller may open its first one at any time.
const DISCONNECT_ALL: &str = "\
    UPDATE question_deliveries SET disconnected_at = $1 \
    WHERE session <> '' AND stream = '' AND delivered_at IS NULL AND disconnected_at IS NULL \
      AND question IN (SELECT id FROM questions WHERE machine = $2)";

/// Deliveries without a session rely on a lease, but a hub that was killed has not set its end.
const LEASE_ALL: &str = "\
    UPDATE question_deliveries SET lease_until = $1 \
    WHERE (session = '' OR stream <> '') AND delivered_at IS NULL AND disconnected_at IS NULL AND lease_until IS NULL \
      AND question IN (SELECT id FROM questions WHERE machine = $2)";

const RESUME_SESSION: &str = "\
    UPDATE question_deliveries SET disconnected_at = NULL, lease_until = NULL, silent_at = NULL \
    WHERE session = $1 AND delivered_at IS NULL AND (disconnected_at IS NOT NULL OR lease_until IS NOT NULL)";

const QUESTIONS_OF_SESSION: &str =
    "SELECT question, asker FROM question_deliveries WHERE session = $1 AND delivered_at IS NULL";

const ASKED_BY: &str = "\
    SELECT question, asker FROM question_deliveries \
    WHERE delivered_at IS NULL AND SUBSTR(asker, 1, LENGTH(CAST($1 AS TEXT))) = CAST($1 AS TEXT) \
      AND question IN (SELECT id FROM questions WHERE machine = $2)";

/// The delivery to an ended session of a place; keys of its sessions begin with the place and `#`.
const ENDED: &str = "\
    SELECT asker FROM question_deliveries \
    WHERE question = $1 AND stream = '' AND delivered_at IS NULL AND disconnected_at IS NOT NULL \
      AND SUBSTR(asker, 1, LENGTH(CAST($2 AS TEXT))) = CAST($2 AS TEXT) LIMIT 1";

const REASSIGN: &str =
    "UPDATE question_deliveries SET asker = $3 WHERE question = $1 AND asker = $2 AND stream = ''";

const REASSIGN_QUESTION: &str = "UPDATE questions SET asker = $3 WHERE id = $1 AND asker = $2";

/// Passes a question from the session `from` to the session `to`.
pub(super) async fn reassign(
    connection: &mut AnyConnection,
    question: &str,
    from: &str,
    to: &str,
) -> Result<(), sqlx::Error> {
    for sql in [REASSIGN, REASSIGN_QUESTION] {
        sqlx::query(sql).bind(question).bind(from).bind(to).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Passes a question to `asker`, in `session`, if it is undelivered and its asker's session in the same place ended.
pub async fn adopt(
    store: &Store,
    question: &str,
    asker: &str,
    session: &str,
    place: &str,
    now: Millis,
) -> Result<(), Error> {
    let here = WaitingAsker {
        question: question.to_owned(),
        asker: asker.to_owned(),
        session: session.to_owned(),
        now,
        lease: None,
    };
    change!(store, (here, place.to_owned()), |connection, (here, place)| {
        let ended = sqlx::query_scalar(ENDED).bind(&here.question).bind(format!("{place}#"));
        let ended: Option<String> = ended.fetch_optional(&mut *connection).await?;
        if let Some(ended) = ended.filter(|ended| *ended != here.asker) {
            reassign(connection, &here.question, &ended, &here.asker).await?;
            let back = sqlx::query(MARK_WAITING).bind(&here.question).bind(&here.asker).bind(&here.session);
            back.bind(here.lease).execute(connection).await?;
        }
        Ok(())
    })
}

/// Returns whether the outcome of a question is for this asker too.
pub async fn is_asker(store: &Store, question: &str, asker: &str) -> Result<bool, Error> {
    let count: i64 = read!(store, sqlx::query_scalar(IS_ASKER).bind(question).bind(asker), fetch_one);
    Ok(count > 0)
}

/// Returns decided questions with an outcome that `asker` has not received, oldest first, at most `limit`; of one
/// workspace, if `workspace` names it, without slashes at its end. Counts tool calls only.
pub async fn undelivered(
    store: &Store,
    asker: &str,
    workspace: Option<&str>,
    limit: u32,
) -> Result<Vec<Question>, Error> {
    let query = || {
        let query = sqlx::query_as(UNDELIVERED).bind(asker).bind(i64::from(workspace.is_some()));
        query.bind(workspace.unwrap_or_default()).bind(i64::from(limit))
    };
    Ok(read!(store, query(), fetch_all))
}

/// Returns the askers that have not received the outcome of a decided question, each with its stream; of all questions
/// if `question` is empty.
pub async fn askers(store: &Store, question: &str) -> Result<Vec<(String, String)>, Error> {
    let query = || {
        if question.is_empty() { sqlx::query_as(ALL_ASKERS) } else { sqlx::query_as(ASKERS).bind(question) }
    };
    Ok(read!(store, query(), fetch_all))
}

/// An asker that waits for an outcome.
#[derive(Clone, Debug)]
pub struct WaitingAsker {
    pub question: String,
    pub asker: String,
    pub session: String,
    pub now: Millis,
    /// The time that the asker may be silent from now on; `None` while its call or its connection lasts.
    pub lease: Option<Millis>,
}

/// Records that an asker waits again; true if that is a change. A lease is renewed only once half of it is over,
/// because a task is polled every few seconds.
pub async fn mark_waiting(store: &Store, here: WaitingAsker) -> Result<bool, Error> {
    change!(store, here, |connection, here| {
        let presence = sqlx::query_as(PRESENCE).bind(&here.question).bind(&here.asker);
        let presence: Option<Presence> = presence.fetch_optional(&mut *connection).await?;
        let Some((session, disconnected_at, silent_at, lease_until)) = presence else {
            return Ok(false);
        };
        let returned = disconnected_at.is_some() || silent_at.is_some();
        let holds = match (lease_until, here.lease) {
            (None, None) => true,
            (Some(until), Some(lease)) => until - here.now > lease / 2,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if returned || !holds || session != here.session {
            let until = here.lease.map(|lease| here.now.saturating_add(lease));
            let back = sqlx::query(MARK_WAITING).bind(&here.question).bind(&here.asker).bind(&here.session);
            back.bind(until).execute(&mut *connection).await?;
        }
        if silent_at.is_some() {
            audit::append(connection, &here.question, "returned", "", here.now).await?;
        }
        Ok(returned || session != here.session)
    })
}

/// Records that the call or the stream of an asker without a session ended, and when it is expected back.
pub async fn start_lease(
    store: &Store,
    question: &str,
    asker: &str,
    stream: &str,
    until: Millis,
) -> Result<(), Error> {
    let lease = (question.to_owned(), asker.to_owned(), stream.to_owned(), until);
    change!(store, lease, |connection, (question, asker, stream, until)| {
        let lease = sqlx::query(START_LEASE).bind(question).bind(asker).bind(stream).bind(*until);
        lease.execute(connection).await.map(drop)
    })
}

/// Marks the askers of a question as silent when their lease is over; false when there are none.
pub async fn mark_silent(store: &Store, question: &str, now: Millis) -> Result<bool, Error> {
    change!(store, (question.to_owned(), now), |connection, (question, now)| {
        let changed = sqlx::query_scalar(MARK_SILENT).bind(question).bind(*now);
        audit::append_if_changed(connection, changed, (question, "silent", "", *now)).await
    })
}

/// Records that an asker no longer waits.
pub async fn abandon(store: &Store, question: &str, asker: &str, now: Millis) -> Result<(), Error> {
    change!(store, (question.to_owned(), asker.to_owned(), now), |connection, (question, asker, now)| {
        sqlx::query(ABANDON).bind(question).bind(asker).bind(*now).execute(&mut *connection).await?;
        count_change(connection).await
    })
}

/// Records that the outcome reached `asker`. False when it was delivered before, or there is none.
pub async fn mark_delivered(store: &Store, question: &str, asker: &str, now: Millis) -> Result<bool, Error> {
    change!(store, (question.to_owned(), asker.to_owned(), now), |connection, (question, asker, now)| {
        let changed = sqlx::query_scalar(MARK_DELIVERED).bind(question).bind(asker).bind(*now);
        audit::append_if_changed(connection, changed, (question, "delivered", "", *now)).await
    })
}

/// Returns the events of a stream: with `after`, all later events, sent ones too; without, the unsent ones. Events
/// that are newly due get the next numbers.
pub async fn due_events(store: &Store, stream: &str, after: Option<i64>) -> Result<Vec<Numbered>, Error> {
    change!(store, (stream.to_owned(), after), |connection, (stream, after)| {
        let new = sqlx::query_as(UNNUMBERED).bind(stream).bind(BATCH_SIZE);
        let new: Vec<(String, String)> = new.fetch_all(&mut *connection).await?;
        for (question, request) in &new {
            let number = sqlx::query(NUMBER).bind(stream).bind(question).bind(request);
            number.execute(&mut *connection).await?;
        }
        let due =
            sqlx::query(DUE_EVENTS).bind(stream).bind(after.unwrap_or(0)).bind(i64::from(after.is_some()));
        let due = due.bind(BATCH_SIZE).fetch_all(connection).await?;
        due.iter()
            .map(|row| Ok((row.try_get("event")?, row.try_get("request")?, Question::from_row(row)?)))
            .collect()
    })
}

/// Records that an event of a stream was sent, and that it is sent again as `repeated` after an earlier event; `None` if
/// it reached its caller in another way.
pub async fn mark_sent(
    store: &Store,
    stream: &str,
    event: i64,
    repeated: Option<i64>,
    now: Millis,
) -> Result<bool, Error> {
    change!(store, (stream.to_owned(), event, repeated, now), |connection, (stream, event, repeated, now)| {
        let done = sqlx::query_scalar(MARK_SENT).bind(stream).bind(*event).bind(*now).bind(*repeated);
        let done: Vec<String> = done.fetch_all(&mut *connection).await?;
        for question in &done {
            audit::append(connection, question, "delivered", "", *now).await?;
        }
        Ok(!done.is_empty())
    })
}

/// Records that a session's client has disconnected; returns the number of its undelivered outcomes.
pub async fn session_closed(store: &Store, session: &str, now: Millis) -> Result<u64, Error> {
    change!(store, (session.to_owned(), now), |connection, (session, now)| {
        let done = sqlx::query(CLOSE_SESSION).bind(session).bind(*now).execute(&mut *connection).await?;
        count_change(connection).await?;
        Ok(done.rows_affected())
    })
}

/// Records that the client of a session is back; returns the number of outcomes that it waits for again.
pub async fn session_resumed(store: &Store, session: &str) -> Result<u64, Error> {
    change!(store, session.to_owned(), |connection, session| {
        let done = sqlx::query(RESUME_SESSION).bind(session).execute(&mut *connection).await?;
        count_change(connection).await?;
        Ok(done.rows_affected())
    })
}

/// Returns the questions of a session with an undelivered outcome, each with the key of its asker.
pub async fn questions_of_session(store: &Store, session: &str) -> Result<Vec<(String, String)>, Error> {
    Ok(read!(store, sqlx::query_as(QUESTIONS_OF_SESSION).bind(session), fetch_all))
}

/// Returns the questions of this machine without a delivered outcome of all askers with keys that begin with `prefix`,
/// each with the key.
pub async fn asked_by(store: &Store, prefix: &str) -> Result<Vec<(String, String)>, Error> {
    Ok(read!(store, sqlx::query_as(ASKED_BY).bind(prefix).bind(store.machine()), fetch_all))
}

/// Records that every session and call of this machine has ended, as at the start of its hub. An asker without a session
/// is expected until `leased`.
pub async fn disconnect_all(store: &Store, now: Millis, leased: Millis) -> Result<(), Error> {
    change!(store, (now, leased, store.machine().to_owned()), |connection, (now, leased, machine)| {
        sqlx::query(DISCONNECT_ALL).bind(*now).bind(machine).execute(&mut *connection).await?;
        sqlx::query(LEASE_ALL).bind(*leased).bind(machine).execute(&mut *connection).await?;
        count_change(connection).await
    })
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] =
    &[ALL_ASKERS, ASKED_BY, DISCONNECT_ALL, LEASE_ALL, RESUME_SESSION, CLOSE_SESSION, QUESTIONS_OF_SESSION];

/// The statements that run for one question.
#[cfg(test)]
pub(super) const PER_QUESTION: &[&str] = &[
    ENDED,
    REASSIGN,
    REASSIGN_QUESTION,
    IS_ASKER,
    UNDELIVERED,
    ASKERS,
    PRESENCE,
    MARK_WAITING,
    START_LEASE,
    MARK_SILENT,
    ABANDON,
    MARK_DELIVERED,
    UNNUMBERED,
    NUMBER,
    DUE_EVENTS,
    MARK_SENT,
];
