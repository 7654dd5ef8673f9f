//! Writer of calendar text: events as they were imported, the time zones that they name, and planned notifications as
//! `VALARM`, so that any calendar program reminds of them while no hub runs.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::content_lines::{escape, fold, lines, zone};
use super::{tzid, vtimezone};
use crate::notification::Offset;
use crate::time_zone::Zone;

/// The line that begins a reminder's id. A reminder with it in an imported event is from an earlier export.
const REMINDER_UID: &str = "UID:notification-";

/// A calendar to print.
#[derive(Debug)]
pub struct CalendarDocument<'a> {
    /// The name in calendar programs.
    pub name: &'a str,
    pub entries: Vec<Entry<'a>>,
    /// Changes of the clocks after it are written as rules.
    pub now: Timestamp,
}

/// An event to print.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The `VEVENT` as it was read.
    pub raw: &'a str,
    /// The zone of its start; `None` where it holds wherever its reader is.
    pub zone: Option<&'a Zone>,
    pub starts_at: Timestamp,
    pub reminders: Vec<Reminder<'a>>,
}

/// A reminder before an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reminder<'a> {
    /// The id, so that a program that reads the calendar again changes the reminder instead of adding one.
    pub id: &'a str,
    pub before: Offset,
    pub text: &'a str,
}

/// Writes a calendar as text. Events keep their text to the letter, without the reminders of an earlier export.
pub(crate) fn to_ics(document: &CalendarDocument<'_>) -> String {
    let mut out = String::new();
    for line in ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Adjutant//Assistant//EN", "CALSCALE:GREGORIAN"]
    {
        fold(&mut out, line);
    }
    fold(&mut out, &format!("X-WR-CALNAME:{}", escape(document.name)));
    let zones = zones_of(&document.entries);
    for Definition { name, zone, since } in zones.values().flatten() {
        vtimezone::define(&mut out, name, zone, *since, document.now);
    }
    for entry in &document.entries {
        event(&mut out, &with_printed_zones(entry, &zones), &entry.reminders);
    }
    fold(&mut out, "END:VCALENDAR");
    out
}

/// A time zone as it is printed, from the earliest start that it is needed for.
struct Definition {
    name: String,
    zone: Zone,
    since: Timestamp,
}

/// Returns the zones of the events, by their names in the events. A name that is defined in the imported file alone was
/// replaced at the import. Zones of several files may have the same name, also that of a known zone: only one is
/// written under it, so that no event moves.
fn zones_of(entries: &[Entry<'_>]) -> BTreeMap<String, Vec<Definition>> {
    let mut found: BTreeMap<String, Vec<Definition>> = BTreeMap::new();
    for entry in entries {
        for (_, line) in lines(entry.raw) {
            let Some(at) = zone(&line) else { continue };
            let id = &line[at];
            let known = tzid::named(id);
            let Some(zone) = meant(entry, id, known.as_ref()) else { continue };
            let same_name = found.entry(id.to_owned()).or_default();
            if let Some(definition) = same_name.iter_mut().find(|one| one.zone == zone) {
                definition.since = entry.starts_at.min(definition.since);
                continue;
            }
            let is_own = known.map_or(same_name.is_empty(), |known| known == zone);
            let name = if is_own { id.to_owned() } else { format!("{id} {}", same_name.len() + 1) };
            same_name.push(Definition { name, zone, since: entry.starts_at });
        }
    }
    found
}

/// Returns the zone that an event means by a name.
fn meant(entry: &Entry<'_>, id: &str, known: Option<&Zone>) -> Option<Zone> {
    entry.zone.filter(|zone| zone.name() == id).or(known).or(entry.zone).cloned()
}

/// Returns the text of an event with the names that its zones are printed by.
fn with_printed_zones(entry: &Entry<'_>, zones: &BTreeMap<String, Vec<Definition>>) -> String {
    let mut out = String::with_capacity(entry.raw.len());
    for (raw, line) in lines(entry.raw) {
        let printed = zone(&line).and_then(|at| {
            let id = &line[at.clone()];
            let zone = meant(entry, id, tzid::named(id).as_ref())?;
            let name = &zones.get(id)?.iter().find(|one| one.zone == zone)?.name;
            (name != id).then(|| format!("{}{name}{}", &line[..at.start], &line[at.end..]))
        });
        match printed {
            Some(line) => fold(&mut out, &line),
            None => out.push_str(raw),
        }
    }
    out
}

fn event(out: &mut String, raw: &str, reminders: &[Reminder<'_>]) {
    let end = raw.trim_end().rfind('\n').map_or(0, |at| at + 1);
    // A reminder is held back until its name is known.
    let mut alarm: Option<String> = None;
    let mut own = false;
    for line in raw[..end].lines() {
        let line = line.trim_end_matches('\r');
        if line.eq_ignore_ascii_case("BEGIN:VALARM") {
            (alarm, own) = (Some(String::new()), false);
        }
        own |= line.starts_with(REMINDER_UID);
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
    for reminder in reminders {
        write_reminder(out, reminder);
    }
    out.push_str("END:VEVENT\r\n");
}

fn write_reminder(out: &mut String, reminder: &Reminder<'_>) {
    fold(out, "BEGIN:VALARM");
    fold(out, &format!("UID:{}", escape(reminder.id)));
    fold(out, "ACTION:DISPLAY");
    fold(
        out,
        &match reminder.before {
            Offset::Minutes(0) | Offset::Days(0) => "TRIGGER:PT0M".to_owned(),
            Offset::Minutes(minutes) => format!("TRIGGER:-PT{minutes}M"),
            Offset::Days(days) => format!("TRIGGER:-P{days}D"),
        },
    );
    fold(out, &format!("DESCRIPTION:{}", escape(reminder.text)));
    fold(out, "END:VALARM");
}
