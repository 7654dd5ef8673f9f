//! Conversion between rows of the store and values of the assistant.

use jiff::Timestamp;
use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::{CalendarId, EventId, NotificationId, PlanId, RuleId, UserId};
use super::notification::{
    Channel, Notification, Offset, Plan, PlanSource, Planned, Reason, Status, Urgency, Wording,
};
use super::user::{Rule, RuleKind, User};
use super::{Calendar, Error, Event, Occurrence};
use adjutant_store::Millis;
use adjutant_store::assistant::calendars::CalendarRow;
use adjutant_store::assistant::events::{EventView, OccurrenceRow};
use adjutant_store::assistant::notifications::NotificationRow;
use adjutant_store::assistant::plans::PlanRow;
use adjutant_store::assistant::rules::RuleRow;
use adjutant_store::assistant::users::UserRow;

/// The JSON part of a notification's row.
#[derive(Serialize, Deserialize)]
struct Details {
    offset: Offset,
    wording: Wording,
    reasons: Vec<Reason>,
}

/// An instant of a row. One that no calendar has is the epoch.
pub(super) fn instant(millis: Millis) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

pub(super) fn millis(at: Timestamp) -> Millis {
    at.as_millisecond()
}

/// The text of a value that is made of plain members, and so is JSON.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The civil start that a changed occurrence replaces, as in its row; empty for none.
pub(super) fn recurrence_id(replaces: Option<DateTime>) -> String {
    replaces.map(|start| start.to_string()).unwrap_or_default()
}

fn damaged(what: &'static str, id: &str) -> Error {
    Error::Damaged { what, id: id.to_owned() }
}

pub(super) fn user(row: UserRow) -> Result<User, Error> {
    let preferences = serde_json::from_str(&row.preferences).map_err(|_| damaged("the user", &row.id))?;
    Ok(User {
        id: UserId::from_row(row.id),
        name: row.name,
        email: row.email,
        phone: row.phone,
        preferences,
        revision: row.revision,
        created_at: instant(row.created_at),
        updated_at: instant(row.updated_at),
    })
}

pub(super) fn calendar(row: CalendarRow) -> Result<Calendar, Error> {
    let source = super::event::CalendarSource::from_name(&row.source);
    Ok(Calendar {
        source: source.ok_or_else(|| damaged("the calendar", &row.id))?,
        id: CalendarId::from_row(row.id),
        user: UserId::from_row(row.user_id),
        name: row.name,
        place: row.place.clone(),
        etag: row.etag,
        sync_token: row.sync_token,
        read_at: row.read_at.map(instant),
        refresh: match row.refresh.as_str() {
            "" => None,
            refresh => Some(serde_json::from_str(refresh).map_err(|_| damaged("the calendar", &row.place))?),
        },
    })
}

pub(super) fn rule(row: RuleRow) -> Result<Rule, Error> {
    let fault = || damaged("the rule", &row.id);
    let terms: Map<String, Value> = serde_json::from_str(&row.terms).map_err(|_| fault())?;
    let kind = RuleKind::from_name(&row.kind).ok_or_else(fault)?;
    Ok(Rule {
        id: RuleId::from_row(row.id),
        user: UserId::from_row(row.user_id),
        kind,
        terms,
        enabled: row.enabled != 0,
        priority: u32::try_from(row.priority).unwrap_or_default(),
    })
}

pub(super) fn event(row: EventView) -> Result<Event, Error> {
    let fault = || damaged("the event", &row.id);
    let status = super::event::EventStatus::from_name(&row.status).ok_or_else(fault)?;
    let details = serde_json::from_str(&row.details).map_err(|_| fault())?;
    Ok(Event {
        id: EventId::from_row(row.id),
        user: UserId::from_row(row.user_id),
        uid: row.uid,
        title: row.title,
        status,
        details,
        starts_at: instant(row.starts_at),
        ends_at: instant(row.ends_at),
        digest: row.digest,
    })
}

pub(super) fn occurrence(row: OccurrenceRow) -> Occurrence {
    Occurrence {
        key: row.occurrence,
        starts_at: instant(row.starts_at),
        ends_at: instant(row.ends_at),
        adjusted: row.adjusted != 0,
    }
}

pub(super) fn occurrence_row(occurrence: &Occurrence, event: &EventId, user: &UserId) -> OccurrenceRow {
    OccurrenceRow {
        event_id: event.as_str().to_owned(),
        occurrence: occurrence.key.clone(),
        user_id: user.as_str().to_owned(),
        starts_at: millis(occurrence.starts_at),
        ends_at: millis(occurrence.ends_at),
        adjusted: occurrence.adjusted.into(),
    }
}

pub(super) fn plan(row: PlanRow) -> Result<Plan, Error> {
    let fault = || damaged("the plan", &row.id);
    let source = PlanSource::from_name(&row.source).ok_or_else(fault)?;
    let reasons = serde_json::from_str(&row.reasons).map_err(|_| fault())?;
    Ok(Plan {
        id: PlanId::from_row(row.id),
        user: UserId::from_row(row.user_id),
        event: EventId::from_row(row.event_id),
        occurrence: row.occurrence,
        key: row.plan_key,
        source,
        reasons,
        made_at: instant(row.made_at),
    })
}

pub(super) fn notification(row: NotificationRow) -> Result<Notification, Error> {
    let fault = || damaged("the notification", &row.id);
    let channel = Channel::from_name(&row.channel).ok_or_else(fault)?;
    let urgency = Urgency::from_name(&row.urgency).ok_or_else(fault)?;
    let status = Status::from_name(&row.status).ok_or_else(fault)?;
    let details: Details = serde_json::from_str(&row.details).map_err(|_| fault())?;
    Ok(Notification {
        id: NotificationId::from_row(row.id),
        plan: PlanId::from_row(row.plan_id),
        user: UserId::from_row(row.user_id),
        event: EventId::from_row(row.event_id),
        occurrence: row.occurrence,
        channel,
        due_at: instant(row.due_at),
        urgency,
        status,
        try_at: instant(row.try_at),
        attempts: u32::try_from(row.attempts).unwrap_or_default(),
        sent_at: row.sent_at.map(instant),
        acknowledged_at: row.acknowledged_at.map(instant),
        error: row.error,
        offset: details.offset,
        wording: details.wording,
        reasons: details.reasons,
    })
}

/// The row of a notification that follows an earlier one of the same plan.
pub(super) fn successor(
    of: &Notification,
    next: &Planned,
    id: &NotificationId,
    now: Timestamp,
) -> NotificationRow {
    let plan = PlanRow {
        id: of.plan.as_str().to_owned(),
        user_id: of.user.as_str().to_owned(),
        event_id: of.event.as_str().to_owned(),
        occurrence: of.occurrence.clone(),
        plan_key: String::new(),
        source: String::new(),
        reasons: String::new(),
        made_at: millis(now),
    };
    planned(next, &plan, id)
}

/// The row of a notification that is planned now.
pub(super) fn planned(planned: &Planned, plan: &PlanRow, id: &NotificationId) -> NotificationRow {
    NotificationRow {
        id: id.as_str().to_owned(),
        plan_id: plan.id.clone(),
        user_id: plan.user_id.clone(),
        event_id: plan.event_id.clone(),
        occurrence: plan.occurrence.clone(),
        channel: planned.channel.name().to_owned(),
        due_at: millis(planned.due_at),
        urgency: planned.urgency.name().to_owned(),
        status: Status::Planned.name().to_owned(),
        try_at: millis(planned.due_at),
        attempts: 0,
        lease_owner: None,
        lease_until: None,
        sent_at: None,
        acknowledged_at: None,
        error: None,
        details: json(&Details {
            offset: planned.offset,
            wording: planned.wording.clone(),
            reasons: planned.reasons.clone(),
        }),
        updated_at: plan.made_at,
    }
}
