//! Plans notifications for what is to come, and keeps them true as things change.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use super::agenda::{Happening, Span, hex};
use super::event::EventStatus;
use super::notification::{Channel, Notification, PlanSource, Status};
use super::planner::{self, Decision, Situation};
use super::rows::{self, json, millis};
use super::{Assistant, Error, Event, EventId, NotificationId, Occurrence, PlanId, Rule, User, UserId};
use crate::events::Event as Happened;
use crate::store::assistant::notifications;
use crate::store::assistant::plans::{self, NewPlan, PlanRow};

/// How far ahead is planned.
pub(crate) const HORIZON: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Occurrences that one call plans at most; the next call goes on with the rest.
const MOST: u32 = 2000;

/// What planning did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planning {
    /// Occurrences that were looked at.
    pub(crate) processed: u64,
    /// Notifications that are planned now and were not before.
    pub(crate) planned: u64,
    /// Notifications that stay as they were.
    pub(crate) kept: u64,
    /// Notifications that were planned before and are not any more.
    pub(crate) superseded: u64,
    /// Each occurrence that nothing new was planned for, and why.
    pub(crate) skipped: Vec<Skipped>,
    /// Whether there was more to plan than one call takes.
    pub(crate) more: bool,
}

/// An occurrence that nothing new was planned for.
#[derive(Clone, Debug)]
pub(crate) struct Skipped {
    pub(crate) event: EventId,
    pub(crate) title: String,
    pub(crate) occurrence: String,
    pub(crate) why: String,
}

impl Assistant {
    /// Plans what a user is told about the coming 30 days, or about one event of theirs. What is planned for the same
    /// event, preferences, rules and policy already stays as it is; `force` decides anew, and applies the difference.
    pub(crate) async fn plan(
        &self,
        user: &UserId,
        event: Option<&EventId>,
        force: bool,
        now: Timestamp,
    ) -> Result<Planning, Error> {
        let user = self.user(user).await?;
        let until = now.saturating_add(HORIZON).unwrap_or(Timestamp::MAX);
        let (happenings, more) = if let Some(id) = event {
            let event = self.event(id).await?;
            if event.user != user.id {
                return Err(Error::Unknown { what: "event", id: id.to_string() });
            }
            let occurrences = self.occurrences(id, now, until, MOST).await?;
            let happening = |occurrence| Happening { event: event.clone(), occurrence };
            (occurrences.into_iter().map(happening).collect(), false)
        } else {
            let span = Span { user: Some(user.id.clone()), from: now, until };
            self.happenings(&span, MOST).await?
        };
        let rules = self.rules(&user.id).await?.into_iter().filter(|rule| rule.enabled).collect::<Vec<_>>();
        let (from, to) = (millis(now), millis(until));
        let keys: HashMap<(String, String), String> = plans::keys(&self.store, user.id.as_str(), from, to)
            .await?
            .into_iter()
            .map(|(event, occurrence, key)| ((event, occurrence), key))
            .collect();
        let mut history: HashMap<(String, String), Vec<Notification>> = HashMap::new();
        for row in notifications::history(&self.store, user.id.as_str(), from, to).await? {
            let slot = history.entry((row.event_id.clone(), row.occurrence.clone())).or_default();
            slot.push(rows::notification(row)?);
        }

        let mut planning = Planning { more, ..Planning::default() };
        let mut made = Vec::new();
        for happening in &happenings {
            let Happening { event, occurrence } = happening;
            planning.processed += 1;
            let place = (event.id.as_str().to_owned(), occurrence.key.clone());
            let skip = |why: String| Skipped {
                event: event.id.clone(),
                title: event.title.clone(),
                occurrence: occurrence.key.clone(),
                why,
            };
            if event.status != EventStatus::Confirmed {
                planning.skipped.push(skip(format!("the event is {}", event.status.name())));
                continue;
            }
            let key = plan_key(&user, event, occurrence);
            let before = history.get(&place).map(Vec::as_slice).unwrap_or_default();
            if !force && keys.get(&place) == Some(&key) {
                let gone = |one: &&Notification| matches!(one.status, Status::Cancelled | Status::Superseded);
                planning.kept += before.iter().filter(|one| !gone(one)).count() as u64;
                planning.skipped.push(skip("it is planned already".to_owned()));
                continue;
            }
            let decision = decide(&user, &rules, happening, before, now);
            if decision.notifications.is_empty() {
                let why = decision.reasons.iter().map(|reason| reason.why.as_str()).collect::<Vec<_>>();
                planning.skipped.push(skip(why.join("; ")));
            }
            made.push(new_plan(&user, event, occurrence, key, &decision, now)?);
        }
        if !made.is_empty() {
            for applied in plans::apply(&self.store, made).await? {
                planning.planned += applied.planned;
                planning.kept += applied.kept;
                planning.superseded += applied.superseded;
            }
            self.events.send(Happened::NotificationsChanged);
        }
        Ok(planning)
    }

    /// Returns the plans for an event that is about to change, where it is planned already.
    pub(super) async fn plans_anew(
        &self,
        event: &Event,
        occurrences: &[Occurrence],
        now: Timestamp,
    ) -> Result<Vec<NewPlan>, Error> {
        if event.status != EventStatus::Confirmed
            || plans::planned_occurrences(&self.store, event.id.as_str()).await?.is_empty()
        {
            return Ok(Vec::new());
        }
        let user = self.user(&event.user).await?;
        let rules = self.rules(&user.id).await?.into_iter().filter(|rule| rule.enabled).collect::<Vec<_>>();
        let until = now.saturating_add(HORIZON).unwrap_or(Timestamp::MAX);
        let past = notifications::of_event(&self.store, event.id.as_str(), MOST).await?;
        let past = past.into_iter().map(rows::notification).collect::<Result<Vec<_>, _>>()?;
        let coming = occurrences.iter().filter(|one| one.starts_at >= now && one.starts_at < until);
        coming
            .map(|occurrence| {
                let happening = Happening { event: event.clone(), occurrence: occurrence.clone() };
                let before: Vec<Notification> =
                    past.iter().filter(|one| one.occurrence == occurrence.key).cloned().collect();
                let decision = decide(&user, &rules, &happening, &before, now);
                new_plan(&user, event, occurrence, plan_key(&user, event, occurrence), &decision, now)
            })
            .collect()
    }

    /// Returns the plan that stands for an occurrence, with its reasons.
    pub(crate) async fn plan_of(
        &self,
        event: &EventId,
        occurrence: &str,
    ) -> Result<Option<super::notification::Plan>, Error> {
        let found = plans::current(&self.store, event.as_str(), occurrence).await?;
        found.map(rows::plan).transpose()
    }
}

fn decide(
    user: &User,
    rules: &[Rule],
    happening: &Happening,
    history: &[Notification],
    now: Timestamp,
) -> Decision {
    planner::plan(&Situation {
        user,
        event: &happening.event,
        occurrence: &happening.occurrence,
        rules,
        history,
        channels: Channel::ALL,
        now,
    })
}

/// The same key is the same plan: it holds all that [`planner::plan`] looks at but the time.
fn plan_key(user: &User, event: &Event, occurrence: &Occurrence) -> String {
    let parts = (
        planner::POLICY,
        user.id.as_str(),
        user.revision,
        event.digest.as_str(),
        occurrence.key.as_str(),
        millis(occurrence.starts_at),
    );
    hex(&Sha256::digest(json(&parts)))
}

fn new_plan(
    user: &User,
    event: &Event,
    occurrence: &Occurrence,
    key: String,
    decision: &Decision,
    now: Timestamp,
) -> Result<NewPlan, Error> {
    let plan = PlanRow {
        id: PlanId::new()?.as_str().to_owned(),
        user_id: user.id.as_str().to_owned(),
        event_id: event.id.as_str().to_owned(),
        occurrence: occurrence.key.clone(),
        plan_key: key,
        source: PlanSource::Policy.name().to_owned(),
        reasons: json(&decision.reasons),
        made_at: millis(now),
    };
    let notifications = decision
        .notifications
        .iter()
        .map(|planned| Ok(rows::planned(planned, &plan, &NotificationId::new()?)))
        .collect::<Result<Vec<_>, Error>>()?;
    Ok(NewPlan { plan, notifications })
}
