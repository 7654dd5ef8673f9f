//! Writer of single properties of an event; every other line of it stays as it is.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::DateTime;

use super::content_lines::{escape, fold, lines, name, own_lines, value};
use crate::time_zone::Zone;

/// Changes of an event. `None` leaves a property as it is, and an empty text removes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventEdit {
    pub title: Option<String>,
    pub location: Option<String>,
    pub description: Option<String>,
    pub time: Option<EventTime>,
}

/// A change of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Edit(EventEdit),
    /// Cancels an event that is one time of a series.
    Cancel,
    /// Changes one time of a series, which becomes a separate event.
    EditTime(SeriesTime, EventEdit),
    /// Leaves one time out of a series.
    CancelTime(SeriesTime),
}

/// One start of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesTime {
    /// On the clock of the series.
    pub civil: DateTime,
    pub at: Timestamp,
}

impl Change {
    /// Returns the text of an event with the change, as a later version of it.
    pub(crate) fn apply(&self, text: &str, now: Timestamp) -> String {
        match self {
            Self::Edit(edit) => edited(text, edit, now),
            Self::Cancel => cancelled(&edited(text, &EventEdit::default(), now)),
            Self::EditTime(time, edit) => {
                let series = ["RRULE", "RDATE", "EXDATE", "EXRULE"];
                let own = with_lines(text, &series, &[time.line("RECURRENCE-ID", text)]);
                format!("{text}{}", edited(&own, edit, now))
            }
            Self::CancelTime(time) => {
                with_lines(&edited(text, &EventEdit::default(), now), &[], &[time.line("EXDATE", text)])
            }
        }
    }
}

impl SeriesTime {
    /// Returns the line of a property with this start, in the form of the start of the series.
    fn line(&self, property: &str, series: &str) -> String {
        let start = own_lines(series).find(|line| is(line, "DTSTART")).unwrap_or_default();
        let (start, value) = (start.trim_end(), value(&start));
        let parameters = &start[name(start).len()..start.len() - value.len()];
        let at = if value.ends_with(['Z', 'z']) {
            Zone::utc().civil(self.at).strftime("%Y%m%dT%H%M%SZ")
        } else if value.contains(['T', 't']) {
            self.civil.strftime("%Y%m%dT%H%M%S")
        } else {
            self.civil.strftime("%Y%m%d")
        };
        format!("{property}{parameters}{at}")
    }
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

/// Returns the resource of a CalDAV server with the change of one event, whose text was `component` when it was read; `None`
/// if the resource has no such event.
pub fn changed_in(resource: &str, component: &str, change: &Change, now: Timestamp) -> Option<String> {
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
    let changed = change.apply(&resource[event.clone()], now);
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
fn edited(text: &str, edit: &EventEdit, now: Timestamp) -> String {
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
    fn one_time_of_a_series_is_named_in_the_form_of_its_start() {
        let time = SeriesTime {
            civil: "2031-07-02T00:00".parse().unwrap(),
            at: "2031-07-01T22:00:00Z".parse().unwrap(),
        };
        for (start, line) in [
            (
                "DTSTART;X=\"a:b\";TZID=Europe/Berlin:20310701T000000",
                "EXDATE;X=\"a:b\";TZID=Europe/Berlin:20310702T000000",
            ),
            ("dtstart:20310630T220000Z", "EXDATE:20310701T220000Z"),
            ("DTSTART;VALUE=DATE:20310701", "EXDATE;VALUE=DATE:20310702"),
            ("DTSTART:20310701T000000", "EXDATE:20310702T000000"),
        ] {
            let series = format!("BEGIN:VEVENT\r\n{start}\r\nRRULE:FREQ=DAILY\r\nEND:VEVENT\r\n");
            let now = "2026-11-23T10:00:00Z".parse().unwrap();
            let changed = Change::CancelTime(time).apply(&series, now);
            assert!(changed.contains(&format!("\r\n{line}\r\n")) && changed.contains("RRULE"), "{changed}");
            let edit = EventEdit { title: Some("Moved".to_owned()), ..EventEdit::default() };
            let changed = Change::EditTime(time, edit).apply(&series, now);
            let own = changed.strip_prefix(&series).unwrap();
            let replaced = line.replacen("EXDATE", "RECURRENCE-ID", 1);
            assert!(
                own.contains(&replaced) && own.contains("SUMMARY:Moved") && !own.contains("RRULE"),
                "{own}"
            );
        }
    }

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
