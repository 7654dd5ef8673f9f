//! Operations on notifications: list, retry, resolve, acknowledge.

use jiff::Timestamp;

use super::events::EventOccurrence;
use super::notification::{Notification, Planned, Reason, Status};
use super::planner::wording::dated;
use super::rows::{self, instant, millis};
use super::users::audit;
use super::{Assistant, Error, EventId, NotificationId, UserId};
use adjutant_base::events::Event as HubEvent;
use adjutant_store::assistant::notifications::{self, NotificationFilter};
use adjutant_store::assistant::outbox::{self, Resolution, Snooze};

/// The notifications that are asked for: those that are due from `from` to before `until`.
#[derive(Clone, Debug)]
pub struct Due {
    pub user: Option<UserId>,
    pub status: Option<Status>,
    pub from: Timestamp,
    pub until: Timestamp,
}

/// One try to send a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub number: i64,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// sent, simulated, failed, withdrawn, held or unknown; `None` while it runs.
    pub outcome: Option<String>,
    pub detail: Option<String>,
}

/// The user's statement about a notification with an unknown or failed outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolvedAs {
    /// It arrived.
    Sent,
    /// It did not, and is no longer wanted.
    Cancelled,
}

impl Assistant {
    /// Returns a notification.
    pub async fn notification(&self, id: &NotificationId) -> Result<Notification, Error> {
        let row = notifications::get(&self.store, id.as_str()).await?;
        rows::notification(row.ok_or_else(|| Error::Unknown { what: "notification", id: id.to_string() })?)
    }

    /// Returns at most `limit` notifications by the time they are due, and whether there are more.
    pub async fn notifications(&self, due: &Due, limit: u32) -> Result<(Vec<Notification>, bool), Error> {
        let filter = NotificationFilter {
            user: due.user.as_ref().map(|user| user.as_str().to_owned()),
            status: due.status.map(Status::name).unwrap_or_default().to_owned(),
            from: millis(due.from),
            until: millis(due.until),
        };
        let mut found = notifications::list(&self.store, &filter, limit.saturating_add(1)).await?;
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        Ok((found.into_iter().map(rows::notification).collect::<Result<_, _>>()?, more))
    }

    /// Returns at most `limit` notifications of an event, for all its occurrences.
    pub async fn notifications_of(&self, event: &EventId, limit: u32) -> Result<Vec<Notification>, Error> {
        let found = notifications::of_event(&self.store, event.as_str(), limit).await?;
        found.into_iter().map(rows::notification).collect()
    }

    /// Returns the tries of a notification, first one first.
    pub async fn attempts(&self, id: &NotificationId) -> Result<Vec<Attempt>, Error> {
        let found = outbox::attempts(&self.store, id.as_str()).await?;
        let attempt = |row: outbox::AttemptRow| Attempt {
            number: row.attempt,
            started_at: instant(row.started_at),
            ended_at: row.ended_at.map(instant),
            outcome: row.outcome,
            detail: row.detail,
        };
        Ok(found.into_iter().map(attempt).collect())
    }

    /// Sends a notification again that failed, was simulated, or has an unknown outcome. Only the user decides this.
    pub async fn retry(
        &self,
        id: &NotificationId,
        actor: &str,
        now: Timestamp,
    ) -> Result<Notification, Error> {
        let found = self.notification(id).await?;
        match found.status {
            Status::Failed | Status::Dead | Status::Unknown | Status::Simulated => {}
            Status::Planned | Status::Sending => {
                return Err(wrong_status(&found, "it will be sent by itself"));
            }
            Status::Sent | Status::Merged => return Err(wrong_status(&found, "it was sent already")),
            Status::Cancelled | Status::Superseded => {
                return Err(wrong_status(&found, "a newer plan replaces it"));
            }
        }
        self.resolve_to(&found, Status::Planned, None, "retry", actor, now).await
    }

    /// Records the user's statement about a notification that failed or has an unknown outcome, or cancels a planned
    /// one.
    pub async fn resolve(
        &self,
        id: &NotificationId,
        resolved_as: ResolvedAs,
        actor: &str,
        now: Timestamp,
    ) -> Result<Notification, Error> {
        let found = self.notification(id).await?;
        match found.status {
            Status::Unknown | Status::Failed | Status::Dead => {}
            Status::Planned if resolved_as == ResolvedAs::Cancelled => {}
            Status::Planned
            | Status::Sending
            | Status::Sent
            | Status::Simulated
            | Status::Merged
            | Status::Cancelled
            | Status::Superseded => {
                let reason = match resolved_as {
                    ResolvedAs::Sent => "there is nothing to resolve",
                    ResolvedAs::Cancelled => "there is nothing to cancel",
                };
                return Err(wrong_status(&found, reason));
            }
        }
        let (to, why) = match resolved_as {
            ResolvedAs::Sent => (Status::Sent, "a user says that it arrived"),
            ResolvedAs::Cancelled => (Status::Cancelled, "a user does not want it any more"),
        };
        self.resolve_to(&found, to, Some(why), "resolve", actor, now).await
    }

    /// Plans a notification for a later time: a planned one is moved, one that was sent is acknowledged and sent again. It
    /// names the time of its event instead of the time until then.
    pub async fn snooze(
        &self,
        id: &NotificationId,
        until: Timestamp,
        actor: &str,
        now: Timestamp,
    ) -> Result<Notification, Error> {
        let found = self.notification(id).await?;
        if !matches!(found.status, Status::Planned | Status::Sent | Status::Simulated | Status::Merged) {
            return Err(wrong_status(&found, "only what is planned or was sent can be snoozed"));
        }
        let event_occurrence =
            self.event_occurrence(self.event(&found.event).await?, &found.occurrence).await?;
        let EventOccurrence { event, occurrence } =
            event_occurrence.ok_or_else(|| wrong_status(&found, "its event does not happen any more"))?;
        if until <= now || until >= occurrence.ends_at {
            let reason = if until <= now { "it has passed" } else { "the event is over then" };
            return Err(Error::Invalid { field: "time", reason: reason.to_owned() });
        }
        let zone = self.user(&found.user).await?.preferences.zone;
        let mut wording = found.wording.clone();
        wording.subject = dated(&event, &occurrence, &zone);
        let why = format!("snoozed until {}", zone.civil(until).strftime("%Y-%m-%d %H:%M"));
        let mut reasons = found.reasons.clone();
        reasons.push(Reason { by: "user".to_owned(), why });
        let Notification { channel, offset, urgency, .. } = found;
        let next = Planned { channel, offset, due_at: until, urgency, wording, reasons };
        let next_id = NotificationId::snoozed()?;
        let snooze = Snooze {
            id: id.as_str().to_owned(),
            planned: found.status == Status::Planned,
            next: rows::successor(&found, &next, &next_id, now),
            at: millis(now),
            audit: audit(actor, "snooze", id.as_str(), next_id.as_str(), now)?,
        };
        if !outbox::snooze(&self.store, snooze).await? {
            return Err(wrong_status(&found, "it changed at the same moment; read it again"));
        }
        self.events.send(HubEvent::NotificationsChanged);
        self.wake.notify_one();
        self.notification(&next_id).await
    }

    async fn resolve_to(
        &self,
        found: &Notification,
        to: Status,
        why: Option<&str>,
        action: &str,
        actor: &str,
        now: Timestamp,
    ) -> Result<Notification, Error> {
        let resolution = Resolution {
            id: found.id.as_str().to_owned(),
            from: found.status.name().to_owned(),
            to: to.name().to_owned(),
            error: why.map(str::to_owned),
            at: millis(now),
            audit: audit(actor, action, found.id.as_str(), to.name(), now)?,
        };
        if !outbox::resolve(&self.store, resolution).await? {
            return Err(wrong_status(found, "it changed at the same moment; read it again"));
        }
        self.events.send(HubEvent::NotificationsChanged);
        self.wake.notify_one();
        self.notification(&found.id).await
    }

    /// Records that the user saw a notification, so that nothing about the same occurrence escalates. `false` where it was
    /// recorded before.
    pub async fn acknowledge(&self, id: &NotificationId, actor: &str, now: Timestamp) -> Result<bool, Error> {
        self.notification(id).await?;
        let line = audit(actor, "acknowledge", id.as_str(), "", now)?;
        let first = outbox::acknowledge(&self.store, id.as_str().to_owned(), millis(now), line).await?;
        if first {
            self.events.send(HubEvent::NotificationsChanged);
        }
        Ok(first)
    }
}

fn wrong_status(notification: &Notification, reason: &'static str) -> Error {
    Error::WrongStatus { id: notification.id.to_string(), status: notification.status.name(), reason }
}
