//! Plans notifications for what is to come, and keeps them true as things change.

mod outline;

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::agenda::Happening;
use super::event::EventStatus;
use super::notification::{Channel, Notification, PlanSource, Reason, Status};
use super::planner::proposal::Proposal;
use super::planner::{self, Decision, Situation};
use super::rows::{self, json, millis};
use super::{Assistant, Error, Event, EventId, NotificationId, Occurrence, PlanId, Rule, User, UserId};
use crate::events::Event as Happened;
use crate::store::assistant::notifications;
use crate::store::assistant::plans::{self, NewPlan, PlanRow};
pub(crate) use outline::{Inquiry, Outline};
use outline::{Open, plan_key};

/// How far ahead is planned.
pub(crate) const HORIZON: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Occurrences that one call plans at most, of the 30 days; what is behind them is planned by its event.
const MOST: u32 = 20_000;

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
    pub(crate) skipped: Vec<Remark>,
    /// Each occurrence that the policy planned though somebody was asked, and why.
    pub(crate) fell_back: Vec<Remark>,
    /// Whether there was more to plan than one call takes.
    pub(crate) more: bool,
}

/// What is to be said about one occurrence.
#[derive(Clone, Debug)]
pub(crate) struct Remark {
    pub(crate) event: EventId,
    pub(crate) title: String,
    pub(crate) occurrence: String,
    pub(crate) why: String,
}

impl Remark {
    fn new(happening: &Happening, why: String) -> Self {
        Self {
            event: happening.event.id.clone(),
            title: happening.event.title.clone(),
            occurrence: happening.occurrence.key.clone(),
            why,
        }
    }
}

/// Which occurrences are planned. A plan is one for the same event, preferences, rules and policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those without a plan.
    Unplanned,
    /// Those as well whose plan is the policy's own: somebody may be asked about them now.
    Unadvised,
    /// All; what stands is changed by the difference.
    All,
}

/// What somebody else says about one occurrence. The default: nobody was asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Advice {
    pub(crate) proposal: Option<(PlanSource, Proposal)>,
    /// Why there is no proposal, or none of whoever is asked before.
    pub(crate) reasons: Vec<Reason>,
    /// How far those got who were asked.
    pub(crate) heard: Heard,
}

/// Whether somebody who was asked answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nobody was asked, or the answer is still to come.
    #[default]
    Nobody,
    /// Nobody could be reached; another time they may be.
    Unreached,
    /// There was an answer.
    Somebody,
}

impl Assistant {
    /// Plans what a user is told about the coming 30 days, or about one event of theirs, by the policy alone. What is
    /// planned for the same event, preferences, rules and policy already stays as it is, unless `which` says more.
    pub(crate) async fn plan(
        &self,
        user: &UserId,
        event: Option<&EventId>,
        which: Which,
        now: Timestamp,
    ) -> Result<Planning, Error> {
        let outline = self.outline(user, event, which, now).await?;
        self.settle(outline, HashMap::new()).await
    }

    /// Decides and keeps what an outline holds. `advice` is by the ids of inquiries; about what has none, nobody was
    /// asked. One of another outline counts as long as the event, the preferences and the rules are the same.
    pub(crate) async fn settle(
        &self,
        mut outline: Outline,
        mut advice: HashMap<String, Advice>,
    ) -> Result<Planning, Error> {
        let mut planning = std::mem::take(&mut outline.planning);
        let mut made = Vec::new();
        for open in &outline.open {
            let advice = advice.remove(open.id()).unwrap_or_default();
            let remark = || {
                let why = advice.reasons.iter().map(|reason| format!("{}: {}", reason.by, reason.why));
                Remark::new(&open.happening, why.collect::<Vec<_>>().join("; "))
            };
            if advice.proposal.is_none() && advice.heard != Heard::Nobody {
                planning.fell_back.push(remark());
            }
            // The policy would say the same again.
            if open.stands && outline.which != Which::All && advice.heard == Heard::Nobody {
                planning.leave(open);
                continue;
            }
            let situation = outline.situation(open);
            let (source, mut decision) = match &advice.proposal {
                Some((source, proposal)) => (*source, planner::decide(&situation, proposal, source.name())),
                None if advice.heard == Heard::Somebody => (PlanSource::Fallback, planner::plan(&situation)),
                None => (PlanSource::Policy, planner::plan(&situation)),
            };
            decision.reasons.splice(0..0, advice.reasons);
            if decision.notifications.is_empty() {
                let why = decision.reasons.iter().map(|reason| reason.why.as_str()).collect::<Vec<_>>();
                planning.skipped.push(Remark::new(&open.happening, why.join("; ")));
            }
            let Happening { event, occurrence } = &open.happening;
            let plan = PlanOf { user: &outline.user, event, occurrence, source, now: outline.now };
            made.push(plan.row(open.key.clone(), &decision)?);
        }
        if !made.is_empty() {
            for notification in made.iter().flat_map(|plan| &plan.notifications) {
                self.traces.keep(&notification.id);
            }
            for applied in plans::apply(&self.store, made).await? {
                planning.planned += applied.planned;
                planning.kept += applied.kept;
                planning.superseded += applied.superseded;
            }
            self.events.send(Happened::NotificationsChanged);
            // It may be due before the next look.
            self.wake.notify_one();
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
                let decision = planner::plan(&situation(&user, &rules, &happening, &before, now));
                let plan = PlanOf { user: &user, event, occurrence, source: PlanSource::Policy, now };
                plan.row(plan_key(&user, event, occurrence), &decision)
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

impl Planning {
    /// Notes that a plan stays as it is.
    fn leave(&mut self, open: &Open) {
        let gone = |one: &&Notification| matches!(one.status, Status::Cancelled | Status::Superseded);
        self.kept += open.history.iter().filter(|one| !gone(one)).count() as u64;
        self.skipped.push(Remark::new(&open.happening, "it is planned already".to_owned()));
    }
}

fn situation<'a>(
    user: &'a User,
    rules: &'a [Rule],
    happening: &'a Happening,
    history: &'a [Notification],
    now: Timestamp,
) -> Situation<'a> {
    let Happening { event, occurrence } = happening;
    Situation { user, event, occurrence, rules, history, channels: Channel::ALL, now }
}

/// Whose plan it is, for what, and who proposed it.
struct PlanOf<'a> {
    user: &'a User,
    event: &'a Event,
    occurrence: &'a Occurrence,
    source: PlanSource,
    now: Timestamp,
}

impl PlanOf<'_> {
    fn row(&self, key: String, decision: &Decision) -> Result<NewPlan, Error> {
        let plan = PlanRow {
            id: PlanId::new()?.as_str().to_owned(),
            user_id: self.user.id.as_str().to_owned(),
            event_id: self.event.id.as_str().to_owned(),
            occurrence: self.occurrence.key.clone(),
            plan_key: key,
            source: self.source.name().to_owned(),
            reasons: json(&decision.reasons),
            made_at: millis(self.now),
        };
        let notifications = decision
            .notifications
            .iter()
            .map(|planned| Ok(rows::planned(planned, &plan, &NotificationId::new()?)))
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(NewPlan { plan, notifications })
    }
}
