//! Parser of a calendar file into drafts of events. A broken event is reported with its line, and the others are
//! imported.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

use jiff::civil::DateTime;

use super::component_splitter::{Kind, Piece, pieces};
use super::content_lines::{lines, name, zone};
use super::datetime::{Clock, end_of, length_in, resolve};
use super::error::Error;
use super::limits::{MAX_BYTES, MAX_EVENT_BYTES};
use super::occurrences::{Horizon, occurrences};
use super::recurrence_overrides::Overrides;
use super::rrule::Budget;
use super::tzid::Zones;
use super::vevent::{Component, component};
use super::x_wr_timezone;
use crate::event::{Draft, EventStatus};
use crate::time_zone::Zone;

/// Maximum characters of a component's name that are shown; the longest name of the standard has 13.
const MAX_NAME: usize = 40;
/// Maximum starts of events at which a time zone of the file is compared with the known zone of its name.
const MAX_STARTS: usize = 1000;

/// The content of a calendar file.
#[derive(Debug, Default)]
pub struct ParsedCalendar {
    /// In the order of the file: a series and its changed occurrences are one draft each.
    pub drafts: Vec<Draft>,
    /// Events that a message cancels (`METHOD:CANCEL`, RFC 5546 3.2.5), in whichever calendar they are.
    pub cancels: Vec<Draft>,
    /// Components that were left out, or imported in another way than they are written.
    pub issues: Vec<ParseIssue>,
}

/// A component that was not imported as it is written ([`Error::effect`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseIssue {
    /// The line of its `BEGIN`, counted from one.
    pub line: usize,
    /// Its name in calendars, where that can be read.
    pub uid: Option<String>,
    pub error: Error,
}

/// An event with its line.
struct ParsedEvent<'a> {
    line: usize,
    event: Component<'a>,
    /// The civil start that it replaces, on the clock of its series.
    replaces: Option<DateTime>,
    cancels: bool,
}

/// Reads a calendar's text. `own` is the zone of its reader, for whole days and times that have none.
///
/// # Errors
/// Fails only where nothing of the text can be imported.
pub fn parse(text: &str, own: &Zone, horizon: Horizon) -> Result<ParsedCalendar, Error> {
    if text.len() > MAX_BYTES {
        return Err(Error::TooLarge);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let head = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let begins = |line: &str, name: &str| {
        line.split_once(':').is_some_and(|(begin, named)| {
            begin.eq_ignore_ascii_case("BEGIN")
                && (name.is_empty() || named.trim().eq_ignore_ascii_case(name))
        })
    };
    // An event is read also within a component that is unknown.
    let is_calendar =
        begins(head, "VCALENDAR") || begins(head, "") && text.lines().any(|line| begins(line, "VEVENT"));
    if !is_calendar {
        return Err(Error::NotACalendar);
    }
    // The missing rest may hold changes of a series that was read.
    let boundary = |line: &&str| begins(line, "VCALENDAR") || line.eq_ignore_ascii_case("END:VCALENDAR");
    let last = text.lines().rev().map(str::trim).find(boundary);
    if last.is_some_and(|line| begins(line, "VCALENDAR")) {
        return Err(Error::CutOff);
    }
    let text = &x_wr_timezone::place(text);
    let mut parsed = ParsedCalendar::default();
    let (found, zones) = events(text, &mut parsed.issues);
    let changes = Overrides::of(found.iter().map(|one| (&one.event, one.replaces)));
    let mut budget = Budget::default();
    for ParsedEvent { line, mut event, replaces, cancels } in found {
        if changes.is_obsolete(&event, replaces, own, &mut budget) {
            parsed.issues.push(ParseIssue { line, uid: Some(event.uid), error: Error::Obsolete });
            continue;
        }
        changes.apply(&mut event, replaces);
        let source = zones.with_iana_names(event.text);
        let uid = event.uid.clone();
        let remarks = std::mem::take(&mut event.remarks);
        event.details.notes.extend(remarks.iter().map(Error::to_string));
        let of = |error| ParseIssue { line, uid: Some(uid.clone()), error };
        match contain_panic(|| draft(event, replaces, own, horizon, &mut budget)) {
            Ok(draft) => {
                let drafts = if cancels { &mut parsed.cancels } else { &mut parsed.drafts };
                drafts.push(Draft { line, source, ..draft });
                parsed.issues.extend(remarks.into_iter().map(of));
            }
            Err(error) => parsed.issues.push(of(error)),
        }
    }
    parsed.issues.sort_by_key(|issue| issue.line);
    Ok(parsed)
}

/// Reads every event once, and the zones that the file defines. Of copies the one that was changed last stays (RFC 5546
/// 2.1.5), and of equals the first.
fn events<'a>(text: &'a str, issues: &mut Vec<ParseIssue>) -> (Vec<ParsedEvent<'a>>, Zones) {
    let pieces = pieces(text);
    let mut zones = Zones::default();
    let starts = starts(&pieces);
    for piece in pieces.iter().filter(|piece| piece.kind == Kind::Zone) {
        zones.define(piece.text, &starts);
    }
    issues.extend(others(&pieces));
    let mut found = Vec::new();
    for piece in pieces.iter().filter(|piece| piece.kind == Kind::Event) {
        let event = match piece.text.len() {
            _ if !piece.ended => Err(Error::Unended),
            bytes if bytes > MAX_EVENT_BYTES => Err(Error::EventTooLarge { bytes }),
            _ => contain_panic(|| component(piece.text, &zones)),
        };
        match event {
            Ok(mut event) => {
                if piece.cancels {
                    event.status = EventStatus::Cancelled;
                }
                found.push(ParsedEvent { line: piece.line, event, replaces: None, cancels: piece.cancels });
            }
            Err(error) => issues.push(ParseIssue { line: piece.line, uid: uid(piece.text), error }),
        }
    }
    // The clock of each series, on which its changed occurrences are named.
    let masters = found.iter().filter(|one| one.event.replaces.is_none());
    let masters: HashMap<String, Clock> =
        masters.map(|one| (one.event.uid.clone(), Clock::of(&one.event.details.when))).collect();
    let mut places: HashMap<(String, Option<DateTime>), usize> = HashMap::new();
    let mut kept: Vec<ParsedEvent<'a>> = Vec::with_capacity(found.len());
    for mut one in found {
        if let Some(stamp) = &one.event.replaces {
            let own = Clock::of_stamp(stamp);
            let clock = masters.get(&one.event.uid).unwrap_or(&own);
            if clock.guesses(stamp) {
                one.event.remarks.push(Error::TimeForADay("RECURRENCE-ID"));
            }
            match clock.start(stamp) {
                Ok(start) => one.replaces = Some(start),
                Err(error) => {
                    issues.push(ParseIssue { line: one.line, uid: Some(one.event.uid), error });
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
                let uid = Some(one.event.uid.clone());
                issues.push(ParseIssue { line: one.line, uid, error: Error::Twice });
                let (before, version) = (earlier.event.version, one.event.version);
                // A message that cancels need not be a later version.
                let cancels = one.cancels && !earlier.cancels && !version.is_older(before);
                if cancels || before.is_older(version) {
                    *earlier = one;
                }
            }
        }
    }
    (kept, zones)
}

/// Returns the starts of the events of a file, each with the name of its zone; of a large file the first ones. A file
/// without a zone of its own needs none.
fn starts(pieces: &[Piece<'_>]) -> Vec<(String, DateTime)> {
    if pieces.iter().all(|piece| piece.kind != Kind::Zone) {
        return Vec::new();
    }
    let events = pieces.iter().filter(|piece| piece.kind == Kind::Event);
    let starts = events.filter_map(|piece| {
        let (_, line) = lines(piece.text).find(|(_, line)| name(line).eq_ignore_ascii_case("DTSTART"))?;
        let civil = DateTime::strptime("%Y%m%dT%H%M%S", line.rsplit(':').next()?).ok()?;
        Some((line[zone(&line)?].to_owned(), civil))
    });
    starts.take(MAX_STARTS).collect()
}

/// Runs a step for one event. A panic in it, also one of another crate, costs that event alone.
fn contain_panic<T>(step: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or(Err(Error::Unreadable))
}

/// Returns an issue for each kind of component that is neither an event nor a zone, at the first of the kind: there may
/// be as many tasks as events.
fn others(pieces: &[Piece<'_>]) -> impl Iterator<Item = ParseIssue> {
    let mut others: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for piece in pieces.iter().filter(|piece| piece.kind == Kind::Other) {
        let name: String = piece.name.chars().take(MAX_NAME).collect();
        others.entry(name.to_ascii_uppercase()).or_insert((piece.line, 0)).1 += 1;
    }
    let issue = |(name, (line, count))| ParseIssue {
        line,
        uid: None,
        error: Error::NoEvent { name, more: count - 1 },
    };
    others.into_iter().map(issue)
}

/// Returns the uid of an event that cannot be read otherwise.
fn uid(text: &str) -> Option<String> {
    let (_, line) = lines(text).find(|(_, line)| name(line).eq_ignore_ascii_case("UID"))?;
    let (_, value) = line.split_once(':')?;
    Some(value.trim().to_owned()).filter(|uid| !uid.is_empty())
}

fn draft(
    event: Component<'_>,
    replaces: Option<DateTime>,
    own: &Zone,
    horizon: Horizon,
    budget: &mut Budget,
) -> Result<Draft, Error> {
    let when = &event.details.when;
    let zone = when.zone.as_ref().unwrap_or(own);
    let start = resolve(when.start, zone)?.0;
    let ends_at = end_of(&start, length_in(when, zone)?)?.timestamp();
    let recurrence = event.details.recurrence.as_ref();
    let mut found = match event.status {
        EventStatus::Cancelled => Vec::new(),
        EventStatus::Confirmed | EventStatus::Tentative => {
            occurrences(when, recurrence, own, horizon, budget)?
        }
    };
    if let (Some(replaced), None) = (replaces, recurrence) {
        for occurrence in &mut found {
            occurrence.key = replaced.to_string();
        }
    }
    Ok(Draft {
        uid: event.uid,
        replaces,
        title: event.title,
        status: event.status,
        details: event.details,
        starts_at: start.timestamp(),
        ends_at,
        occurrences: found,
        etag: None,
        line: 0,
        source: String::new(),
    })
}
