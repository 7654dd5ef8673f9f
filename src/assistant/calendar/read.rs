//! From the text of a file to drafts of its events. What is broken is named with its line, and the rest is taken over.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use jiff::civil::DateTime;

use super::super::event::{Draft, EventStatus};
use super::super::zone::Zone;
use super::Error;
use super::component::{Component, component};
use super::cut::{Kind, pieces};
use super::expand::{Horizon, occurrences};
use super::rule::Budget;
use super::stamp::resolve;
use super::zones::Zones;

/// The largest file: more than 100,000 events of the usual size.
pub(crate) const MAX_BYTES: usize = 40 * 1024 * 1024;
/// The largest event, with what is attached to it.
pub(super) const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// In the order of the file: a series and its changed occurrences are one draft each.
    pub(crate) drafts: Vec<Draft>,
    /// What was left out, or taken in another way than it stands there.
    pub(crate) faults: Vec<Fault>,
}

/// An event that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The line of its `BEGIN`, counted from one.
    pub(crate) line: usize,
    pub(crate) error: Error,
}

/// An event and where it stands.
struct Found<'a> {
    line: usize,
    event: Component<'a>,
    /// The civil start that it replaces, on the clock of its series.
    replaces: Option<DateTime>,
}

/// Reads a calendar's text. `own` is the zone of its reader, for whole days and times that have none.
///
/// # Errors
/// Fails only where nothing of the text can be taken over.
pub(crate) fn read(text: &str, own: &Zone, horizon: Horizon) -> Result<Read, Error> {
    if text.len() > MAX_BYTES {
        return Err(Error::TooLarge);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let head = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if !head.trim().eq_ignore_ascii_case("BEGIN:VCALENDAR") {
        return Err(Error::NotACalendar);
    }
    let mut read = Read::default();
    let (found, zones) = events(text, &mut read.faults);
    let mut replaced: HashMap<String, Vec<DateTime>> = HashMap::new();
    for one in &found {
        if let Some(start) = one.replaces {
            replaced.entry(one.event.uid.clone()).or_default().push(start);
        }
    }
    let mut budget = Budget::default();
    for Found { line, event, replaces } in found {
        let replaced = replaced.get(&event.uid).map_or(&[][..], Vec::as_slice);
        let source = zones.told(event.text);
        match draft(event, replaces, replaced, own, horizon, &mut budget) {
            Ok(draft) => read.drafts.push(Draft { source, ..draft }),
            Err(error) => read.faults.push(Fault { line, error }),
        }
    }
    read.faults.sort_by_key(|fault| fault.line);
    Ok(read)
}

/// Reads every event once, and the zones that the file defines. Of copies the one that was changed most often stays, and
/// of equals the later one.
fn events<'a>(text: &'a str, faults: &mut Vec<Fault>) -> (Vec<Found<'a>>, Zones) {
    let pieces = pieces(text);
    let mut zones = Zones::default();
    for piece in pieces.iter().filter(|piece| piece.kind == Kind::Zone) {
        zones.define(piece.text);
    }
    let mut found = Vec::new();
    for piece in pieces.iter().filter(|piece| piece.kind == Kind::Event) {
        let event = match piece.text.len() {
            _ if !piece.ended => Err(Error::Unended),
            bytes if bytes > MAX_EVENT_BYTES => Err(Error::EventTooLarge { bytes }),
            _ => component(piece.text, &zones),
        };
        match event {
            Ok(event) => found.push(Found { line: piece.line, event, replaces: None }),
            Err(error) => faults.push(Fault { line: piece.line, error }),
        }
    }
    // Whose clock the changed occurrences of a series are named on.
    let masters = found.iter().filter(|one| one.event.replaces.is_none());
    let masters: HashMap<String, Option<Zone>> =
        masters.map(|one| (one.event.uid.clone(), one.event.details.when.zone.clone())).collect();
    let mut places: HashMap<(String, Option<DateTime>), usize> = HashMap::new();
    let mut kept: Vec<Found<'a>> = Vec::with_capacity(found.len());
    for mut one in found {
        if let Some(stamp) = &one.event.replaces {
            let own = stamp.zone();
            match stamp.civil(masters.get(&one.event.uid).unwrap_or(&own).as_ref()) {
                Ok(start) => one.replaces = Some(start),
                Err(error) => {
                    faults.push(Fault { line: one.line, error });
                    continue;
                }
            }
        }
        match places.entry((one.event.uid.clone(), one.replaces)) {
            Slot::Vacant(place) => {
                place.insert(kept.len());
                kept.push(one);
            }
            Slot::Occupied(place) => {
                let earlier = &mut kept[*place.get()];
                faults.push(Fault { line: one.line, error: Error::Twice });
                if one.event.sequence >= earlier.event.sequence {
                    *earlier = one;
                }
            }
        }
    }
    (kept, zones)
}

fn draft(
    mut event: Component<'_>,
    replaces: Option<DateTime>,
    taken: &[DateTime],
    own: &Zone,
    horizon: Horizon,
    budget: &mut Budget,
) -> Result<Draft, Error> {
    // Which starts others take the place of is part of what the series is: it changes with them.
    if let (Some(recurrence), None) = (&mut event.details.recurrence, replaces) {
        recurrence.replaced = taken.to_vec();
        recurrence.replaced.sort_unstable();
    }
    let when = &event.details.when;
    let zone = when.zone.as_ref().unwrap_or(own);
    let (starts_at, ends_at) =
        (resolve(when.start, zone)?.0.timestamp(), resolve(when.end, zone)?.0.timestamp());
    let mut found = match (event.status, replaces) {
        (EventStatus::Cancelled, _) => Vec::new(),
        (_, None) => occurrences(when, event.details.recurrence.as_ref(), own, horizon, budget)?,
        (_, Some(_)) => occurrences(when, None, own, horizon, budget)?,
    };
    if let Some(start) = replaces {
        for occurrence in &mut found {
            occurrence.key = start.to_string();
        }
    }
    Ok(Draft {
        uid: event.uid,
        replaces,
        title: event.title,
        status: event.status,
        details: event.details,
        starts_at,
        ends_at,
        occurrences: found,
        etag: None,
        source: String::new(),
    })
}
