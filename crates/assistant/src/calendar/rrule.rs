//! Expansion of a recurrence rule (RFC 5545 3.3.10) in floating civil time; the caller resolves time zones.
//!
//! A rule is followed period by period of its frequency: the days of a period, the times of each day, and of all of
//! them the positions that the rule names.

mod rule;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, ToSpan as _};

use super::error::Error;
use super::limits::MAX_OCCURRENCES;
use rule::{Frequency, Rule};

/// Maximum steps of one rule: periods, days that are checked (32 for a step), and dates.
const MAX_STEPS: usize = 200_000;
/// Days in which a rule without dates is recognized: after 28 years the weekdays are on the same days again.
const CYCLE_DAYS: usize = 28 * 366;
/// The cost of that search.
const EMPTY_RULE_STEPS: usize = 1000;

/// How much work the rules of one import may make together.
#[derive(Debug)]
pub struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(20_000_000)
    }
}

impl Budget {
    fn take(&mut self, steps: usize) -> Result<(), Error> {
        self.0 = self.0.checked_sub(steps).ok_or(Error::TooMuchWork)?;
        Ok(())
    }
}

/// The first start of a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor<'a> {
    pub(crate) start: DateTime,
    /// The zone that an `UNTIL` in UTC is compared in.
    pub(crate) zone: &'a TimeZone,
    /// The series is of whole days: times in its rules are ignored.
    pub(crate) all_day: bool,
}

/// Returns the dates of a rule from `from` to before `to`, in order.
///
/// # Errors
/// Fails where the rule is not valid, names no date, names too many, or takes too much work.
pub(crate) fn dates(
    text: &str,
    anchor: Anchor<'_>,
    (from, to): (DateTime, DateTime),
    budget: &mut Budget,
) -> Result<Vec<DateTime>, Error> {
    budget.take(0)?;
    let rule = Rule::parse(text, anchor).map_err(|why| Error::BadRule(text.to_owned(), why))?;
    let first = rule.first_period(anchor.start);
    let mut number =
        if rule.count.is_some() { 0 } else { rule.periods(first, from).saturating_sub(1).max(0) };
    // The first week of a year may begin in the year before.
    let end = to.checked_add(4.days()).unwrap_or(DateTime::MAX);
    let until = rule.until.unwrap_or(DateTime::MAX);
    let (mut found, mut count, mut steps) = (Vec::new(), 0, 0);
    'periods: while let Some(period) = rule.period(first, number).filter(|period| *period < end) {
        let next = rule.next_possible(period);
        let days = if next.is_some() { Vec::new() } else { rule.days(period) };
        let times = if days.is_empty() { Vec::new() } else { rule.times(period) };
        let cost = rule.frequency.days() / 32 + 1 + days.len() * times.len();
        steps += cost;
        budget.take(cost)?;
        if steps > MAX_STEPS {
            return Err(Error::TooMuchWork);
        }
        for at in rule.at_positions(&days, &times) {
            if at < anchor.start {
                continue;
            }
            if at > until || at >= to || rule.count.is_some_and(|all| count >= all) {
                break 'periods;
            }
            count += 1;
            if at >= from {
                found.push(at);
                if found.len() > MAX_OCCURRENCES {
                    return Err(Error::TooOften);
                }
            }
        }
        number = next.map_or(0, |next| rule.periods(first, next)).max(number + 1);
    }
    if count == 0 && rule.until.is_none() {
        budget.take(EMPTY_RULE_STEPS)?;
        if !anchor.start.date().series(1.day()).take(CYCLE_DAYS).any(|day| rule.has(day)) {
            return Err(Error::EmptyRule(text.to_owned()));
        }
    }
    Ok(found)
}

/// Returns whether a rule ends before the first start.
pub(crate) fn ends_before_start(text: &str, anchor: Anchor<'_>) -> bool {
    Rule::parse(text, anchor).is_ok_and(|rule| rule.until.is_some_and(|until| until < anchor.start))
}

impl Rule {
    /// Returns where the first period begins.
    fn first_period(&self, start: DateTime) -> DateTime {
        let date = match self.frequency {
            Frequency::Secondly | Frequency::Minutely | Frequency::Hourly => return start,
            Frequency::Daily => start.date(),
            Frequency::Weekly => week_of(start.date(), self.week_start),
            Frequency::Monthly => start.date().first_of_month(),
            Frequency::Yearly if self.weeks.is_empty() => start.date().first_of_year(),
            // The year that the week belongs to has its middle.
            Frequency::Yearly => {
                let middle = week_of(start.date(), self.week_start).checked_add(3.days());
                middle.unwrap_or(start.date()).first_of_year()
            }
        };
        date.to_datetime(Time::midnight())
    }

    /// Returns the number of the last period that begins by `at`, from 0.
    fn periods(&self, first: DateTime, at: DateTime) -> i64 {
        let months = |at: DateTime| i64::from(at.year()) * 12 + i64::from(at.month());
        let passed = match self.frequency.seconds() {
            Some(seconds) => at.duration_since(first).as_secs().div_euclid(seconds),
            None => (months(at) - months(first)).div_euclid(self.frequency.months()),
        };
        passed.div_euclid(self.interval)
    }

    /// Returns where a period begins; `None` after the year 9999.
    fn period(&self, first: DateTime, number: i64) -> Option<DateTime> {
        let passed = number.checked_mul(self.interval)?;
        if let Some(seconds) = self.frequency.seconds() {
            return first.checked_add(SignedDuration::from_secs(passed.checked_mul(seconds)?)).ok();
        }
        let month = i64::from(first.month()) - 1 + passed.checked_mul(self.frequency.months())?;
        let year = i64::from(first.year()) + month.div_euclid(12);
        let month = i8::try_from(month.rem_euclid(12) + 1).ok()?;
        Some(Date::new(i16::try_from(year).ok()?, month, 1).ok()?.to_datetime(Time::midnight()))
    }

    /// Returns the next time that the rule may name, where it leaves out the day, the hour, or the minute of a short
    /// period: all periods until then are passed over together.
    fn next_possible(&self, period: DateTime) -> Option<DateTime> {
        let date = period.date();
        let lists = |list: &[i32], n: i8| list.is_empty() || list.contains(&n.into());
        let next = match self.frequency {
            Frequency::Secondly | Frequency::Minutely | Frequency::Hourly if !self.has(date) => {
                date.to_datetime(Time::midnight()).checked_add(1.day())
            }
            Frequency::Secondly | Frequency::Minutely | Frequency::Hourly
                if !lists(&self.hours, period.hour()) =>
            {
                date.at(period.hour(), 0, 0, 0).checked_add(1.hour())
            }
            Frequency::Secondly | Frequency::Minutely if !lists(&self.minutes, period.minute()) => {
                date.at(period.hour(), period.minute(), 0, 0).checked_add(1.minute())
            }
            _ => return None,
        };
        Some(next.unwrap_or(DateTime::MAX))
    }

    /// Returns the days of a period, in order.
    fn days(&self, period: DateTime) -> Vec<Date> {
        let month = |first: Date| first.series(1.day()).take(first.days_in_month().unsigned_abs().into());
        let count = match self.frequency {
            Frequency::Yearly if !self.weeks.is_empty() => return self.days_of_weeks(period.date()),
            Frequency::Yearly => {
                let months = (1..=12)
                    .filter(|month| self.months.is_empty() || self.months.contains(&i32::from(*month)));
                let days = months.filter_map(|month| Date::new(period.year(), month, 1).ok()).flat_map(month);
                return days.filter(|day| self.has(*day)).collect();
            }
            Frequency::Monthly => return month(period.date()).filter(|day| self.has(*day)).collect(),
            Frequency::Weekly => 7,
            _ => 1,
        };
        period.date().series(1.day()).take(count).filter(|day| self.has(*day)).collect()
    }

    /// Returns the days of the weeks of a year. The first week has at least four days in it.
    fn days_of_weeks(&self, year: Date) -> Vec<Date> {
        let first = |year: Date| Some(week_of(year.checked_add(3.days()).ok()?, self.week_start));
        let next = year.checked_add(1.year()).ok();
        let (Some(begin), Some(end)) = (first(year), next.and_then(first)) else { return Vec::new() };
        let weeks = i32::try_from(end.duration_since(begin).as_hours() / (7 * 24)).unwrap_or(52);
        let week =
            (1..=weeks).zip(begin.series(7.days())).filter(|(week, _)| listed(&self.weeks, *week, weeks));
        week.flat_map(|(_, day)| day.series(1.day()).take(7)).filter(|day| self.has(*day)).collect()
    }

    /// Returns whether the rule has times on a day, not considering its week numbers (`BYWEEKNO`).
    fn has(&self, day: Date) -> bool {
        let (month_days, year_days): (i32, i32) = (day.days_in_month().into(), day.days_in_year().into());
        let (month_day, year_day): (i32, i32) = (day.day().into(), day.day_of_year().into());
        // A number counts within the month where the rule has months, and within the year otherwise.
        let (at, all) = if self.frequency == Frequency::Monthly || !self.months.is_empty() {
            (month_day, month_days)
        } else {
            (year_day, year_days)
        };
        let counts = |count: i32| count == (at - 1) / 7 + 1 || count == -((all - at) / 7 + 1);
        let named =
            |(count, weekday): &(i32, Weekday)| *weekday == day.weekday() && (*count == 0 || counts(*count));
        (self.months.is_empty() || self.months.contains(&day.month().into()))
            && listed(&self.month_days, month_day, month_days)
            && listed(&self.year_days, year_day, year_days)
            && (self.weekdays.is_empty() || self.weekdays.iter().any(named))
    }

    /// Returns the times on each day of a period, in order.
    fn times(&self, period: DateTime) -> Vec<Time> {
        let of = |frequency: Frequency, list: &[i32], at: i8| {
            if self.frequency <= frequency && (list.is_empty() || list.contains(&at.into())) {
                vec![at]
            } else if self.frequency <= frequency {
                Vec::new()
            } else {
                // A leap second counts as the last one that clocks know.
                list.iter().filter_map(|n| i8::try_from(*n).ok()).map(|n| n.min(59)).collect()
            }
        };
        let hours = of(Frequency::Hourly, &self.hours, period.hour());
        let minutes = of(Frequency::Minutely, &self.minutes, period.minute());
        let seconds = of(Frequency::Secondly, &self.seconds, period.second());
        let mut times = Vec::with_capacity(hours.len() * minutes.len() * seconds.len());
        for hour in &hours {
            for minute in &minutes {
                times.extend(seconds.iter().filter_map(|second| Time::new(*hour, *minute, *second, 0).ok()));
            }
        }
        times.dedup();
        times
    }

    /// Returns the dates of a period that the rule names by their positions, or all of them.
    fn at_positions(&self, days: &[Date], times: &[Time]) -> Vec<DateTime> {
        let all = days.len() * times.len();
        let dates = days.iter().flat_map(|day| times.iter().map(|time| day.to_datetime(*time)));
        let position = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let named = |(n, _): &(usize, DateTime)| listed(&self.positions, position(n + 1), position(all));
        dates.enumerate().filter(named).map(|(_, at)| at).collect()
    }
}

/// Returns whether a list has a number that counts from the beginning or, as a negative one, from the end of `all`.
fn listed(list: &[i32], n: i32, all: i32) -> bool {
    list.is_empty() || list.contains(&n) || list.contains(&(n - all - 1))
}

/// Returns the first day of the week of a day.
fn week_of(day: Date, week_start: Weekday) -> Date {
    day.checked_sub(i64::from(day.weekday().since(week_start)).days()).unwrap_or(Date::MIN)
}

/// The days around a window in which a civil time may fall into it: no zone is further than a day from UTC.
pub(super) fn widen(from: DateTime, to: DateTime, length_days: i64) -> (DateTime, DateTime) {
    let wide = |at: DateTime, days: i64, end: DateTime| {
        at.checked_add(SignedDuration::from_secs(days.saturating_mul(86_400))).unwrap_or(end)
    };
    (wide(from, -2 - length_days, DateTime::MIN), wide(to, 2, DateTime::MAX))
}
