//! Writer of single properties of an event; every other line of it stays as it is.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::DateTime;

use super::content_lines::{escape, fold, lines, name, own_lines};
use crate::time_zone::Zone;

/// Changes of an event. `None` leaves a property as it is, and an empty text removes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventEdit {
    pub title: Option<String>,
    pub location: Option<String>,
    pub description: Option<String>,
    pub time: Option<EventTime>,
}

/// The time of an event. The end is after the start.
#[derive(Clone, Debug, PartialEq)]
pub struct EventTime {
    pub start: DateTime,
    pub end: DateTime,
    /// Whole days, which have no zone.
    pub all_day: bool,
    pub zone: Zone,
}

impl EventTime {
    /// Returns the same time in UTC, for a place that has no definition of the zone.
    fn in_utc(&self) -> Option<Self> {
        if self.all_day {
            return Some(self.clone());
        }
        let utc = |at: DateTime| {
            let at = self.zone.rules().to_timestamp(at).ok()?;
            Some(Zone::utc().civil(at))
        };
        Some(Self { start: utc(self.start)?, end: utc(self.end)?, all_day: false, zone: Zone::utc() })
    }
}

impl EventEdit {
    /// Returns the same changes with the time in UTC. `None` for a time that is in no calendar.
    pub(crate) fn in_utc(&self) -> Option<Self> {
        let time = match &self.time {
            Some(time) => Some(time.in_utc()?),
            None => None,
        };
        Some(Self { time, ..self.clone() })
    }
}

/// Returns the resource of a CalDAV server with the changes in one event, whose text was `component` when it was read; `None`
/// if the resource has no such event.
pub fn edited_in(resource: &str, component: &str, edit: &EventEdit, now: Timestamp) -> Option<String> {
    let mut events: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for (raw, line) in lines(resource) {
        match line.trim().to_ascii_uppercase().as_str() {
            "BEGIN:VEVENT" => events.push(at..at),
            "END:VEVENT" => events.last_mut()?.end = at + raw.len(),
            _ => {}
        }
        at += raw.len();
    }
    let content = |text: &str| lines(text).map(|(_, line)| line.trim().to_owned()).collect::<Vec<_>>();
    let wanted = content(component);
    let only = events.len() == 1;
    let event = events.into_iter().find(|event| only || content(&resource[event.clone()]) == wanted)?;
    let changed = edited(&resource[event.clone()], edit, now);
    Some(format!("{}{changed}{}", &resource[..event.start], &resource[event.end..]))
}

/// Returns a component as a whole calendar.
pub fn document(component: &str) -> String {
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Adjutant//Assistant//EN\r\n{component}END:VCALENDAR\r\n"
    )
}

/// Returns the text of a new event.
pub(crate) fn created(uid: &str, edit: &EventEdit, now: Timestamp) -> String {
    edited(&format!("BEGIN:VEVENT\r\nUID:{}\r\nEND:VEVENT\r\n", escape(uid)), edit, now)
}

/// Returns an event's text with the changes, as a later version of it.
pub(crate) fn edited(text: &str, edit: &EventEdit, now: Timestamp) -> String {
    let own = || own_lines(text);
    let sequence = own().find(|line| is(line, "SEQUENCE"));
    let sequence = sequence.and_then(|line| line.split_once(':')?.1.trim().parse::<u32>().ok());
    let stamp = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let mut new = vec![format!("DTSTAMP:{stamp}"), format!("LAST-MODIFIED:{stamp}")];
    let is_new = !own().any(|line| is(&line, "DTSTART"));
    new.extend((!is_new).then(|| format!("SEQUENCE:{}", sequence.unwrap_or(0).saturating_add(1))));
    let mut replaced = vec!["DTSTAMP", "LAST-MODIFIED", "SEQUENCE"];
    for (property, value) in
        [("SUMMARY", &edit.title), ("LOCATION", &edit.location), ("DESCRIPTION", &edit.description)]
    {
        if let Some(value) = value {
            replaced.push(property);
            new.extend((!value.is_empty()).then(|| format!("{property}:{}", escape(value))));
        }
    }
    if let Some(time) = &edit.time {
        replaced.extend(["DTSTART", "DTEND", "DURATION"]);
        new.extend([stamp_line("DTSTART", time.start, time), stamp_line("DTEND", time.end, time)]);
    }
    with_lines(text, &replaced, &new)
}

/// Returns an event's text as that of a cancelled event.
pub(crate) fn cancelled(text: &str) -> String {
    with_lines(text, &["STATUS"], &["STATUS:CANCELLED".to_owned()])
}

/// Returns an event's text with `new` lines, and without those of the `replaced` properties.
fn with_lines(text: &str, replaced: &[&str], new: &[String]) -> String {
    let mut out = String::with_capacity(text.len() + 200);
    let mut depth = 0;
    for (raw, line) in lines(text) {
        if is(&line, "BEGIN") {
            depth += 1;
        }
        if depth != 1 || !replaced.iter().any(|property| is(&line, property)) {
            out.push_str(raw.trim_end_matches(['\r', '\n']));
            out.push_str("\r\n");
        }
        if is(&line, "BEGIN") && depth == 1 {
            for line in new {
                fold(&mut out, line);
            }
        }
        if is(&line, "END") {
            depth -= 1;
        }
    }
    out
}

fn is(line: &str, property: &str) -> bool {
    name(line).eq_ignore_ascii_case(property)
}

fn stamp_line(property: &str, at: DateTime, time: &EventTime) -> String {
    match (time.all_day, time.zone.name()) {
        (true, _) => format!("{property};VALUE=DATE:{}", at.strftime("%Y%m%d")),
        (false, "UTC") => format!("{property}:{}Z", at.strftime("%Y%m%dT%H%M%S")),
        (false, zone) => format!("{property};TZID={zone}:{}", at.strftime("%Y%m%dT%H%M%S")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_keeps_every_other_line() {
        let text = "BEGIN:VEVENT\r\nUID:a@x\r\nDTSTAMP:20200101T000000Z\r\nX-COLOUR;Y=\"a;b\":red\r\nsummary:Old\r\n  title\r\n\
                    DTSTART:20260101T100000Z\r\nDURATION:PT1H\r\nSEQUENCE:4\r\nBEGIN:VALARM\r\nSUMMARY:Bell\r\nDURATION:PT5M\r\n\
                    END:VALARM\r\nEND:VEVENT\r\n";
        let zone = Zone::named("Europe/Berlin").unwrap();
        let at = |text: &str| text.parse::<DateTime>().unwrap();
        let time =
            EventTime { start: at("2026-12-24T18:00"), end: at("2026-12-24T20:00"), all_day: false, zone };
        let edit = EventEdit {
            title: Some("New; one".to_owned()),
            location: Some("Here".to_owned()),
            time: Some(time),
            ..EventEdit::default()
        };
        let now = "2026-11-23T10:00:00Z".parse().unwrap();
        assert_eq!(
            edited(text, &edit, now),
            "BEGIN:VEVENT\r\nDTSTAMP:20261123T100000Z\r\nLAST-MODIFIED:20261123T100000Z\r\nSEQUENCE:5\r\nSUMMARY:New\\; one\r\n\
             LOCATION:Here\r\nDTSTART;TZID=Europe/Berlin:20261224T180000\r\nDTEND;TZID=Europe/Berlin:20261224T200000\r\n\
             UID:a@x\r\nX-COLOUR;Y=\"a;b\":red\r\nBEGIN:VALARM\r\nSUMMARY:Bell\r\nDURATION:PT5M\r\nEND:VALARM\r\nEND:VEVENT\r\n"
        );
        let removed = EventEdit { location: Some(String::new()), ..EventEdit::default() };
        let without = edited(&edited(text, &edit, now), &removed, now);
        assert!(!without.contains("LOCATION") && without.contains("SEQUENCE:6\r\n"), "{without}");
    }
}
