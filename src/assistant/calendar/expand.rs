//! When an event happens: rules, added and excluded dates in civil time, then resolved in their zone.

use jiff::civil::DateTime;
use jiff::{Timestamp, ToSpan as _, Zoned};

use super::super::event::{Occurrence, Recurrence, When};
use super::super::zone::Zone;
use super::Error;
use super::rule::{Budget, dates, widen};
use super::stamp::{Adjusted, resolve};

/// So many occurrences of one series fall into a horizon: an hourly one in four months.
pub(super) const MAX_OCCURRENCES: usize = 3000;

/// What is looked at: everything that is not over before `from` and starts before `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Horizon {
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
}

impl Horizon {
    /// What lasts no time is over when it has begun.
    fn holds(self, from: Timestamp, to: Timestamp) -> bool {
        from < self.to && (to > self.from || (from == to && from >= self.from))
    }
}

/// Returns when an event happens within a horizon, by the start. `own` is the zone of whoever looks, where whole days
/// and times without a zone are theirs.
///
/// # Errors
/// Fails where the rules name no date, too many, or take too much work.
pub(crate) fn occurrences(
    when: &When,
    recurrence: Option<&Recurrence>,
    own: &Zone,
    horizon: Horizon,
    budget: &mut Budget,
) -> Result<Vec<Occurrence>, Error> {
    let zone = when.zone.as_ref().unwrap_or(own);
    let length = Length::of(when, zone)?;
    let mut starts = match recurrence {
        None => vec![when.start],
        Some(recurrence) => regular(when, recurrence, zone, length, horizon, budget)?,
    };
    if let Some(recurrence) = recurrence {
        starts.retain(|start| !recurrence.replaced.contains(start));
    }
    let mut found: Vec<(Occurrence, Adjusted)> = Vec::with_capacity(starts.len());
    for civil in starts {
        let (start, adjusted) = resolve(civil, zone)?;
        // A whole day begins with its first moment, whatever the clocks do at midnight.
        let adjusted = if when.all_day { Adjusted::No } else { adjusted };
        if recurrence.is_some_and(|recurrence| excludes(recurrence, civil, &start)) {
            continue;
        }
        let (starts_at, ends_at) = (start.timestamp(), length.after(&start)?.timestamp());
        if !horizon.holds(starts_at, ends_at) {
            continue;
        }
        let occurrence =
            Occurrence { key: civil.to_string(), starts_at, ends_at, adjusted: adjusted != Adjusted::No };
        match found.last_mut() {
            // A time that the clocks skip may be the same instant as one that they show, which then is the one meant.
            Some((last, was)) if last.starts_at == starts_at => {
                if *was == Adjusted::Gap {
                    (*last, *was) = (occurrence, adjusted);
                }
            }
            _ => found.push((occurrence, adjusted)),
        }
    }
    Ok(found.into_iter().map(|(occurrence, _)| occurrence).collect())
}

/// The civil starts of a series around a horizon, in order.
fn regular(
    when: &When,
    recurrence: &Recurrence,
    zone: &Zone,
    length: Length,
    horizon: Horizon,
    budget: &mut Budget,
) -> Result<Vec<DateTime>, Error> {
    let reach = length.days + length.seconds / 86_400 + 1;
    let wide = widen(zone.civil(horizon.from), zone.civil(horizon.to), reach);
    // RFC 5545 3.8.5.3: the start is the first of the series, also where no rule names it.
    let mut starts = vec![when.start];
    for rule in &recurrence.rules {
        starts.extend(dates(rule, when.start, zone, wide, budget)?);
    }
    starts.extend(&recurrence.more);
    starts.retain(|at| wide.0 <= *at && *at < wide.1);
    starts.sort_unstable();
    starts.dedup();
    if starts.len() > MAX_OCCURRENCES { Err(Error::TooOften) } else { Ok(starts) }
}

/// Tells whether a start is left out. One that the clocks skip may be named by the time that they show instead.
fn excludes(recurrence: &Recurrence, civil: DateTime, start: &Zoned) -> bool {
    recurrence.without.contains(&civil)
        || recurrence.without.contains(&start.datetime())
        || recurrence.without_days.contains(&civil.date())
}

/// How long an event lasts. Days are civil and may have 23 or 25 hours; seconds are exact, by RFC 5545 3.8.5.3.
#[derive(Clone, Copy, Debug)]
struct Length {
    days: i64,
    seconds: i64,
}

impl Length {
    fn of(when: &When, zone: &Zone) -> Result<Self, Error> {
        if when.all_day {
            let days = i64::from((when.end.date() - when.start.date()).get_days());
            return Ok(Self { days, seconds: 0 });
        }
        let (start, end) = (resolve(when.start, zone)?.0, resolve(when.end, zone)?.0);
        Ok(Self { days: 0, seconds: end.timestamp().as_second() - start.timestamp().as_second() })
    }

    fn after(self, start: &Zoned) -> Result<Zoned, Error> {
        let days = start.checked_add(self.days.days()).map_err(|_| Error::OutOfTime)?;
        days.checked_add(self.seconds.seconds()).map_err(|_| Error::OutOfTime)
    }
}
