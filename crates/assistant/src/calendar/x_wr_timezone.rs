//! `X-WR-TIMEZONE`, the zone that large calendars give to a file whose times are in UTC or in no zone.

use std::borrow::Cow;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::content_lines::{lines, name, zone};
use super::tzid;
use crate::time_zone::Zone;

/// Properties with times of an event. An `UNTIL` in UTC is an instant in any zone.
const TIMES: [&str; 5] = ["DTSTART", "DTEND", "RDATE", "EXDATE", "RECURRENCE-ID"];

/// Returns the value of a property of the calendar itself.
fn of_calendar<'a>(text: &'a str, property: &str) -> Option<&'a str> {
    let lines = text
        .trim_start()
        .lines()
        .skip(1)
        .take_while(|line| !line.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("BEGIN:")));
    let mut found = lines.filter(|line| name(line).eq_ignore_ascii_case(property));
    Some(found.next()?.split_once(':')?.1.trim())
}

/// Gives the times of events in UTC or in no zone the zone of the calendar: a series keeps its time of day there when
/// the clocks change. The lines keep their numbers.
pub(super) fn place(text: &str) -> Cow<'_, str> {
    let calendar = of_calendar(text, "X-WR-TIMEZONE").and_then(tzid::named);
    let Some(calendar) = calendar.filter(|zone| *zone != Zone::utc()) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len());
    let mut in_event = false;
    for (raw, line) in lines(text) {
        if line.eq_ignore_ascii_case("BEGIN:VEVENT") || line.eq_ignore_ascii_case("END:VEVENT") {
            in_event = line.as_bytes()[0].eq_ignore_ascii_case(&b'B');
        }
        let placed = if in_event { placed(&line, &calendar) } else { None };
        match placed {
            Some(placed) => {
                out.push_str(&placed);
                // The breaks of a folded line follow it, so that the next lines keep their numbers.
                out.extend(std::iter::repeat_n("\r\n", raw.matches('\n').count()));
            }
            None => out.push_str(raw),
        }
    }
    Cow::Owned(out)
}

/// Returns a line with its times in `calendar`; `None` where they have a zone, are days, or need UTC to be told apart.
fn placed(line: &str, calendar: &Zone) -> Option<String> {
    let (head, values) = line.split_once(':')?;
    if !TIMES.iter().any(|times| name(line).eq_ignore_ascii_case(times)) || zone(line).is_some() {
        return None;
    }
    let civil = |value: &str| {
        let civil = DateTime::strptime("%Y%m%dT%H%M%S", value.trim_end_matches('Z')).ok()?;
        if !value.ends_with('Z') {
            return Some(value.to_owned());
        }
        let at = TimeZone::UTC.to_timestamp(civil).ok()?;
        let shown = calendar.civil(at);
        (calendar.rules().to_timestamp(shown).ok()? == at)
            .then(|| shown.strftime("%Y%m%dT%H%M%S").to_string())
    };
    let values: Option<Vec<String>> = values.split(',').map(|value| civil(value.trim())).collect();
    Some(format!("{head};TZID={calendar}:{}", values?.join(",")))
}
