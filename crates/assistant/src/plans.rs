//! Creation of plans, and their update when events or users change.

mod input;
mod report;

use std::collections::HashMap;

use jiff::Timestamp;

use super::event::EventStatus;
use super::events::EventOccurrence;
use super::notification::{Notification, PlanSource, Reason};
use super::planner::proposal::Proposal;
use super::planner::{self, Decision, Situation};
use super::rows::{self, json, millis};
use super::{Assistant, Error, Event, EventId, NotificationId, Occurrence, PlanId, UserId};
use adjutant_base::events::Event as HubEvent;
use adjutant_store::assistant::notifications;
use adjutant_store::assistant::plans::{self, NewPlan, PlanRow};
pub(crate) use input::HORIZON;
use input::{MAX_OCCURRENCES, plan_key, situation};
pub use input::{ModelQuery, PlanInput, PlanScope};
pub use report::{OccurrenceNote, PlanReport};

/// The advice of the providers about one occurrence. The default: none was asked.
#[derive(Clone, Debug, Default)]
pub struct Advice {
    pub proposal: Option<(PlanSource, Proposal)>,
    /// Why there is no proposal, or why earlier providers gave none.
    pub reasons: Vec<Reason>,
    /// The response of the providers that were asked.
    pub response: ProviderResponse,
}

/// Response of the providers of proposals that were asked about one occurrence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProviderResponse {
    /// None was asked, or the answer is still to come.
    #[default]
    NotAsked,
    /// None could be reached; a later call may reach one.
    Unreachable,
    /// One answered, whether its answer could be used or not.
    Answered,
}

impl Assistant {
    /// Plans a user's notifications for the coming 30 days, or for one event, by the policy alone. A plan for the same
    /// event, preferences, rules and policy stays as it is, unless `scope` says more.
    pub async fn plan(
        &self,
        user: &UserId,
        event: Option<&EventId>,
        scope: PlanScope,
        now: Timestamp,
    ) -> Result<PlanReport, Error> {
        let input = self.plan_input(user, event, scope, now).await?;
        self.store_plans(input, HashMap::new()).await
    }

    /// Decides and stores the plans of an input. `advice` is by the ids of queries; an occurrence without it was not asked
    /// about. Advice from an earlier input counts as long as the event, the preferences and the rules are the same.
    pub async fn store_plans(
        &self,
        mut input: PlanInput,
        mut advice: HashMap<String, Advice>,
    ) -> Result<PlanReport, Error> {
        let mut report = std::mem::take(&mut input.report);
        let mut new_plans = Vec::new();
        for item in &input.items {
            let advice = advice.remove(item.id()).unwrap_or_default();
            let note = || {
                let why = advice.reasons.iter().map(|reason| format!("{}: {}", reason.by, reason.why));
                OccurrenceNote::new(&item.event_occurrence, why.collect::<Vec<_>>().join("; "))
            };
            if advice.proposal.is_none() && advice.response != ProviderResponse::NotAsked {
                report.fell_back.push(note());
            }
            // The policy would say the same again.
            if item.has_plan && input.scope != PlanScope::All && advice.response == ProviderResponse::NotAsked
            {
                report.keep_plan(&item.event_occurrence, &item.history);
                continue;
            }
            let situation = input.situation(item);
            let (source, mut decision) = match &advice.proposal {
                Some((source, proposal)) => (*source, planner::decide(&situation, proposal, source.name())),
                None if advice.response == ProviderResponse::Answered => {
                    (PlanSource::Fallback, planner::plan(&situation))
                }
                None => (PlanSource::Policy, planner::plan(&situation)),
            };
            decision.reasons.splice(0..0, advice.reasons);
            if decision.notifications.is_empty() {
                let why = decision.reasons.iter().map(|reason| reason.why.as_str()).collect::<Vec<_>>();
                report.skipped.push(OccurrenceNote::new(&item.event_occurrence, why.join("; ")));
            }
            let replaces = input.scope != PlanScope::Unplanned;
            new_plans.push(NewPlan { replaces, ..new_plan(&situation, source, &decision)? });
        }
        if !new_plans.is_empty() {
            for notification in new_plans.iter().flat_map(|plan| &plan.notifications) {
                self.traces.remember(&notification.id);
            }
            for applied in plans::apply(&self.store, new_plans).await? {
                report.planned += applied.planned;
                report.kept += applied.kept;
                report.superseded += applied.superseded;
            }
            self.events.send(HubEvent::NotificationsChanged);
            // It may be due before the next wake-up.
            self.wake.notify_one();
        }
        Ok(report)
    }

    /// Returns the plans for an event that is about to change, where it is planned already.
    pub(super) async fn replan(
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
        let past = notifications::of_event(&self.store, event.id.as_str(), MAX_OCCURRENCES).await?;
        let past = past.into_iter().map(rows::notification).collect::<Result<Vec<_>, _>>()?;
        let coming = occurrences.iter().filter(|one| one.starts_at >= now && one.starts_at < until);
        coming
            .map(|occurrence| {
                let event_occurrence =
                    EventOccurrence { event: event.clone(), occurrence: occurrence.clone() };
                let before: Vec<Notification> =
                    past.iter().filter(|one| one.occurrence == occurrence.key).cloned().collect();
                let situation = situation(&user, &rules, &event_occurrence, &before, now);
                new_plan(&situation, PlanSource::Policy, &planner::plan(&situation))
            })
            .collect()
    }

    /// Returns the current plan of an occurrence, with its reasons.
    pub async fn plan_of(
        &self,
        event: &EventId,
        occurrence: &str,
    ) -> Result<Option<super::notification::Plan>, Error> {
        let found = plans::current(&self.store, event.as_str(), occurrence).await?;
        found.map(rows::plan).transpose()
    }
}

/// Makes the row of a plan and the rows of its notifications.
fn new_plan(situation: &Situation<'_>, source: PlanSource, decision: &Decision) -> Result<NewPlan, Error> {
    let Situation { user, event, occurrence, now, .. } = situation;
    let plan = PlanRow {
        id: PlanId::new()?.as_str().to_owned(),
        user_id: user.id.as_str().to_owned(),
        event_id: event.id.as_str().to_owned(),
        occurrence: occurrence.key.clone(),
        plan_key: plan_key(user, event, occurrence),
        source: source.name().to_owned(),
        reasons: json(&decision.reasons),
        made_at: millis(*now),
    };
    let rows = decision.notifications.iter();
    let rows = rows.map(|planned| Ok(rows::planned(planned, &plan, &NotificationId::new()?)));
    Ok(NewPlan { notifications: rows.collect::<Result<_, Error>>()?, plan, replaces: true })
}
