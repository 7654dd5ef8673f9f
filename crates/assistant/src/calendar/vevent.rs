//! Reader of one `VEVENT`: calcard's properties to an event's details.

use calcard::common::{IanaString as _, PartialDateTime};
use calcard::icalendar::{
    ICalendarComponent, ICalendarComponentType, ICalendarDuration, ICalendarEntry, ICalendarParameterName,
    ICalendarParameterValue, ICalendarPeriod, ICalendarProperty, ICalendarStatus, ICalendarValue,
};
use calcard::{Entry as Parsed, Parser};
use jiff::Timestamp;

use super::content_lines::{lines, name, parameter};
use super::datetime::{Clock, Stamp, end_of, resolve};
use super::error::Error;
use super::limits::{MAX_DATES, MAX_RULE_BYTES};
use super::tzid::Zones;
use crate::event::{Attendee, EventDetails, EventStatus, Length, Period, Recurrence, When};
use crate::time_zone::Zone;
use adjutant_base::text::hex;

/// So many people an event may invite; those beyond are counted in a note.
const MAX_ATTENDEES: usize = 1000;

/// Seconds of a day of 24 hours.
const DAY_SECONDS: i64 = 86_400;

/// A `VEVENT` as it was read.
#[derive(Debug)]
pub(super) struct Component<'a> {
    pub(super) uid: String,
    /// Which occurrence of the series it replaces.
    pub(super) replaces: Option<Stamp>,
    /// Whether it changes those after it too (`RANGE=THISANDFUTURE`, RFC 5545 3.2.13).
    pub(super) rest: bool,
    pub(super) title: String,
    pub(super) status: EventStatus,
    pub(super) details: EventDetails,
    /// How often its author changed it; of two copies the higher one counts.
    pub(super) sequence: i64,
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
    let start =
        time(event, &ICalendarProperty::Dtstart, "DTSTART", zones)?.ok_or(Error::Missing("DTSTART"))?;
    let when = when(event, &start, zones)?;
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
    let mut remarks = Vec::new();
    let uid = event.uid().map(str::trim).filter(|uid| !uid.is_empty());
    remarks.extend(uid.is_none().then_some(Error::NoUid));
    let uid = uid.map_or_else(|| content_uid(text), str::to_owned);
    let replaces = time(event, &ICalendarProperty::RecurrenceId, "RECURRENCE-ID", zones)?;
    let range = replaces.as_ref().and_then(|_| range(text));
    let rest = range.as_deref().is_some_and(|range| range.eq_ignore_ascii_case("THISANDFUTURE"));
    remarks.extend(range.filter(|_| !rest).map(Error::UnknownRange));
    let details = EventDetails {
        recurrence: recurrence(event, text, &when, zones, &mut remarks)?,
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
        title: words(&ICalendarProperty::Summary),
        status: match event.status() {
            Some(ICalendarStatus::Cancelled) => EventStatus::Cancelled,
            Some(ICalendarStatus::Tentative) => EventStatus::Tentative,
            _ => EventStatus::Confirmed,
        },
        details,
        sequence: event
            .property(&ICalendarProperty::Sequence)
            .and_then(|entry| entry.values.first()?.as_integer())
            .unwrap_or(0),
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

/// Returns the range of a changed occurrence; calcard keeps only a range that it knows.
fn range(text: &str) -> Option<String> {
    let (_, line) = lines(text).find(|(_, line)| name(line).eq_ignore_ascii_case("RECURRENCE-ID"))?;
    parameter(&line, "RANGE").map(|at| line[at].chars().take(40).collect())
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

fn zone_of(entry: &ICalendarEntry) -> Option<&str> {
    entry.parameters(&ICalendarParameterName::Tzid).find_map(|value| value.as_text())
}

fn not_a_time(property: &'static str, value: Option<&ICalendarValue>) -> Error {
    let value = value.and_then(ICalendarValue::as_text).unwrap_or_default().chars().take(40).collect();
    Error::NotATime { property, value }
}

/// A property with one date or time.
fn time(
    event: &ICalendarComponent,
    name: &ICalendarProperty,
    property: &'static str,
    zones: &Zones,
) -> Result<Option<Stamp>, Error> {
    let Some(entry) = event.property(name) else { return Ok(None) };
    match entry.values.first() {
        Some(ICalendarValue::PartialDateTime(found)) => {
            Stamp::read(found, zone_of(entry), zones, property).map(Some)
        }
        other => Err(not_a_time(property, other)),
    }
}

/// Returns the start of the event, on the clock of its zone, and its length.
fn when(event: &ICalendarComponent, start: &Stamp, zones: &Zones) -> Result<When, Error> {
    let (zone, all_day) = (start.zone(), start.is_day());
    let begin = start.civil(zone.as_ref())?;
    // Times without a zone are compared as if they were in UTC, where no clock changes.
    let place = zone.clone().unwrap_or_else(Zone::utc);
    let first = resolve(begin, &place)?.0;
    let mut length = if let Some(end) = time(event, &ICalendarProperty::Dtend, "DTEND", zones)? {
        if end.is_day() != all_day {
            let value = "a day and a time are mixed".to_owned();
            return Err(Error::NotATime { property: "DTEND", value });
        }
        between(first.timestamp(), end.instant(&place)?)?
    } else {
        let value = event.property(&ICalendarProperty::Duration).map(|entry| entry.values.first());
        match value {
            // RFC 5545 3.6.1: a day without an end is that day, a time without an end is that moment.
            None => Length { days: i64::from(all_day), seconds: 0 },
            Some(Some(ICalendarValue::Duration(duration))) => nominal(duration)?,
            Some(other) => return Err(not_a_time("DURATION", other)),
        }
    };
    if all_day {
        length = Length { days: length.days + length.seconds / DAY_SECONDS, seconds: 0 };
    }
    end_of(&first, length)?;
    Ok(When { start: begin, length, zone, all_day })
}

/// Returns the exact time between two instants.
fn between(from: Timestamp, to: Timestamp) -> Result<Length, Error> {
    let seconds = to.as_second() - from.as_second();
    if seconds < 0 { Err(Error::EndsBeforeStart) } else { Ok(Length { days: 0, seconds }) }
}

/// Returns the civil days and exact seconds of a `DURATION`.
fn nominal(duration: &ICalendarDuration) -> Result<Length, Error> {
    if duration.neg {
        return Err(Error::EndsBeforeStart);
    }
    let ICalendarDuration { weeks, days, hours, minutes, seconds, .. } = duration;
    let [weeks, days, hours, minutes, seconds] =
        [weeks, days, hours, minutes, seconds].map(|n| i64::from(*n));
    Ok(Length { days: weeks * 7 + days, seconds: hours * 3600 + minutes * 60 + seconds })
}

/// Returns how the event repeats, on the clock of its zone.
fn recurrence(
    event: &ICalendarComponent,
    text: &str,
    when: &When,
    zones: &Zones,
    remarks: &mut Vec<Error>,
) -> Result<Option<Recurrence>, Error> {
    let mut found = Recurrence {
        rules: rules(text, "RRULE"),
        without_rules: rules(text, "EXRULE"),
        ..Recurrence::default()
    };
    let clock = Clock::of(when);
    let mut guessed = |stamp: &Stamp, property| {
        if clock.guesses(stamp) && !remarks.contains(&Error::TimeForADay(property)) {
            remarks.push(Error::TimeForADay(property));
        }
    };
    let mut days_with_a_length = false;
    for entry in &event.entries {
        match entry.name {
            ICalendarProperty::Rdate => {
                for Listed { at, end } in dates(entry, "RDATE", zones)? {
                    guessed(&at, "RDATE");
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
                    let place = when.zone.clone().unwrap_or_else(Zone::utc);
                    let length = match end {
                        None => continue,
                        Some(_) if when.all_day => {
                            days_with_a_length = true;
                            continue;
                        }
                        Some(End::At(end)) => between(at.instant(&place)?, end.instant(&place)?)?,
                        Some(End::After(duration)) => nominal(duration)?,
                    };
                    found.periods.push(Period { start, length });
                }
            }
            ICalendarProperty::Exdate => {
                for Listed { at, .. } in dates(entry, "EXDATE", zones)? {
                    guessed(&at, "EXDATE");
                    // A day among times leaves out all that starts on it.
                    if when.all_day || at.is_day() {
                        found.without_days.push(clock.start(&at)?.date());
                    } else {
                        found.without.push(clock.start(&at)?);
                    }
                }
            }
            _ => {}
        }
    }
    if days_with_a_length {
        remarks.push(Error::PeriodOfADay);
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

/// The values of an `RRULE` or an `EXRULE` as they are written: calcard keeps only the parts that it knows. An empty one
/// says nothing.
fn rules(text: &str, property: &str) -> Vec<String> {
    let rules = lines(text).filter(|(_, line)| name(line).eq_ignore_ascii_case(property));
    let values = rules.filter_map(|(_, line)| Some(line.split_once(':')?.1.trim().to_owned()));
    values.filter(|rule| !rule.is_empty()).collect()
}

/// A date that an event lists.
struct Listed<'a> {
    at: Stamp,
    /// Where it is a period, how it ends.
    end: Option<End<'a>>,
}

enum End<'a> {
    At(Stamp),
    After(&'a ICalendarDuration),
}

fn dates<'a>(
    entry: &'a ICalendarEntry,
    property: &'static str,
    zones: &Zones,
) -> Result<Vec<Listed<'a>>, Error> {
    let stamp = |found: &PartialDateTime| Stamp::read(found, zone_of(entry), zones, property);
    let read = |value: &'a ICalendarValue| {
        Ok(match value {
            ICalendarValue::PartialDateTime(found) => Listed { at: stamp(found)?, end: None },
            ICalendarValue::Period(ICalendarPeriod::Range { start, end }) => {
                Listed { at: stamp(start)?, end: Some(End::At(stamp(end)?)) }
            }
            ICalendarValue::Period(ICalendarPeriod::Duration { start, duration }) => {
                Listed { at: stamp(start)?, end: Some(End::After(duration)) }
            }
            other => return Err(not_a_time(property, Some(other))),
        })
    };
    let is_empty = |value: &&ICalendarValue| value.as_text().is_some_and(str::is_empty);
    entry.values.iter().filter(|value| !is_empty(value)).map(read).collect()
}
