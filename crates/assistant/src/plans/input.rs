//! Input of one planning call: everything that the store knows about the occurrences to plan.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::report::{OccurrenceNote, PlanReport};
use crate::event::EventStatus;
use crate::events::{EventOccurrence, Span};
use crate::notification::{Channel, Notification, PlanSource};
use crate::planner::prompt::{PlannerPrompt, planner_prompt};
use crate::planner::{self, Situation};
use crate::rows::{self, json, millis};
use crate::{Assistant, Error, Event, EventId, Occurrence, Rule, User, UserId};
use adjutant_base::text::hex;
use adjutant_store::assistant::{notifications, plans};

/// How far ahead is planned.
pub(crate) const HORIZON: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Occurrences of the 30 days that one call plans at most; later ones are planned by their event.
pub(super) const MAX_OCCURRENCES: u32 = 20_000;

/// The occurrences that a call plans. A plan counts if it was made for the same event, preferences, rules and policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanScope {
    /// Those without a plan.
    Unplanned,
    /// Also those with a plan of the policy: a provider may be asked about them now.
    UnplannedOrPolicy,
    /// All; current plans are changed by the difference.
    All,
}

/// The occurrences to plan, with all that the store has about them, before anything is decided.
#[derive(Clone, Debug)]
pub struct PlanInput {
    pub(super) user: User,
    rules: Vec<Rule>,
    pub(super) items: Vec<PlanItem>,
    pub(super) scope: PlanScope,
    pub(super) now: Timestamp,
    /// The part of the report that is known already.
    pub(super) report: PlanReport,
}

/// One occurrence that is to be decided.
#[derive(Clone, Debug)]
pub(super) struct PlanItem {
    pub(super) event_occurrence: EventOccurrence,
    pub(super) history: Vec<Notification>,
    pub(super) key: String,
    /// A plan of the same key exists.
    pub(super) has_plan: bool,
}

/// An occurrence that a provider may be asked about.
#[derive(Clone, Debug)]
pub struct ModelQuery {
    /// Changes with the event, the preferences and the rules.
    pub id: String,
    pub event: EventId,
    pub title: String,
    pub occurrence: String,
    pub prompt: PlannerPrompt,
}

impl PlanInput {
    /// Returns the queries for the providers, the nearest first and at most `limit`, and the number of further ones.
    pub fn model_queries(&self, limit: usize) -> (Vec<ModelQuery>, usize) {
        let askable = self.items.iter().map(|item| (item, self.situation(item)));
        let mut askable = askable.filter(|(_, situation)| planner::can_propose(situation));
        let model_queries =
            askable.by_ref().take(limit).map(|(item, situation)| model_query(item, &situation)).collect();
        (model_queries, askable.count())
    }

    /// Returns the query with this id; `None` once the event, the preferences or the rules have changed.
    pub fn model_query(&self, id: &str) -> Option<ModelQuery> {
        let item = self.items.iter().find(|item| item.id() == id)?;
        let situation = self.situation(item);
        planner::can_propose(&situation).then(|| model_query(item, &situation))
    }

    /// Keeps only the occurrences of the queries that `keep` accepts.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.items.retain(|item| keep(item.id()));
        let processed = self.items.len() as u64;
        self.report = PlanReport { processed, ..PlanReport::default() };
    }

    /// Returns whether a query is about an occurrence as it is here.
    pub fn contains(&self, id: &str) -> bool {
        self.items.iter().any(|item| item.id() == id)
    }

    pub(super) fn situation<'a>(&'a self, item: &'a PlanItem) -> Situation<'a> {
        situation(&self.user, &self.rules, &item.event_occurrence, &item.history, self.now)
    }
}

pub(super) fn situation<'a>(
    user: &'a User,
    rules: &'a [Rule],
    event_occurrence: &'a EventOccurrence,
    history: &'a [Notification],
    now: Timestamp,
) -> Situation<'a> {
    let EventOccurrence { event, occurrence } = event_occurrence;
    Situation { user, event, occurrence, rules, history, channels: Channel::ALL, now }
}

fn model_query(item: &PlanItem, situation: &Situation<'_>) -> ModelQuery {
    ModelQuery {
        id: item.id().to_owned(),
        event: situation.event.id.clone(),
        title: situation.event.title.clone(),
        occurrence: situation.occurrence.key.clone(),
        prompt: planner_prompt(situation),
    }
}

impl PlanItem {
    /// The beginning of the key, which is unique and short enough for a model to repeat.
    pub(super) fn id(&self) -> &str {
        self.key.get(..16).unwrap_or(&self.key)
    }
}

impl Assistant {
    /// Reads what is to be planned.
    pub async fn plan_input(
        &self,
        user: &UserId,
        event: Option<&EventId>,
        scope: PlanScope,
        now: Timestamp,
    ) -> Result<PlanInput, Error> {
        let user = self.user(user).await?;
        let until = now.saturating_add(HORIZON).unwrap_or(Timestamp::MAX);
        let (event_occurrences, more) = if let Some(id) = event {
            let event = self.event(id).await?;
            if event.user != user.id {
                return Err(Error::Unknown { what: "event", id: id.to_string() });
            }
            let occurrences = self.occurrences(id, now, until, MAX_OCCURRENCES).await?;
            let event_occurrence = |occurrence| EventOccurrence { event: event.clone(), occurrence };
            (occurrences.into_iter().map(event_occurrence).collect(), false)
        } else {
            let span = Span { user: Some(user.id.clone()), from: now, until };
            self.event_occurrences(&span, MAX_OCCURRENCES).await?
        };
        let rules = self.rules(&user.id).await?.into_iter().filter(|rule| rule.enabled).collect::<Vec<_>>();
        let (from, to) = (millis(now), millis(until));
        let existing: HashMap<(String, String), (String, String)> =
            plans::keys(&self.store, user.id.as_str(), from, to)
                .await?
                .into_iter()
                .map(|(event, occurrence, key, source)| ((event, occurrence), (key, source)))
                .collect();
        let mut history: HashMap<(String, String), Vec<Notification>> = HashMap::new();
        for row in notifications::history(&self.store, user.id.as_str(), from, to).await? {
            let slot = history.entry((row.event_id.clone(), row.occurrence.clone())).or_default();
            slot.push(rows::notification(row)?);
        }

        let mut report = PlanReport { more, ..PlanReport::default() };
        let mut items = Vec::new();
        for event_occurrence in event_occurrences {
            report.processed += 1;
            let status = event_occurrence.event.status;
            if status != EventStatus::Confirmed {
                let why = format!("the event is {}", status.name());
                report.skipped.push(OccurrenceNote::new(&event_occurrence, why));
                continue;
            }
            let place =
                (event_occurrence.event.id.as_str().to_owned(), event_occurrence.occurrence.key.clone());
            let key = plan_key(&user, &event_occurrence.event, &event_occurrence.occurrence);
            let history = history.remove(&place).unwrap_or_default();
            let source =
                existing.get(&place).filter(|(existing, _)| *existing == key).map(|(_, source)| source);
            let stays = match scope {
                PlanScope::Unplanned => source.is_some(),
                PlanScope::UnplannedOrPolicy => {
                    source.is_some_and(|source| source != PlanSource::Policy.name())
                }
                PlanScope::All => false,
            };
            let one = PlanItem { event_occurrence, history, key, has_plan: source.is_some() };
            if stays { report.keep_plan(&one.event_occurrence, &one.history) } else { items.push(one) }
        }
        Ok(PlanInput { user, rules, items, scope, now, report })
    }
}

/// The same key is the same plan: it holds all that [`planner::plan`] looks at but the time.
pub(super) fn plan_key(user: &User, event: &Event, occurrence: &Occurrence) -> String {
    let parts = (
        planner::POLICY,
        user.id.as_str(),
        user.revision,
        event.digest.as_str(),
        occurrence.key.as_str(),
        millis(occurrence.starts_at),
    );
    hex::sha256(json(&parts))
}
