//! The decision of a question, and its undo.

use sqlx::AnyConnection;

use super::{audit, files, pending_count};
use crate::{Error, Millis, Store, change};

const DECIDE: &str = "\
    UPDATE questions SET state = $2, kind = $3, outcome = $4, decided_at = $5, held_until = $6, snoozed_until = NULL \
    WHERE id = $1 AND state = 'pending' \
      AND CAST($7 AS BIGINT) IN (-1, (SELECT COUNT(*) FROM question_deliveries d WHERE d.question = $1)) \
    RETURNING id";

const MAKE_FINAL: &str = "\
    UPDATE questions SET state = 'decided', held_until = NULL \
    WHERE id = $1 AND state = 'held' AND held_until <= $2 \
    RETURNING id";

const UNDO: &str = "\
    UPDATE questions SET state = 'pending', kind = NULL, outcome = NULL, decided_at = NULL, held_until = NULL \
    WHERE id = $1 AND state = 'held' AND held_until > $2 \
    RETURNING id";

/// The asker of the question received nothing, and never will.
const NOT_APPLIED: &str = "\
    UPDATE questions SET state = 'decided', held_until = NULL, outcome = $3 \
    WHERE id = $1 AND state IN ('held', 'decided') \
      AND EXISTS (SELECT 1 FROM question_deliveries d WHERE d.question = $1 AND d.asker = $2 AND d.delivered_at IS NULL) \
    RETURNING id";

const OTHERS: &str = "\
    SELECT COUNT(*) FROM question_deliveries WHERE question = $1 AND asker <> $2 AND delivered_at IS NULL";

const GIVE_UP: &str = "\
    UPDATE question_deliveries SET delivered_at = $3 WHERE question = $1 AND asker = $2 AND delivered_at IS NULL";

const PRESENT: &str = "\
    SELECT COUNT(*) FROM question_deliveries \
    WHERE question = $1 AND delivered_at IS NULL AND (disconnected_at IS NULL OR disconnected_at > $2)";

/// No asker is left to deliver to, but a request of a stream keeps its answer for a caller that returns.
const GIVE_UP_ALL: &str = "\
    UPDATE question_deliveries SET delivered_at = $2 WHERE question = $1 AND stream = '' AND delivered_at IS NULL";

/// An outcome for a pending question.
#[derive(Clone, Debug)]
pub struct Decision {
    pub id: String,
    pub kind: String,
    /// JSON of the domain.
    pub outcome: String,
    /// The kind and the actor of the audit event.
    pub event: String,
    pub who: String,
    pub now: Millis,
    /// The end of the time for undo; `None` makes the decision final at once.
    pub held_until: Option<Millis>,
    /// The number of requests that it decides; `None` for all that there are.
    pub requests: Option<i64>,
    /// The contents of the files of the answer, as base64.
    pub files: Vec<String>,
}

/// Decides a pending question; false when it is not pending, or has another number of requests.
pub async fn decide(store: &Store, decision: Decision) -> Result<bool, Error> {
    change!(store, decision, |connection, decision| apply(connection, decision).await)
}

async fn apply(connection: &mut AnyConnection, decision: &Decision) -> Result<bool, sqlx::Error> {
    let state = if decision.held_until.is_some() { "held" } else { "decided" };
    let done: Vec<String> = sqlx::query_scalar(DECIDE)
        .bind(&decision.id)
        .bind(state)
        .bind(&decision.kind)
        .bind(&decision.outcome)
        .bind(decision.now)
        .bind(decision.held_until)
        .bind(decision.requests.unwrap_or(-1))
        .fetch_all(&mut *connection)
        .await?;
    if done.is_empty() {
        return Ok(false);
    }
    files::replace(connection, &decision.id, &decision.files).await?;
    pending_count::add(connection, -1).await?;
    audit::append(connection, &decision.id, &decision.event, &decision.who, decision.now).await?;
    Ok(true)
}

/// Makes a held outcome final once its time for undo is over.
pub async fn make_final(store: &Store, id: &str, now: Millis) -> Result<bool, Error> {
    change!(store, (id.to_owned(), now), |connection, (id, now)| {
        let changed = sqlx::query_scalar(MAKE_FINAL).bind(id).bind(*now);
        audit::append_if_changed(connection, changed, (id, "final", "", *now)).await
    })
}

/// Makes a held question pending again; false when it is not held.
pub async fn undo(store: &Store, id: &str, who: &str, now: Millis) -> Result<bool, Error> {
    change!(store, (id.to_owned(), who.to_owned(), now), |connection, (id, who, now)| {
        let changed = sqlx::query_scalar(UNDO).bind(id).bind(*now);
        let undone = audit::append_if_changed(connection, changed, (id, "undone", who, *now)).await?;
        if undone {
            files::replace(connection, id, &[]).await?;
            pending_count::add(connection, 1).await?;
        }
        Ok(undone)
    })
}

/// Removes an asker from a question; with its last asker the question ends with `outcome`. False when it was not
/// pending.
pub async fn withdraw(
    store: &Store,
    id: &str,
    asker: &str,
    outcome: &str,
    now: Millis,
) -> Result<bool, Error> {
    let arguments = (cancellation(id, outcome, "cancelled", now), asker.to_owned());
    change!(store, arguments, |connection, (decision, asker)| {
        let others = sqlx::query_scalar(OTHERS).bind(&decision.id).bind(asker);
        let others: i64 = others.fetch_one(&mut *connection).await?;
        let changed = if others == 0 {
            apply(connection, decision).await?
        } else {
            audit::append(connection, &decision.id, "cancelled", asker, decision.now).await?;
            true
        };
        if changed {
            let give_up = sqlx::query(GIVE_UP).bind(&decision.id).bind(asker).bind(decision.now);
            give_up.execute(connection).await?;
        }
        Ok(changed)
    })
}

/// Replaces the outcome of a decided question by one that says why it had no effect; false if it was delivered.
pub async fn set_not_applied(
    store: &Store,
    id: &str,
    asker: &str,
    outcome: &str,
    now: Millis,
) -> Result<bool, Error> {
    let arguments = (id.to_owned(), asker.to_owned(), outcome.to_owned(), now);
    change!(store, arguments, |connection, (id, asker, outcome, now)| {
        let changed = sqlx::query_scalar(NOT_APPLIED).bind(id).bind(asker).bind(outcome);
        let done = audit::append_if_changed(connection, changed, (id, "not_applied", "", *now)).await?;
        sqlx::query(GIVE_UP).bind(id).bind(asker).bind(*now).execute(connection).await?;
        Ok(done)
    })
}

fn cancellation(id: &str, outcome: &str, kind: &str, now: Millis) -> Decision {
    Decision {
        id: id.to_owned(),
        kind: kind.to_owned(),
        outcome: outcome.to_owned(),
        event: kind.to_owned(),
        who: String::new(),
        now,
        held_until: None,
        requests: None,
        files: Vec::new(),
    }
}

/// Ends a pending question with `outcome` if all its clients disconnected before `before`.
pub async fn end_abandoned(
    store: &Store,
    id: &str,
    outcome: &str,
    before: Millis,
    now: Millis,
) -> Result<bool, Error> {
    change!(
        store,
        (cancellation(id, outcome, "client_gone", now), before),
        |connection, (decision, before)| {
            let present = sqlx::query_scalar(PRESENT).bind(&decision.id).bind(*before);
            let present: i64 = present.fetch_one(&mut *connection).await?;
            if present > 0 || !apply(connection, decision).await? {
                return Ok(false);
            }
            sqlx::query(GIVE_UP_ALL).bind(&decision.id).bind(decision.now).execute(connection).await?;
            Ok(true)
        }
    )
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] =
    &[DECIDE, MAKE_FINAL, UNDO, NOT_APPLIED, OTHERS, GIVE_UP, PRESENT, GIVE_UP_ALL];
