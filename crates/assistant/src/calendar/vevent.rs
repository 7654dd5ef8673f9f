//! Reader of one `VEVENT`: calcard's properties to an event's details.

use std::borrow::Cow;

use calcard::common::IanaString as _;
use calcard::icalendar::{
    ICalendarComponent, ICalendarComponentType, ICalendarEntry, ICalendarParameterName,
    ICalendarParameterValue, ICalendarProperty, ICalendarStatus,
};
use calcard::{Entry as Parsed, Parser};
use jiff::Timestamp;

use super::content_lines::{lines, name, own_lines, parameter, value, zone};
use super::datetime::{Clock, Stamp, end_of, resolve};
use super::error::Error;
use super::limits::{MAX_DATES, MAX_RULE_BYTES};
use super::tzid::Zones;
use crate::event::{Attendee, EventDetails, EventStatus, Length, Period, Recurrence, When};
use crate::time_zone::Zone;
use adjutant_base::text::hex;

/// Maximum attendees that an event keeps; a note has the number of all.
const MAX_ATTENDEES: usize = 1000;

/// Maximum days and seconds of a duration: more seconds than all years have.
const MAX_LENGTH: i64 = 400_000_000_000;

/// Seconds of a day of 24 hours.
const DAY_SECONDS: i64 = 86_400;

/// How often the author of an event changed it, where that is said, and when (RFC 5546 2.1.5).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    pub(super) sequence: Option<i64>,
    stamp: Option<Timestamp>,
}

impl Version {
    /// Reads the version of a component.
    pub(crate) fn of(text: &str) -> Self {
        Self::of_lines(own_lines(text))
    }

    fn of_lines<'a>(lines: impl Iterator<Item = Cow<'a, str>>) -> Self {
        let (mut sequence, mut stamp) = (None, None);
        for line in lines {
            let property = match name(&line) {
                name if name.eq_ignore_ascii_case("SEQUENCE") => &mut sequence,
                name if name.eq_ignore_ascii_case("DTSTAMP") => &mut stamp,
                _ => continue,
            };
            property.get_or_insert_with(|| value(&line).to_owned());
        }
        let stamp = stamp.and_then(|value| Stamp::parse(&value, None)?.instant(&Zone::utc()).ok());
        Self { sequence: sequence.and_then(|value| value.parse().ok()), stamp }
    }

    /// Returns whether it is older than another version. A time counts only where both have one.
    pub(crate) fn is_older(self, other: Self) -> bool {
        let (own, others) = (self.sequence.unwrap_or(0), other.sequence.unwrap_or(0));
        let stamps = self.stamp.zip(other.stamp);
        own < others || own == others && stamps.is_some_and(|(own, other)| own < other)
    }
}

/// A `VEVENT` as it was read.
#[derive(Debug)]
pub(super) struct Component<'a> {
    pub(super) uid: String,
    /// The occurrence of the series that it replaces.
    pub(super) replaces: Option<Stamp>,
    /// Whether it changes those after it too (`RANGE=THISANDFUTURE`, RFC 5545 3.2.13).
    pub(super) rest: bool,
    pub(super) title: String,
    pub(super) status: EventStatus,
    pub(super) details: EventDetails,
    pub(super) version: Version,
    /// Properties that are imported in another way than they are written.
    pub(super) remarks: Vec<Error>,
    pub(super) text: &'a str,
}

/// Reads the text of a `VEVENT`.
pub(super) fn component<'a>(text: &'a str, zones: &Zones) -> Result<Component<'a>, Error> {
    let Parsed::ICalendar(parsed) = Parser::new(text).entry() else { return Err(Error::Unreadable) };
    let event = parsed
        .components
        .first()
        .filter(|component| component.component_type == ICalendarComponentType::VEvent)
        .ok_or(Error::Unreadable)?;
    let mut dates = Dates::of(text, zones);
    let when = dates.when()?;
    let words = |name: &ICalendarProperty| {
        let value = event.property(name).and_then(|entry| entry.values.first()?.as_text());
        value.unwrap_or_default().trim().to_owned()
    };
    let mut notes = Vec::new();
    let mut attendees: Vec<_> = event.properties(&ICalendarProperty::Attendee).filter_map(attendee).collect();
    if attendees.len() > MAX_ATTENDEES {
        notes.push(format!("{} people are invited; the first {MAX_ATTENDEES} are kept", attendees.len()));
        attendees.truncate(MAX_ATTENDEES);
    }
    let recurrence = dates.recurrence(&when)?;
    let replaces = dates.one("RECURRENCE-ID")?;
    let mut remarks = std::mem::take(&mut dates.remarks);
    let uid = event.uid().map(str::trim).filter(|uid| !uid.is_empty());
    remarks.extend(uid.is_none().then_some(Error::NoUid));
    let uid = uid.map_or_else(|| content_uid(text), str::to_owned);
    let range = replaces.as_ref().and_then(|_| dates.range());
    let rest = range.as_deref().is_some_and(|range| range.eq_ignore_ascii_case("THISANDFUTURE"));
    remarks.extend(range.filter(|_| !rest).map(Error::UnknownRange));
    let details = EventDetails {
        recurrence,
        when,
        description: words(&ICalendarProperty::Description),
        location: words(&ICalendarProperty::Location),
        conference: [words(&ICalendarProperty::Conference)]
            .into_iter()
            .chain([other(event, "X-GOOGLE-CONFERENCE"), other(event, "X-MICROSOFT-SKYPETEAMSMEETINGURL")])
            .chain([words(&ICalendarProperty::Url)])
            .find(|link| !link.is_empty())
            .unwrap_or_default(),
        organizer: event
            .property(&ICalendarProperty::Organizer)
            .and_then(attendee)
            .map(|one| if one.email.is_empty() { one.name } else { one.email })
            .unwrap_or_default(),
        attendees,
        notes,
    };
    Ok(Component {
        uid,
        replaces,
        rest,
        // A title is one line, in lists and in the subjects of mails.
        title: words(&ICalendarProperty::Summary)
            .split(char::is_control)
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" "),
        status: match event.status() {
            Some(ICalendarStatus::Cancelled) => EventStatus::Cancelled,
            Some(ICalendarStatus::Tentative) => EventStatus::Tentative,
            _ => EventStatus::Confirmed,
        },
        details,
        version: Version::of_lines(dates.lines.into_iter()),
        remarks,
        text,
    })
}

/// Returns a uid for an event without one, so that it is the same event when it is read again: all of its lines but
/// those that change with every copy.
fn content_uid(text: &str) -> String {
    let copied = ["DTSTAMP", "CREATED", "LAST-MODIFIED"];
    let lines = lines(text).map(|(_, line)| line);
    let lines = lines.filter(|line| !copied.iter().any(|copied| name(line).eq_ignore_ascii_case(copied)));
    let content = lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>().join("\n");
    format!("content-{}", &hex::sha256(content)[..32])
}

/// The first value of a property that RFC 5545 does not know.
fn other(event: &ICalendarComponent, name: &str) -> String {
    let value = event.entries.iter().find_map(|entry| match &entry.name {
        ICalendarProperty::Other(found) if found.eq_ignore_ascii_case(name) => {
            entry.values.first()?.as_text()
        }
        _ => None,
    });
    value.unwrap_or_default().to_owned()
}

fn attendee(entry: &ICalendarEntry) -> Option<Attendee> {
    let value = entry.values.first()?.as_text()?;
    let email = match value.split_once(':') {
        Some((scheme, address)) if scheme.eq_ignore_ascii_case("mailto") => address,
        _ => value,
    };
    let parameter = |name: &ICalendarParameterName| {
        entry.parameters(name).find_map(|value| value.as_text()).unwrap_or_default().to_owned()
    };
    let answer = entry.parameters(&ICalendarParameterName::Partstat).find_map(|value| match value {
        ICalendarParameterValue::Partstat(answer) => Some(answer.as_str()),
        other => other.as_text(),
    });
    Some(Attendee {
        name: parameter(&ICalendarParameterName::Cn),
        email: email.trim().to_owned(),
        answer: answer.unwrap_or_default().to_ascii_lowercase(),
    })
}

/// The properties of an event that say when it happens, as they are written: calcard keeps only what it knows of them.
struct Dates<'a> {
    lines: Vec<Cow<'a, str>>,
    zones: &'a Zones,
    /// Remarks on values that are imported in another way than they are written.
    remarks: Vec<Error>,
}

/// A date that an event lists.
struct Listed {
    at: Stamp,
    /// Where it is a period, how it ends.
    end: Option<End>,
}

enum End {
    At(Stamp),
    After(Length),
}

impl<'a> Dates<'a> {
    fn of(text: &'a str, zones: &'a Zones) -> Self {
        const NAMES: [&str; 10] = [
            "DTSTART",
            "DTEND",
            "DURATION",
            "RRULE",
            "RDATE",
            "EXDATE",
            "EXRULE",
            "RECURRENCE-ID",
            "SEQUENCE",
            "DTSTAMP",
        ];
        let known = |line: &Cow<'_, str>| NAMES.iter().any(|known| name(line).eq_ignore_ascii_case(known));
        Self { lines: own_lines(text).filter(known).collect(), zones, remarks: Vec::new() }
    }

    /// Returns the lines of a property.
    fn lines(&self, property: &str) -> impl Iterator<Item = &str> {
        let lines = self.lines.iter().map(|line| &**line);
        lines.filter(move |line| name(line).eq_ignore_ascii_case(property))
    }

    /// Returns the range of a changed occurrence.
    fn range(&self) -> Option<String> {
        let line = self.lines("RECURRENCE-ID").next()?;
        parameter(line, "RANGE").map(|at| line[at].chars().take(40).collect())
    }

    /// Returns the values of a rule. An empty one says nothing.
    fn rules(&self, property: &str) -> Vec<String> {
        // Some programs escape it as if it were a text.
        let values = self.lines(property).map(|line| value(line).replace('\\', ""));
        values.filter(|rule| !rule.is_empty()).collect()
    }

    /// Returns the values of a property, each with its zone.
    fn values(&mut self, property: &str) -> Vec<(String, Option<Zone>)> {
        let (mut found, mut unknown) = (Vec::new(), Vec::new());
        for line in self.lines(property) {
            let place = zone(line).map(|at| line[at].trim()).filter(|id| !id.is_empty());
            let place = place.and_then(|id| {
                let zone = self.zones.get(id);
                unknown.extend(zone.is_none().then(|| Error::UnknownZone(id.to_owned())));
                zone
            });
            let values = value(line).split(',').map(str::trim).filter(|value| !value.is_empty());
            found.extend(values.map(|value| (value.to_ascii_uppercase(), place.clone())));
        }
        for error in unknown {
            self.remark(error);
        }
        found
    }

    /// Notes what is imported in another way than it is written, once.
    fn remark(&mut self, error: Error) {
        if !self.remarks.contains(&error) {
            self.remarks.push(error);
        }
    }

    /// Returns the one date or time of a property.
    fn one(&mut self, property: &'static str) -> Result<Option<Stamp>, Error> {
        let mut lines = self.lines(property);
        let Some(first) = lines.next() else { return Ok(None) };
        if lines.any(|line| line != first) {
            return Err(Error::Repeated(property));
        }
        drop(lines);
        let (value, zone) = self.values(property).into_iter().next().unwrap_or_default();
        Stamp::parse(&value, zone).map(Some).ok_or_else(|| not_a_time(property, &value))
    }

    /// Returns the dates of a list.
    fn listed(&mut self, property: &'static str) -> Result<Vec<Listed>, Error> {
        let read = |(value, zone): (String, Option<Zone>)| {
            let (at, end) = value.split_once('/').map_or((&*value, None), |(at, end)| (at, Some(end)));
            let end = match end {
                Some(end) if end.contains('P') => Some(End::After(length(end)?)),
                Some(end) => Some(End::At(Stamp::parse(end, zone.clone())?)),
                None => None,
            };
            Some(Listed { at: Stamp::parse(at, zone)?, end })
        };
        let values = self.values(property).into_iter();
        values.map(|value| read(value.clone()).ok_or_else(|| not_a_time(property, &value.0))).collect()
    }

    /// Returns the start of the event, on the clock of its zone, and its length.
    fn when(&mut self) -> Result<When, Error> {
        let mut start = self.one("DTSTART")?.ok_or(Error::Missing("DTSTART"))?;
        let mut end = self.one("DTEND")?;
        let duration = self.values("DURATION").into_iter().next().filter(|_| end.is_none());
        let duration =
            duration.map(|(value, _)| length(&value).ok_or_else(|| not_a_time("DURATION", &value)));
        let duration = duration.transpose()?;
        let ends_at_a_time = end.as_ref().is_some_and(|end| !end.is_day());
        if start.is_day()
            && (ends_at_a_time || duration.is_some_and(|duration| duration.seconds % DAY_SECONDS != 0))
        {
            self.remark(Error::DayForATime("DTSTART"));
            start = start.with_time();
        } else if !start.is_day() && end.as_ref().is_some_and(Stamp::is_day) {
            self.remark(Error::DayForATime("DTEND"));
            end = end.map(Stamp::with_time);
        }
        // RFC 5545 3.8.2.2: both have a place, or none.
        if let (Stamp::Floating(civil), Some(zone)) = (&start, end.as_ref().and_then(Stamp::zone)) {
            start = Stamp::Placed(*civil, zone);
        }
        // Times without a zone are compared as if they were in UTC, where no clock changes.
        let place = start.zone().unwrap_or_else(Zone::utc);
        if let Some(end) = &mut end
            && end.instant(&place)? < start.instant(&place)?
        {
            self.remark(Error::EndsBeforeStart);
            std::mem::swap(&mut start, end);
        }
        let (zone, all_day) = (start.zone(), start.is_day());
        let begin = start.civil(zone.as_ref())?;
        let first = resolve(begin, &place)?.0;
        let mut length = match (end, duration) {
            (Some(end), _) => {
                Length { days: 0, seconds: seconds_between(start.instant(&place)?, end.instant(&place)?) }
            }
            // RFC 5545 3.6.1: a day without an end is that day, a time without an end is that moment.
            (None, None) => Length { days: i64::from(all_day), seconds: 0 },
            (None, Some(duration)) => duration,
        };
        if all_day {
            length = Length { days: length.days + length.seconds / DAY_SECONDS, seconds: 0 };
        }
        end_of(&first, length)?;
        Ok(When { start: begin, length, zone, all_day })
    }

    /// Returns how the event repeats, on the clock of its zone.
    fn recurrence(&mut self, when: &When) -> Result<Option<Recurrence>, Error> {
        let mut found = Recurrence {
            rules: self.rules("RRULE"),
            without_rules: self.rules("EXRULE"),
            ..Recurrence::default()
        };
        let clock = Clock::of(when);
        let place = when.zone.clone().unwrap_or_else(Zone::utc);
        for Listed { mut at, mut end } in self.listed("RDATE")? {
            if !when.all_day && at.is_day() && end.is_some() {
                self.remark(Error::DayForATime("RDATE"));
                at = at.with_time();
                if let Some(End::At(until)) = end {
                    end = Some(End::At(until.with_time()));
                }
            }
            if clock.guesses(&at) {
                self.remark(Error::TimeForADay("RDATE"));
            }
            let start = clock.start(&at)?;
            let is_second = match &when.zone {
                Some(zone) if !at.is_day() => at.instant(zone)? > resolve(start, zone)?.0.timestamp(),
                Some(_) | None => false,
            };
            if is_second {
                found.second_more.push(start);
            } else {
                found.more.push(start);
            }
            let length = match end {
                None => continue,
                Some(_) if when.all_day => {
                    self.remark(Error::PeriodOfADay);
                    continue;
                }
                Some(End::At(end)) => {
                    Length { days: 0, seconds: seconds_between(at.instant(&place)?, end.instant(&place)?) }
                }
                Some(End::After(length)) => length,
            };
            if length.seconds < 0 {
                return Err(Error::PeriodEndsBeforeStart);
            }
            found.periods.push(Period { start, length });
        }
        for Listed { at, .. } in self.listed("EXDATE")? {
            if clock.guesses(&at) {
                self.remark(Error::TimeForADay("EXDATE"));
            }
            // A day among times leaves out all that starts on it.
            if when.all_day || at.is_day() {
                found.without_days.push(clock.start(&at)?.date());
            } else {
                found.without.push(clock.start(&at)?);
            }
        }
        let bytes = found.rules.iter().chain(&found.without_rules).map(String::len).sum::<usize>();
        let added = found.more.len() + found.second_more.len();
        let count = added + found.without.len() + found.without_days.len();
        match (count, &found) {
            (count, _) if count > MAX_DATES => Err(Error::TooManyDates { count }),
            _ if bytes > MAX_RULE_BYTES => Err(Error::LongRules { bytes }),
            (_, Recurrence { rules, .. }) if rules.is_empty() && added == 0 => Ok(None),
            _ => Ok(Some(found)),
        }
    }
}

fn not_a_time(property: &'static str, value: &str) -> Error {
    Error::NotATime { property, value: value.chars().take(40).collect() }
}

fn seconds_between(from: Timestamp, to: Timestamp) -> i64 {
    to.as_second() - from.as_second()
}

/// Reads a duration (RFC 5545 3.3.6) that is not negative: civil days, and exact seconds.
fn length(value: &str) -> Option<Length> {
    let value = value.strip_prefix('+').unwrap_or(value).strip_prefix('P')?;
    let (days, time) = value.split_once('T').unwrap_or((value, ""));
    let sum = |mut rest: &str, units: &[(&str, i64)]| {
        let (mut units, mut all) = (units.iter(), 0_i64);
        while !rest.is_empty() {
            let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
            // The units come in their order.
            let (unit, size) = units.find(|(unit, _)| after.starts_with(unit))?;
            all = all.checked_add(number.parse::<i64>().ok()?.checked_mul(*size)?)?;
            rest = &after[unit.len()..];
        }
        Some(all).filter(|all| *all <= MAX_LENGTH)
    };
    let days = sum(days, &[("W", 7), ("D", 1)])?;
    Some(Length { days, seconds: sum(time, &[("H", 3600), ("M", 60), ("S", 1)])? })
}
