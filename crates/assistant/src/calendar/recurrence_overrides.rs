//! Recurrence overrides: changed occurrences of a series, and changes of the rest of it (`RANGE=THISANDFUTURE`, RFC
//! 5545 3.2.13).

use std::collections::HashMap;

use jiff::civil::DateTime;

use super::error::Error;
use super::occurrences::has_start;
use super::rrule::Budget;
use super::vevent::Component;
use crate::event::{Recurrence, RestOf, When};
use crate::time_zone::Zone;

/// Maximum bytes of the rules in all changes of the rest of one series, because each of them repeats the rules.
const MAX_REPEATED: usize = 64 * 1024;

/// The changes of every series that has some, by its uid.
#[derive(Debug, Default)]
pub(super) struct Overrides(HashMap<String, SeriesOverrides>);

#[derive(Debug, Default)]
struct SeriesOverrides {
    /// The starts that changed occurrences take the place of, in order.
    replaced: Vec<DateTime>,
    /// Those of them where a change of the rest begins, in order.
    rests: Vec<DateTime>,
    /// The series, where it is in the calendar, with how often its author changed it.
    series: Option<(Option<i64>, When, Recurrence)>,
    too_many: bool,
}

impl Overrides {
    /// Collects the changes of events, each with the civil start that it replaces, if it does.
    pub(super) fn of<'a>(
        events: impl Iterator<Item = (&'a Component<'a>, Option<DateTime>)> + Clone,
    ) -> Self {
        let mut found: HashMap<String, SeriesOverrides> = HashMap::new();
        for (event, replaces) in events.clone() {
            let Some(start) = replaces else { continue };
            let changes = found.entry(event.uid.clone()).or_default();
            changes.replaced.push(start);
            if event.rest {
                changes.rests.push(start);
            }
        }
        for (event, replaces) in events {
            if let (None, Some(recurrence)) = (replaces, &event.details.recurrence)
                && let Some(changes) = found.get_mut(&event.uid)
            {
                let (when, recurrence) = (event.details.when.clone(), recurrence.clone());
                changes.series = Some((event.version.sequence, when, recurrence));
            }
        }
        for changes in found.values_mut() {
            changes.replaced.sort_unstable();
            changes.rests.sort_unstable();
            let rules = changes
                .series
                .iter()
                .flat_map(|(_, _, series)| series.rules.iter().chain(&series.without_rules));
            let bytes: usize = rules.map(String::len).sum();
            changes.too_many = changes.rests.len().saturating_mul(bytes) > MAX_REPEATED;
            if changes.too_many || changes.series.is_none() {
                changes.rests.clear();
            }
        }
        Self(found)
    }

    /// Returns whether a change of an occurrence is older than its series, which no longer has that occurrence.
    pub(super) fn is_obsolete(
        &self,
        event: &Component<'_>,
        replaces: Option<DateTime>,
        own: &Zone,
        budget: &mut Budget,
    ) -> bool {
        let series = self.0.get(&event.uid).and_then(|changes| changes.series.as_ref());
        let (Some(start), Some((sequence, when, recurrence))) = (replaces, series) else { return false };
        let older = event.version.sequence.is_some_and(|own| Some(own) < *sequence);
        older && !has_start(when, recurrence, own, start, budget).unwrap_or(true)
    }

    /// Sets how an event repeats, given the changes of its series. `replaces` is the start that it changes, if it does.
    pub(super) fn apply(&self, event: &mut Component<'_>, replaces: Option<DateTime>) {
        let changes = self.0.get(&event.uid);
        let Some(start) = replaces else {
            if let (Some(recurrence), Some(changes)) = (&mut event.details.recurrence, changes) {
                // The replaced starts are a part of the series, so that it counts as changed when they change.
                recurrence.ends_before = changes.rests.first().copied();
                let end = recurrence.ends_before.unwrap_or(DateTime::MAX);
                recurrence.replaced = within(&changes.replaced, DateTime::MIN, end);
            }
            return;
        };
        if let Some(own) = event.details.recurrence.take() {
            let property = if own.rules.is_empty() { "RDATE" } else { "RRULE" };
            event.remarks.push(Error::ChangeRepeats(property));
        }
        if !event.rest {
            return;
        }
        match changes.and_then(|changes| changes.rest(start)) {
            Some(recurrence) => event.details.recurrence = Some(recurrence),
            None if changes.is_some_and(|changes| changes.too_many) => {
                event.remarks.push(Error::TooManyChanges);
            }
            None => event.remarks.push(Error::RestOfNothing),
        }
    }
}

impl SeriesOverrides {
    /// Returns the recurrence of a change of the rest that begins at `from`: as the series, until the next change begins.
    fn rest(&self, from: DateTime) -> Option<Recurrence> {
        let place = self.rests.iter().position(|start| *start == from)?;
        let (_, when, series) = self.series.as_ref()?;
        let ends_before = self.rests.get(place + 1).copied();
        let end = ends_before.unwrap_or(DateTime::MAX);
        let days = series.without_days.iter().copied();
        Some(Recurrence {
            rules: series.rules.clone(),
            without_rules: series.without_rules.clone(),
            more: within(&series.more, from, end),
            second_more: within(&series.second_more, from, end),
            without: within(&series.without, from, end),
            without_days: days.filter(|day| from.date() <= *day && *day <= end.date()).collect(),
            // The length is that of the change, for all of them.
            periods: Vec::new(),
            replaced: within(&self.replaced, from, end).into_iter().filter(|start| *start != from).collect(),
            ends_before,
            rest_of: Some(RestOf { start: when.start, zone: when.zone.clone(), from }),
        })
    }
}

fn within(starts: &[DateTime], from: DateTime, end: DateTime) -> Vec<DateTime> {
    starts.iter().copied().filter(|start| from <= *start && *start < end).collect()
}
