//! Expansion of a recurrence rule in floating civil time. The rrule crate counts in UTC, and its results are read as
//! local times; the caller resolves time zones.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rrule::RRuleSet;

use super::error::Error;
use super::limits::MAX_OCCURRENCES;
use crate::time_zone::Zone;

/// So many periods of its frequency one rule may be followed through, dates and gaps together.
const MAX_STEPS: i64 = 200_000;
/// The cost of a rule that was followed to its end and named no date. Honest calendars have none, so a few are enough to
/// give up.
const FRUITLESS: i64 = 4_000_000;

/// How much work the rules of one import may make together.
#[derive(Debug)]
pub struct Budget(i64);

impl Default for Budget {
    fn default() -> Self {
        Self(20_000_000)
    }
}

impl Budget {
    fn take(&mut self, steps: i64) -> Result<(), Error> {
        self.0 -= steps;
        if self.0 < 0 { Err(Error::TooMuchWork) } else { Ok(()) }
    }
}

/// Parts of a rule that the rrule crate does not handle here.
struct Parts {
    /// Seconds from one period to the next, at least.
    period: i64,
    /// Whether a later start in step with the first gives the same dates.
    shifts: bool,
    until: Option<DateTime>,
    /// The rule without its `UNTIL`.
    rest: String,
}

/// Returns the dates of `rule` from `from` (or a little earlier) to before `to`, in order. `start` is where it begins,
/// `zone` the one its `UNTIL` is compared in.
pub(super) fn dates(
    rule: &str,
    start: DateTime,
    zone: &Zone,
    (from, to): (DateTime, DateTime),
    budget: &mut Budget,
) -> Result<Vec<DateTime>, Error> {
    // A rule that names nothing is followed to its end before that is known: where the work is spent, none is begun.
    budget.take(0)?;
    let parts = parts(rule, zone)?;
    if parts.until.is_some_and(|until| until < start || until < from) || start >= to {
        return Ok(Vec::new());
    }
    let begin = if parts.shifts { shift(start, from, parts.period)? } else { start };
    let until = parts.until.map(|until| format!(";UNTIL={}Z", text(until))).unwrap_or_default();
    let set: RRuleSet = format!("DTSTART:{}Z\nRRULE:{}{until}", text(begin), parts.rest)
        .parse()
        .map_err(|error: rrule::RRuleError| Error::BadRule(rule.to_owned(), error.to_string()))?;

    let mut found = Vec::new();
    let mut steps = 0;
    let mut last = begin;
    let mut fruitless = true;
    for date in &set.limit() {
        let at = civil(date.timestamp())?;
        let gap = at.duration_since(last).as_secs();
        let cost = 1 + gap / parts.period;
        (steps, last, fruitless) = (steps + cost, at, false);
        budget.take(cost)?;
        if at >= to {
            break;
        }
        if steps > MAX_STEPS {
            return Err(Error::TooMuchWork);
        }
        if at >= from {
            found.push(at);
            if found.len() > MAX_OCCURRENCES {
                return Err(Error::TooOften);
            }
        }
    }
    if fruitless {
        budget.take(FRUITLESS)?;
        if parts.until.is_none() {
            return Err(Error::EmptyRule(rule.to_owned()));
        }
    }
    Ok(found)
}

/// Reads the parts of a rule. A rule that no year can fulfil is refused here, before anything looks for its dates.
fn parts(rule: &str, zone: &Zone) -> Result<Parts, Error> {
    let bad = |why: &str| Error::BadRule(rule.to_owned(), why.to_owned());
    let (mut unit, mut interval, mut counted) = (None, 1_i64, false);
    let (mut until, mut months, mut days) = (None, Vec::new(), Vec::new());
    let mut rest = Vec::new();
    for part in rule.split(';').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| bad("a part has no value"))?;
        let numbers = || value.split(',').filter_map(|number| number.parse::<i64>().ok()).collect::<Vec<_>>();
        match name {
            "FREQ" => {
                unit = Some(match value {
                    "SECONDLY" => (1, true),
                    "MINUTELY" => (60, true),
                    "HOURLY" => (3600, true),
                    "DAILY" => (86_400, true),
                    "WEEKLY" => (7 * 86_400, true),
                    "MONTHLY" => (28 * 86_400, false),
                    "YEARLY" => (365 * 86_400, false),
                    _ => return Err(bad("its frequency is unknown")),
                });
            }
            "INTERVAL" => {
                interval =
                    value.parse().ok().filter(|n| *n > 0).ok_or_else(|| bad("its interval is not one"))?;
            }
            "COUNT" => counted = true,
            "BYMONTH" => months = numbers(),
            "BYMONTHDAY" => days = numbers(),
            _ => {}
        }
        if name == "UNTIL" {
            until = Some(self::until(value, zone).ok_or_else(|| bad("its `UNTIL` is not a date"))?);
        } else {
            rest.push(part);
        }
    }
    let longest = |month: &i64| match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !days.is_empty()
        && !months.is_empty()
        && days.iter().all(|day| months.iter().all(|month| day.abs() > longest(month)))
    {
        return Err(Error::EmptyRule(rule.to_owned()));
    }
    let (unit, steady) = unit.ok_or_else(|| bad("it has no frequency"))?;
    Ok(Parts {
        period: interval.saturating_mul(unit),
        shifts: steady && !counted,
        until,
        rest: rest.join(";"),
    })
}

/// Reads `UNTIL` as the civil time in `zone`. A day alone means all of it.
fn until(value: &str, zone: &Zone) -> Option<DateTime> {
    let digits = value.trim_end_matches('Z');
    match digits.len() {
        8 => Some(Date::strptime("%Y%m%d", digits).ok()?.to_datetime(Time::constant(23, 59, 59, 0))),
        15 => {
            let civil = DateTime::strptime("%Y%m%dT%H%M%S", digits).ok()?;
            // Some say so that a series has no end: the last days of 9999 are instants no more.
            match TimeZone::UTC.to_timestamp(civil) {
                Ok(at) if value.ends_with('Z') => Some(zone.civil(at)),
                _ => Some(civil),
            }
        }
        _ => None,
    }
}

/// Moves a start towards `from` by whole periods, so that a series of twenty years costs what one of a week does.
fn shift(start: DateTime, from: DateTime, period: i64) -> Result<DateTime, Error> {
    let periods = from.duration_since(start).as_secs() / period - 1;
    if periods <= 0 {
        return Ok(start);
    }
    start.checked_add(SignedDuration::from_secs(periods * period)).map_err(|_| Error::OutOfTime)
}

fn text(at: DateTime) -> String {
    at.strftime("%Y%m%dT%H%M%S").to_string()
}

fn civil(seconds: i64) -> Result<DateTime, Error> {
    let at = Timestamp::from_second(seconds).map_err(|_| Error::OutOfTime)?;
    Ok(TimeZone::UTC.to_datetime(at))
}

/// The days around a window in which a civil time may fall into it: no zone is further than a day from UTC.
pub(super) fn widen(from: DateTime, to: DateTime, length_days: i64) -> (DateTime, DateTime) {
    let wide = |at: DateTime, days: i64, end: DateTime| {
        at.checked_add(SignedDuration::from_secs(days.saturating_mul(86_400))).unwrap_or(end)
    };
    (wide(from, -2 - length_days, DateTime::MIN), wide(to, 2, DateTime::MAX))
}
