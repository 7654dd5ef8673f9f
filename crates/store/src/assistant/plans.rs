//! Plans, applied as a difference: a notification that was sent is never changed.

use std::collections::HashSet;

use sqlx::AnyConnection;

use super::bulk_insert;
use super::notifications::{self, NotificationRow};
use crate::{Error, Millis, Store, change, read, row};

row! {
    /// A plan for one occurrence of an event.
    PlanRow {
        id: String,
        user_id: String,
        event_id: String,
        occurrence: String,
        plan_key: String,
        source: String,
        /// JSON.
        reasons: String,
        made_at: Millis,
    }
}

/// A plan with its notifications.
#[derive(Clone, Debug)]
pub struct NewPlan {
    pub plan: PlanRow,
    pub notifications: Vec<NotificationRow>,
    /// False for a plan that was made because there was none: a current plan of the same key stays, because another process
    /// made it meanwhile.
    pub replaces: bool,
}

/// The changes made by applying a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Notifications that the plan added.
    pub planned: u64,
    /// Notifications that the plan left unchanged.
    pub kept: u64,
    /// Notifications that the plan superseded.
    pub superseded: u64,
}

macro_rules! select_plans {
    ($rest:literal) => {
        concat!(
            "SELECT p.id, p.user_id, p.event_id, p.occurrence, p.plan_key, p.source, p.reasons, p.made_at ",
            "FROM plans p ",
            $rest
        )
    };
}

/// Binds the columns of [`INSERT`] to a query of any type.
macro_rules! bind_plan {
    ($query:ident, $plan:expr) => {{
        let plan = &$plan;
        let query = $query.bind(&plan.id).bind(&plan.user_id).bind(&plan.event_id);
        let query = query.bind(&plan.occurrence).bind(&plan.plan_key).bind(&plan.source);
        query.bind(&plan.reasons).bind(plan.made_at)
    }};
}

const CURRENT: &str =
    select_plans!("WHERE p.event_id = $1 AND p.occurrence = $2 AND p.superseded_at IS NULL");

/// The current plans of a user's occurrences within a window.
const KEYS: &str = "\
    SELECT p.event_id, p.occurrence, p.plan_key, p.source FROM plans p \
    JOIN occurrences o ON o.event_id = p.event_id AND o.occurrence = p.occurrence \
    WHERE p.superseded_at IS NULL AND o.user_id = $1 AND o.starts_at >= $2 AND o.starts_at < $3";

const OF_EVENT: &str = "SELECT occurrence FROM plans WHERE event_id = $1 AND superseded_at IS NULL";

const SUPERSEDE: &str = "\
    UPDATE plans SET superseded_at = $3 WHERE event_id = $1 AND occurrence = $2 AND superseded_at IS NULL";

const INSERT: &str = "\
    INSERT INTO plans (id, user_id, event_id, occurrence, plan_key, source, reasons, made_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
    ON CONFLICT (event_id, occurrence) WHERE superseded_at IS NULL DO NOTHING RETURNING id";

/// Finds the events that exist; a plan for any other event is left out.
pub(super) const EVENTS: &str = "SELECT id FROM events WHERE id IN ($1)";

/// Finds the occurrences that have notifications already.
const PLANNED: &str = "SELECT DISTINCT event_id, occurrence FROM notifications WHERE event_id IN ($1)";

/// Applies plans in one transaction and returns the changes of each. A plan for a deleted event changes nothing.
pub async fn apply(store: &Store, plans: Vec<NewPlan>) -> Result<Vec<Applied>, Error> {
    change!(store, plans, |connection, plans| {
        let mut added = HashSet::new();
        for chunk in plans.chunks(bulk_insert::rows(INSERT)) {
            added.extend(add(connection, chunk).await?);
        }
        let mut applied = Vec::with_capacity(plans.len());
        for new in plans {
            applied.push(if added.contains(&new.plan.id) {
                Applied { planned: new.notifications.len() as u64, ..Applied::default() }
            } else {
                apply_one(connection, new).await?
            });
        }
        Ok(applied)
    })
}

/// Adds plans that are the first for their occurrences, with their notifications, and returns their ids. Leaves out
/// other plans, and plans for deleted events.
async fn add(connection: &mut AnyConnection, plans: &[NewPlan]) -> Result<Vec<String>, sqlx::Error> {
    let mut query = sqlx::query_scalar(bulk_insert::repeated(connection, EVENTS, plans.len()));
    for new in plans {
        query = query.bind(&new.plan.event_id);
    }
    let there: HashSet<String> = query.fetch_all(&mut *connection).await?.into_iter().collect();
    let mut query = sqlx::query_as(bulk_insert::repeated(connection, PLANNED, plans.len()));
    for new in plans {
        query = query.bind(&new.plan.event_id);
    }
    let planned: HashSet<(String, String)> = query.fetch_all(&mut *connection).await?.into_iter().collect();
    let first = |plan: &PlanRow| {
        there.contains(&plan.event_id) && !planned.contains(&(plan.event_id.clone(), plan.occurrence.clone()))
    };
    let plans: Vec<_> = plans.iter().filter(|new| first(&new.plan)).collect();
    if plans.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = sqlx::query_scalar(bulk_insert::repeated(connection, INSERT, plans.len()));
    for new in &plans {
        query = bind_plan!(query, new.plan);
    }
    let added: Vec<String> = query.fetch_all(&mut *connection).await?;
    let notifications =
        plans.iter().filter(|new| added.contains(&new.plan.id)).flat_map(|new| &new.notifications);
    notifications::insert_all(connection, &notifications.collect::<Vec<_>>()).await?;
    Ok(added)
}

/// Applies one plan within a transaction.
pub(super) async fn apply_one(connection: &mut AnyConnection, new: &NewPlan) -> Result<Applied, sqlx::Error> {
    let plan = &new.plan;
    let query = sqlx::query_scalar(EVENTS).bind(&plan.event_id);
    let there: Option<String> = query.fetch_optional(&mut *connection).await?;
    if there.is_none() {
        return Ok(Applied::default());
    }
    let query = sqlx::query_as(CURRENT).bind(&plan.event_id).bind(&plan.occurrence);
    let current: Option<PlanRow> = query.fetch_optional(&mut *connection).await?;
    let is_same = current.is_some_and(|current| current.plan_key == plan.plan_key);
    let old = notifications::of_occurrence(connection, &plan.event_id, &plan.occurrence).await?;
    if is_same && !new.replaces {
        let kept = old.iter().filter(|row| row.status == "planned").count() as u64;
        return Ok(Applied { kept, ..Applied::default() });
    }
    let query = sqlx::query(SUPERSEDE).bind(&plan.event_id).bind(&plan.occurrence).bind(plan.made_at);
    query.execute(&mut *connection).await?;
    let query = sqlx::query(INSERT);
    bind_plan!(query, plan).execute(&mut *connection).await?;

    let mut applied = Applied::default();
    let mut kept = Vec::new();
    for wanted in &new.notifications {
        // A notification that was sent or is being sent on the same channel for the same minute is not sent again.
        let same = old.iter().find(|row| {
            row.channel == wanted.channel
                && row.due_at / 60_000 == wanted.due_at / 60_000
                && !matches!(row.status.as_str(), "cancelled" | "superseded")
        });
        match same {
            Some(row) if row.status != "planned" => {
                kept.push(&row.id);
                applied.kept += 1;
            }
            Some(row) if row.details == wanted.details && row.urgency == wanted.urgency => {
                notifications::adopt(connection, &row.id, &plan.id).await?;
                kept.push(&row.id);
                applied.kept += 1;
            }
            Some(_) | None => {
                notifications::insert(connection, wanted, &plan.id).await?;
                applied.planned += 1;
            }
        }
    }
    // A notification that is due is about to be sent. The new plan adopts it, because it has none for a time that has
    // passed.
    let is_due = |row: &&NotificationRow| is_same && row.status == "planned" && row.due_at <= plan.made_at;
    for row in old.iter().filter(is_due) {
        if !kept.contains(&&row.id) {
            notifications::adopt(connection, &row.id, &plan.id).await?;
            kept.push(&row.id);
            applied.kept += 1;
        }
    }
    let is_outdated = |row: &&NotificationRow| {
        row.status == "planned" && !kept.contains(&&row.id) && !row.id.ends_with(notifications::SNOOZED)
    };
    for row in old.iter().filter(is_outdated) {
        notifications::withdraw(connection, &row.id, "superseded", plan.made_at).await?;
        applied.superseded += 1;
    }
    Ok(applied)
}

/// Supersedes the plans of an event within a transaction, and returns their occurrences.
pub(super) async fn supersede_all(
    connection: &mut AnyConnection,
    event: &str,
    at: Millis,
) -> Result<Vec<String>, sqlx::Error> {
    let occurrences: Vec<String> =
        sqlx::query_scalar(OF_EVENT).bind(event).fetch_all(&mut *connection).await?;
    for occurrence in &occurrences {
        sqlx::query(SUPERSEDE).bind(event).bind(occurrence).bind(at).execute(&mut *connection).await?;
    }
    Ok(occurrences)
}

/// Returns the current plan of an occurrence.
pub async fn current(store: &Store, event: &str, occurrence: &str) -> Result<Option<PlanRow>, Error> {
    Ok(read!(store, sqlx::query_as(CURRENT).bind(event).bind(occurrence), fetch_optional))
}

/// Returns event, occurrence, key and source of the current plans of a user's occurrences, `from` to before `until`.
pub async fn keys(
    store: &Store,
    user: &str,
    from: Millis,
    until: Millis,
) -> Result<Vec<(String, String, String, String)>, Error> {
    Ok(read!(store, sqlx::query_as(KEYS).bind(user).bind(from).bind(until), fetch_all))
}

/// Returns the occurrences of an event that have a current plan.
pub async fn planned_occurrences(store: &Store, event: &str) -> Result<Vec<String>, Error> {
    Ok(read!(store, sqlx::query_scalar(OF_EVENT).bind(event), fetch_all))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[CURRENT, KEYS, OF_EVENT, SUPERSEDE, INSERT, EVENTS, PLANNED];
