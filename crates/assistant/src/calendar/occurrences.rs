//! Expansion of an event into occurrences: rules, added and excluded dates in civil time, then resolved in their zone.

use jiff::civil::{DateTime, Time};
use jiff::{SignedDuration, Timestamp, Zoned};

use super::datetime::{Adjusted, end_of, length_in, resolve};
use super::error::Error;
use super::limits::MAX_OCCURRENCES;
use super::rrule::{Anchor, Budget, dates, ends_before_start, widen};
use crate::event::{Length, Occurrence, Period, Recurrence, When};
use crate::time_zone::Zone;

/// The time that is expanded: everything that is not over before `from` and starts before `to`.
#[derive(Clone, Copy, Debug)]
pub struct Horizon {
    pub from: Timestamp,
    pub to: Timestamp,
}

impl Horizon {
    /// An occurrence without a length is over when it has begun.
    fn holds(self, from: Timestamp, to: Timestamp) -> bool {
        from < self.to && (to > self.from || (from == to && from >= self.from))
    }
}

/// Returns when an event happens within a horizon, by the start. `own` is the zone of the reader, for whole days and
/// times without a zone.
///
/// # Errors
/// Fails where the rules name no date, too many, or take too much work.
pub fn occurrences(
    when: &When,
    recurrence: Option<&Recurrence>,
    own: &Zone,
    horizon: Horizon,
    budget: &mut Budget,
) -> Result<Vec<Occurrence>, Error> {
    let zone = when.zone.as_ref().unwrap_or(own);
    let length = length_in(when, zone)?;
    let Some(recurrence) = recurrence else {
        let (start, adjusted) = resolve(when.start, zone)?;
        let found = occurrence(when, when.start.to_string(), &start, adjusted, length)?;
        return Ok(if horizon.holds(found.starts_at, found.ends_at) { vec![found] } else { Vec::new() });
    };
    let series = Series::of(when, recurrence, own);
    let length_at = |civil: DateTime| {
        let of_start = |period: &&Period| period.start == civil && recurrence.rest_of.is_none();
        recurrence.periods.iter().find(of_start).map_or(length, |period| period.length)
    };
    let mut found: Vec<(Occurrence, Adjusted)> = Vec::new();
    for civil in series.starts(recurrence, length, horizon, budget)? {
        if series.leaves_out(recurrence, civil)? {
            continue;
        }
        let (start, adjusted) = resolve(series.moved(civil, when.all_day)?, zone)?;
        let occurrence = occurrence(when, civil.to_string(), &start, adjusted, length_at(civil))?;
        match found.last_mut() {
            // A time that the clocks skip may be the same instant as one that they show, which then is the one meant.
            Some((last, was)) if last.starts_at == occurrence.starts_at => {
                if *was == Adjusted::Gap {
                    (*last, *was) = (occurrence, adjusted);
                }
            }
            _ => found.push((occurrence, adjusted)),
        }
    }
    for civil in recurrence.second_more.iter().filter(|civil| series.has(recurrence, **civil)) {
        let start = zone.rules().to_ambiguous_zoned(series.moved(*civil, when.all_day)?);
        let start = start.later().map_err(|_| Error::OutOfTime)?;
        // The first of the two times may happen too, so the instant is the key.
        let key = start.timestamp().to_string();
        found.push((occurrence(when, key, &start, Adjusted::Overlap, length_at(*civil))?, Adjusted::Overlap));
    }
    let mut found: Vec<Occurrence> = found.into_iter().map(|(occurrence, _)| occurrence).collect();
    found.retain(|occurrence| horizon.holds(occurrence.starts_at, occurrence.ends_at));
    found.sort_by_key(|occurrence| occurrence.starts_at);
    Ok(found)
}

/// Returns whether a series has an occurrence that starts at `start`, on its clock.
pub(super) fn has_start(
    when: &When,
    recurrence: &Recurrence,
    own: &Zone,
    start: DateTime,
    budget: &mut Budget,
) -> Result<bool, Error> {
    let series = Series::of(when, recurrence, own);
    let end = start.checked_add(SignedDuration::from_secs(1)).map_err(|_| Error::OutOfTime)?;
    let named = series.named(recurrence, (start, end), budget)?.contains(&start);
    Ok(named && !series.leaves_out(recurrence, start)?)
}

/// Returns one time that an event happens. `key` is its civil start in the series.
fn occurrence(
    when: &When,
    key: String,
    start: &Zoned,
    adjusted: Adjusted,
    length: Length,
) -> Result<Occurrence, Error> {
    Ok(Occurrence {
        key,
        starts_at: start.timestamp(),
        ends_at: end_of(start, length)?.timestamp(),
        // A whole day begins with its first moment, also where the clocks change at midnight.
        adjusted: adjusted != Adjusted::No && !when.all_day,
    })
}

/// The series that gives an event its starts: its own, or the series that it changes the rest of.
struct Series<'a> {
    start: DateTime,
    zone: &'a Zone,
    all_day: bool,
    /// The first start that counts.
    from: DateTime,
    /// How much later an event starts than the series says.
    shift: SignedDuration,
}

impl<'a> Series<'a> {
    fn of(when: &'a When, recurrence: &'a Recurrence, own: &'a Zone) -> Self {
        match &recurrence.rest_of {
            None => Self {
                start: when.start,
                zone: when.zone.as_ref().unwrap_or(own),
                all_day: when.all_day,
                from: DateTime::MIN,
                shift: SignedDuration::ZERO,
            },
            Some(rest) => Self {
                start: rest.start,
                zone: rest.zone.as_ref().unwrap_or(own),
                all_day: false,
                from: rest.from,
                shift: when.start.duration_since(rest.from),
            },
        }
    }

    /// Returns the civil starts around a horizon, in order, without those that changed occurrences replace.
    fn starts(
        &self,
        recurrence: &Recurrence,
        length: Length,
        horizon: Horizon,
        budget: &mut Budget,
    ) -> Result<Vec<DateTime>, Error> {
        let back = |at: Timestamp| self.zone.civil(at).checked_sub(self.shift).map_err(|_| Error::OutOfTime);
        let lengths = recurrence.periods.iter().map(|period| period.length).chain([length]);
        let reach = lengths.map(|length| length.days + length.seconds / 86_400 + 1).max().unwrap_or(1);
        let wide = widen(back(horizon.from)?, back(horizon.to)?, reach);
        let mut starts = self.named(recurrence, wide, budget)?;
        // A changed occurrence happens also where the series no longer has its start.
        starts.extend(recurrence.rest_of.as_ref().map(|rest| rest.from));
        starts.retain(|at| {
            let within = wide.0 <= *at && *at < wide.1 && self.has(recurrence, *at);
            within && recurrence.replaced.binary_search(at).is_err()
        });
        starts.sort_unstable();
        starts.dedup();
        if starts.len() > MAX_OCCURRENCES { Err(Error::TooOften) } else { Ok(starts) }
    }

    /// The civil starts of the rules in a window, and all that are listed, in no order.
    fn named(
        &self,
        recurrence: &Recurrence,
        window: (DateTime, DateTime),
        budget: &mut Budget,
    ) -> Result<Vec<DateTime>, Error> {
        let anchor = Anchor { start: self.start, zone: self.zone.rules(), all_day: self.all_day };
        let mut dates = |rules: &[String]| {
            let mut found = Vec::new();
            for rule in rules {
                found.extend(dates(rule, anchor, window, budget)?);
            }
            Ok::<_, Error>(found)
        };
        let mut starts = dates(&recurrence.rules)?;
        // RFC 5545 3.8.5.3: the start is the first of the series, also where no rule names it. A rule that ends before it
        // is that of a series without occurrences.
        let rules = &recurrence.rules;
        if rules.is_empty() || !starts.is_empty() || !rules.iter().all(|rule| ends_before_start(rule, anchor))
        {
            starts.push(self.start);
        }
        starts.extend(&recurrence.more);
        let mut without = dates(&recurrence.without_rules)?;
        without.sort_unstable();
        starts.retain(|at| without.binary_search(at).is_err());
        Ok(starts)
    }

    /// Returns whether a start lies between the first that counts and the change of the rest.
    fn has(&self, recurrence: &Recurrence, civil: DateTime) -> bool {
        self.from <= civil && recurrence.ends_before.is_none_or(|end| civil < end)
    }

    /// Returns whether a start is left out. One that the clocks skip may be named by the time that they show instead.
    fn leaves_out(&self, recurrence: &Recurrence, civil: DateTime) -> Result<bool, Error> {
        if civil == self.from || (recurrence.without.is_empty() && recurrence.without_days.is_empty()) {
            return Ok(false);
        }
        let resolved = resolve(civil, self.zone)?.0.datetime();
        Ok(recurrence.without.contains(&civil)
            || recurrence.without.contains(&resolved)
            || recurrence.without_days.contains(&civil.date()))
    }

    /// Returns the start of the event for the start `civil` of its series.
    fn moved(&self, civil: DateTime, all_day: bool) -> Result<DateTime, Error> {
        let at = civil.checked_add(self.shift).map_err(|_| Error::OutOfTime)?;
        Ok(if all_day { at.date().to_datetime(Time::midnight()) } else { at })
    }
}
