//! Reader of a recurrence rule. A part that is unknown, comes twice or has a senseless value makes the rule invalid.

use std::ops::RangeInclusive;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;

use super::Anchor;

/// From the shortest to the longest period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Frequency {
    Secondly,
    Minutely,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// A rule with all that it takes from the first start. An empty list restricts nothing.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) frequency: Frequency,
    pub(super) interval: i64,
    pub(super) count: Option<usize>,
    pub(super) until: Option<DateTime>,
    pub(super) week_start: Weekday,
    pub(super) months: Vec<i32>,
    pub(super) weeks: Vec<i32>,
    pub(super) year_days: Vec<i32>,
    pub(super) month_days: Vec<i32>,
    /// Each with its number in the month or the year; 0 for all of them.
    pub(super) weekdays: Vec<(i32, Weekday)>,
    pub(super) hours: Vec<i32>,
    pub(super) minutes: Vec<i32>,
    pub(super) seconds: Vec<i32>,
    pub(super) positions: Vec<i32>,
}

impl Frequency {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "SECONDLY" => Self::Secondly,
            "MINUTELY" => Self::Minutely,
            "HOURLY" => Self::Hourly,
            "DAILY" => Self::Daily,
            "WEEKLY" => Self::Weekly,
            "MONTHLY" => Self::Monthly,
            "YEARLY" => Self::Yearly,
            _ => return None,
        })
    }

    /// The days of a period, at most.
    pub(super) fn days(self) -> usize {
        match self {
            Self::Secondly | Self::Minutely | Self::Hourly | Self::Daily => 1,
            Self::Weekly => 7,
            Self::Monthly => 31,
            Self::Yearly => 366,
        }
    }

    /// The seconds of a period, where all have the same.
    pub(super) fn seconds(self) -> Option<i64> {
        Some(match self {
            Self::Secondly => 1,
            Self::Minutely => 60,
            Self::Hourly => 3600,
            Self::Daily => 86_400,
            Self::Weekly => 7 * 86_400,
            Self::Monthly | Self::Yearly => return None,
        })
    }

    /// The months of a period that has a whole number of them.
    pub(super) fn months(self) -> i64 {
        if self == Self::Yearly { 12 } else { 1 }
    }
}

impl Rule {
    /// Reads a rule, and takes from the first start what the rule does not say.
    pub(super) fn parse(text: &str, Anchor { start, zone, all_day }: Anchor<'_>) -> Result<Self, String> {
        let text = text.to_ascii_uppercase();
        let mut parts: Vec<(&str, &str)> = Vec::new();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let part = part.split_once('=').ok_or_else(|| format!("`{part}` has no value"))?;
            if parts.contains(&part) {
                continue;
            }
            if parts.iter().any(|(name, _)| *name == part.0) {
                return Err(format!("`{}` comes twice", part.0));
            }
            parts.push(part);
        }
        let frequency = parts.iter().find(|(name, _)| *name == "FREQ").ok_or("it has no `FREQ`")?.1;
        let mut rule = Self {
            frequency: Frequency::named(frequency).ok_or_else(|| format!("`FREQ={frequency}` is unknown"))?,
            interval: 1,
            count: None,
            until: None,
            week_start: Weekday::Monday,
            months: Vec::new(),
            weeks: Vec::new(),
            year_days: Vec::new(),
            month_days: Vec::new(),
            weekdays: Vec::new(),
            hours: Vec::new(),
            minutes: Vec::new(),
            seconds: Vec::new(),
            positions: Vec::new(),
        };
        for (name, value) in parts {
            match name {
                "FREQ" => {}
                "INTERVAL" => rule.interval = number(name, value, 1..=i32::MAX)?.into(),
                "COUNT" => rule.count = usize::try_from(number(name, value, 1..=i32::MAX)?).ok(),
                "UNTIL" => {
                    let until = until(value, zone, all_day);
                    rule.until = Some(until.ok_or_else(|| format!("`UNTIL={value}` is not a date"))?);
                }
                "WKST" => rule.week_start = weekday(value)?,
                "BYMONTH" => rule.months = numbers(name, value, 1..=12)?,
                "BYWEEKNO" => rule.weeks = numbers(name, value, -53..=53)?,
                "BYYEARDAY" => rule.year_days = numbers(name, value, -366..=366)?,
                "BYMONTHDAY" => rule.month_days = numbers(name, value, -31..=31)?,
                "BYDAY" => {
                    for day in value.split(',') {
                        let (count, day) = day
                            .trim()
                            .split_at_checked(day.trim().len().saturating_sub(2))
                            .unwrap_or_default();
                        let count = if count.is_empty() { 0 } else { number(name, count, -53..=53)? };
                        rule.weekdays.push((count, weekday(day)?));
                    }
                }
                "BYHOUR" => rule.hours = numbers(name, value, 0..=23)?,
                "BYMINUTE" => rule.minutes = numbers(name, value, 0..=59)?,
                "BYSECOND" => rule.seconds = numbers(name, value, 0..=60)?,
                "BYSETPOS" => rule.positions = numbers(name, value, -366..=366)?,
                // RFC 7529: the default of every rule without these parts.
                "RSCALE" if value == "GREGORIAN" => {}
                "SKIP" if value == "OMIT" => {}
                name if name.starts_with("X-") => {}
                _ => return Err(format!("`{name}={value}` is not a part that is known")),
            }
        }
        rule.check(all_day)?;
        if all_day {
            (rule.hours, rule.minutes, rule.seconds) = (Vec::new(), Vec::new(), Vec::new());
        }
        rule.complete(start);
        Ok(rule)
    }

    /// Rejects what RFC 5545 3.3.10 says that a rule must not have.
    fn check(&self, all_day: bool) -> Result<(), String> {
        let frequency = self.frequency;
        let (monthly, yearly) = (frequency == Frequency::Monthly, frequency == Frequency::Yearly);
        let numbered = self.weekdays.iter().any(|(count, _)| *count != 0);
        let lists = [&self.months, &self.weeks, &self.year_days, &self.month_days];
        let times = [&self.hours, &self.minutes, &self.seconds];
        let alone = self.weekdays.is_empty() && lists.into_iter().chain(times).all(Vec::is_empty);
        let faults = [
            (all_day && frequency < Frequency::Daily, "whole days repeat daily at most"),
            (!yearly && !self.weeks.is_empty(), "`BYWEEKNO` needs `FREQ=YEARLY`"),
            (
                matches!(frequency, Frequency::Daily | Frequency::Weekly | Frequency::Monthly)
                    && !self.year_days.is_empty(),
                "`BYYEARDAY` does not go with its frequency",
            ),
            (
                frequency == Frequency::Weekly && !self.month_days.is_empty(),
                "`BYMONTHDAY` does not go with `FREQ=WEEKLY`",
            ),
            (
                numbered && !monthly && !(yearly && self.weeks.is_empty()),
                "a number in `BYDAY` needs `FREQ=MONTHLY`, or `FREQ=YEARLY` without `BYWEEKNO`",
            ),
            (!self.positions.is_empty() && alone, "`BYSETPOS` needs another `BY` part"),
        ];
        faults.iter().find(|(fault, _)| *fault).map_or(Ok(()), |(_, why)| Err((*why).to_owned()))
    }

    /// Adds what the rule does not say, from the first start.
    fn complete(&mut self, start: DateTime) {
        let no_day = self.weekdays.is_empty() && self.month_days.is_empty() && self.year_days.is_empty();
        match self.frequency {
            Frequency::Weekly if no_day => self.weekdays = vec![(0, start.weekday())],
            // RFC 5545 3.3.10: the day of the week is that of the first start.
            Frequency::Yearly if no_day && !self.weeks.is_empty() => {
                self.weekdays = vec![(0, start.weekday())];
            }
            Frequency::Monthly | Frequency::Yearly if no_day => {
                self.month_days = vec![start.day().into()];
                if self.frequency == Frequency::Yearly && self.months.is_empty() {
                    self.months = vec![start.month().into()];
                }
            }
            _ => {}
        }
        let times = [
            (Frequency::Hourly, &mut self.hours, start.hour()),
            (Frequency::Minutely, &mut self.minutes, start.minute()),
            (Frequency::Secondly, &mut self.seconds, start.second()),
        ];
        for (frequency, list, of_start) in times {
            if self.frequency > frequency && list.is_empty() {
                list.push(of_start.into());
            }
            list.sort_unstable();
            list.dedup();
        }
    }
}

fn number(name: &str, value: &str, range: RangeInclusive<i32>) -> Result<i32, String> {
    let (least, most) = (*range.start(), *range.end());
    let found = value.trim().parse().ok().filter(|n| range.contains(n) && (*n != 0 || least == 0));
    let is_large = value.len() > 9 && value.bytes().all(|byte| byte.is_ascii_digit());
    found.ok_or_else(|| match (least, most) {
        (_, i32::MAX) if is_large => format!("`{value}` in `{name}` is more than {most}"),
        (_, i32::MAX) => format!("`{value}` in `{name}` is not a number that is at least {least}"),
        (..=-1, _) => format!("`{value}` in `{name}` is not a number from 1 to {most} or from {least} to -1"),
        _ => format!("`{value}` in `{name}` is not a number from {least} to {most}"),
    })
}

fn numbers(name: &str, value: &str, range: RangeInclusive<i32>) -> Result<Vec<i32>, String> {
    value.split(',').map(|one| number(name, one, range.clone())).collect()
}

fn weekday(value: &str) -> Result<Weekday, String> {
    Ok(match value {
        "MO" => Weekday::Monday,
        "TU" => Weekday::Tuesday,
        "WE" => Weekday::Wednesday,
        "TH" => Weekday::Thursday,
        "FR" => Weekday::Friday,
        "SA" => Weekday::Saturday,
        "SU" => Weekday::Sunday,
        _ => return Err(format!("`{value}` is not a weekday")),
    })
}

/// Reads `UNTIL` as the civil time in `zone`. A day alone means all of it, and so does a time for a series of days.
fn until(value: &str, zone: &TimeZone, all_day: bool) -> Option<DateTime> {
    let digits = value.strip_suffix('Z').unwrap_or(value);
    let day = Date::strptime("%Y%m%d", digits.get(..8)?).ok()?;
    if digits.len() == 8 || all_day {
        return Some(day.to_datetime(Time::constant(23, 59, 59, 0)));
    }
    let civil = DateTime::strptime("%Y%m%dT%H%M%S", digits).ok()?;
    // Some programs write the year 9999 for a series without an end; its last days are beyond all instants.
    match TimeZone::UTC.to_timestamp(civil) {
        Ok(at) if value.ends_with('Z') => Some(zone.to_datetime(at)),
        _ => Some(civil),
    }
}
