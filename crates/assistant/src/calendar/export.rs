//! Calendar text out: events as they came in, the zones that they name, and the reminders that are planned as
//! `VALARM`, so that any calendar reminds even while nothing of ours runs.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::super::zone::Zone;
use super::lines::{lines, zone};
use super::{vtimezone, zones};

/// The ids of our own reminders begin so; a reminder of that name is an earlier print's.
const OWN: &str = "UID:notification-";

/// A calendar to print.
#[derive(Debug)]
pub(crate) struct Sheet<'a> {
    /// What calendar programs call it.
    pub(crate) name: &'a str,
    pub(crate) entries: Vec<Entry<'a>>,
    /// What the clocks do after it is written as rules.
    pub(crate) now: Timestamp,
}

/// An event to print.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    /// The `VEVENT` as it was read.
    pub(crate) raw: &'a str,
    /// The zone of its start; `None` where it holds wherever its reader is.
    pub(crate) zone: Option<&'a Zone>,
    pub(crate) starts_at: Timestamp,
    pub(crate) reminders: Vec<Reminder<'a>>,
}

/// A reminder before an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reminder<'a> {
    /// Names it, so that a calendar that is read again changes it instead of adding one.
    pub(crate) id: &'a str,
    pub(crate) before: Before,
    pub(crate) text: &'a str,
}

/// How long before the start of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Before {
    /// As time passes.
    Minutes(u32),
    /// By the clock: a day may have 23 or 25 hours.
    Days(u32),
}

/// Prints a calendar. Events keep their text to the letter; reminders that an earlier print put in are not put in
/// twice.
pub(crate) fn print(sheet: &Sheet<'_>) -> String {
    let mut out = String::new();
    for line in ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Adjutant//Assistant//EN", "CALSCALE:GREGORIAN"]
    {
        fold(&mut out, line);
    }
    fold(&mut out, &format!("X-WR-CALNAME:{}", escape(sheet.name)));
    for (id, (zone, since)) in zones_of(&sheet.entries) {
        vtimezone::define(&mut out, &id, &zone, since, sheet.now);
    }
    for entry in &sheet.entries {
        event(&mut out, entry);
    }
    fold(&mut out, "END:VCALENDAR");
    out
}

/// The zones that the events name, each with the earliest start that it is needed for. A name that only the file knew
/// which the event came from was replaced when it was read.
fn zones_of(entries: &[Entry<'_>]) -> BTreeMap<String, (Zone, Timestamp)> {
    let mut found: BTreeMap<String, (Zone, Timestamp)> = BTreeMap::new();
    for entry in entries {
        for (_, line) in lines(entry.raw) {
            let Some(at) = zone(&line) else { continue };
            let id = &line[at];
            if let Some((_, since)) = found.get_mut(id) {
                *since = entry.starts_at.min(*since);
            } else if let Some(meant) = zones::named(id).or_else(|| entry.zone.cloned()) {
                found.insert(id.to_owned(), (meant, entry.starts_at));
            }
        }
    }
    found
}

fn event(out: &mut String, entry: &Entry<'_>) {
    let end = entry.raw.trim_end().rfind('\n').map_or(0, |at| at + 1);
    // A reminder is held back until its name is known.
    let mut alarm: Option<String> = None;
    let mut own = false;
    for line in entry.raw[..end].lines() {
        let line = line.trim_end_matches('\r');
        if line.eq_ignore_ascii_case("BEGIN:VALARM") {
            (alarm, own) = (Some(String::new()), false);
        }
        own |= line.starts_with(OWN);
        let to = alarm.as_mut().unwrap_or(out);
        to.push_str(line);
        to.push_str("\r\n");
        if line.eq_ignore_ascii_case("END:VALARM")
            && let Some(whole) = alarm.take()
            && !own
        {
            out.push_str(&whole);
        }
    }
    for reminder in &entry.reminders {
        write(out, reminder);
    }
    out.push_str("END:VEVENT\r\n");
}

fn write(out: &mut String, reminder: &Reminder<'_>) {
    fold(out, "BEGIN:VALARM");
    fold(out, &format!("UID:{}", escape(reminder.id)));
    fold(out, "ACTION:DISPLAY");
    fold(
        out,
        &match reminder.before {
            Before::Minutes(0) | Before::Days(0) => "TRIGGER:PT0M".to_owned(),
            Before::Minutes(minutes) => format!("TRIGGER:-PT{minutes}M"),
            Before::Days(days) => format!("TRIGGER:-P{days}D"),
        },
    );
    fold(out, &format!("DESCRIPTION:{}", escape(reminder.text)));
    fold(out, "END:VALARM");
}

/// Escapes a text value by RFC 5545 3.3.11. The backslash goes first, or it would escape the escapes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | ';' | ',' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            // RFC 5545 3.1 has no place for other control characters.
            c if c.is_control() && c != '\t' => {}
            c => out.push(c),
        }
    }
    out
}

/// Writes a content line in lines of at most 75 octets, cut between characters.
pub(crate) fn fold(out: &mut String, line: &str) {
    let mut room = 75;
    for c in line.chars() {
        if c.len_utf8() > room {
            out.push_str("\r\n ");
            room = 74;
        }
        room -= c.len_utf8();
        out.push(c);
    }
    out.push_str("\r\n");
}
