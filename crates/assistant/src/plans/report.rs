//! Report of one call that plans notifications.

use crate::EventId;
use crate::events::EventOccurrence;
use crate::notification::{Notification, Status};

/// The result of planning.
#[derive(Clone, Debug, Default)]
pub struct PlanReport {
    /// Occurrences that were processed, including those in `skipped`.
    pub processed: u64,
    /// Notifications that are planned now and were not before.
    pub planned: u64,
    /// Notifications that stay as they were.
    pub kept: u64,
    /// Notifications that were planned before and are withdrawn.
    pub superseded: u64,
    /// Each occurrence that nothing new was planned for, and why.
    pub skipped: Vec<OccurrenceNote>,
    /// Each occurrence that the policy planned although a provider was asked, and why.
    pub fell_back: Vec<OccurrenceNote>,
    /// Whether there was more to plan than one call takes.
    pub more: bool,
}

/// A note about one occurrence.
#[derive(Clone, Debug)]
pub struct OccurrenceNote {
    pub event: EventId,
    pub title: String,
    pub occurrence: String,
    pub why: String,
}

impl OccurrenceNote {
    pub(super) fn new(event_occurrence: &EventOccurrence, why: String) -> Self {
        Self {
            event: event_occurrence.event.id.clone(),
            title: event_occurrence.event.title.clone(),
            occurrence: event_occurrence.occurrence.key.clone(),
            why,
        }
    }
}

impl PlanReport {
    /// Notes that a plan stays as it is.
    pub(super) fn keep_plan(&mut self, event_occurrence: &EventOccurrence, history: &[Notification]) {
        let is_withdrawn = |one: &&Notification| matches!(one.status, Status::Cancelled | Status::Superseded);
        self.kept += history.iter().filter(|one| !is_withdrawn(one)).count() as u64;
        self.skipped.push(OccurrenceNote::new(event_occurrence, "it is planned already".to_owned()));
    }
}
