//! Writer of a `VTIMEZONE`, for programs that know time zones by their rules only (RFC 5545 3.6.5).

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use super::content_lines::{escape, fold};
use crate::time_zone::Zone;

/// How far ahead the changes of the clocks are read. Changes that repeat each year are written as a rule, and the
/// others are listed.
const AHEAD: SignedDuration = SignedDuration::from_hours(20 * 366 * 24);

/// Minimum number of yearly changes that make a rule.
const HELD: usize = 15;

/// One kind of change: from an offset to another.
struct Observance {
    daylight: bool,
    from: Offset,
    to: Offset,
    name: String,
    /// When it happens, on the clock before the change.
    starts: Vec<DateTime>,
}

/// Writes the changes of the clocks of a zone from `since` on, under the name `id`. Changes after `now` are a rule where
/// the clocks follow one.
pub(super) fn define(out: &mut String, id: &str, zone: &Zone, since: Timestamp, now: Timestamp) {
    fold(out, "BEGIN:VTIMEZONE");
    fold(out, &format!("TZID:{}", escape(id)));
    for observance in observances(zone, since, now) {
        let today = zone.civil(now.max(since));
        let coming = observance.starts.partition_point(|start| *start < today);
        let (past, future) = observance.starts.split_at(coming);
        if let Some(rule) = yearly(future) {
            write(out, &observance, past, None);
            write(out, &observance, &future[..1], Some(&rule));
        } else {
            write(out, &observance, &observance.starts, None);
        }
    }
    fold(out, "END:VTIMEZONE");
}

/// Returns every kind of change, by its first; the change that holds at `since` is one of them.
fn observances(zone: &Zone, since: Timestamp, now: Timestamp) -> Vec<Observance> {
    let rules = zone.rules();
    let until = now.max(since).saturating_add(AHEAD).unwrap_or(Timestamp::MAX);
    let second = SignedDuration::from_secs(1);
    // The iterator gives what lies before, and a change may fall on the very instant.
    let at_first = since.saturating_add(second).unwrap_or(since);
    let first = rules.preceding(at_first).next();
    // jiff repeats the last change of a zone without a rule for later years.
    let mut last = None;
    let following = rules.following(since).take_while(|change| {
        let repeated = last.replace(change.timestamp()) == Some(change.timestamp());
        change.timestamp() < until && !repeated
    });
    let mut found: Vec<Observance> = Vec::new();
    if first.is_none() {
        let info = rules.to_offset_info(since);
        found.push(Observance {
            daylight: info.dst().is_dst(),
            from: info.offset(),
            to: info.offset(),
            name: info.abbreviation().to_owned(),
            starts: vec![info.offset().to_datetime(since)],
        });
    }
    for change in first.into_iter().chain(following) {
        let before =
            change.timestamp().saturating_sub(second).map_or(change.offset(), |at| rules.to_offset(at));
        let start = before.to_datetime(change.timestamp());
        let (daylight, to, name) = (change.dst().is_dst(), change.offset(), change.abbreviation());
        let same = |one: &&mut Observance| {
            one.daylight == daylight && one.from == before && one.to == to && one.name == name
        };
        if let Some(one) = found.iter_mut().find(same) {
            one.starts.push(start);
        } else {
            let name = name.to_owned();
            found.push(Observance { daylight, from: before, to, name, starts: vec![start] });
        }
    }
    found
}

/// Returns the rule that these follow: once a year, on the same weekday of the same month, counted from its beginning
/// or from its end.
fn yearly(starts: &[DateTime]) -> Option<String> {
    let first = starts.first().filter(|_| starts.len() >= HELD)?;
    let alike = starts.windows(2).all(|pair| {
        pair[1].year() == pair[0].year() + 1
            && pair[1].month() == pair[0].month()
            && pair[1].weekday() == pair[0].weekday()
            && pair[1].time() == pair[0].time()
    });
    let count = |start: &DateTime| (start.day() - 1) / 7 + 1;
    let number = if starts.iter().all(|start| start.day() + 7 > start.days_in_month()) {
        "-1".to_owned()
    } else if starts.iter().all(|start| count(start) == count(first)) {
        count(first).to_string()
    } else {
        return None;
    };
    let day = first.strftime("%a").to_string().to_uppercase();
    alike.then(|| format!("RRULE:FREQ=YEARLY;BYMONTH={};BYDAY={number}{}", first.month(), &day[..2]))
}

fn write(out: &mut String, observance: &Observance, starts: &[DateTime], rule: Option<&str>) {
    let Some((first, more)) = starts.split_first() else { return };
    let kind = if observance.daylight { "DAYLIGHT" } else { "STANDARD" };
    let stamp = |at: &DateTime| at.strftime("%Y%m%dT%H%M%S").to_string();
    fold(out, &format!("BEGIN:{kind}"));
    fold(out, &format!("DTSTART:{}", stamp(first)));
    fold(out, &format!("TZOFFSETFROM:{}", offset(observance.from)));
    fold(out, &format!("TZOFFSETTO:{}", offset(observance.to)));
    fold(out, &format!("TZNAME:{}", escape(&observance.name)));
    if let Some(rule) = rule {
        fold(out, rule);
    }
    if !more.is_empty() {
        fold(out, &format!("RDATE:{}", more.iter().map(stamp).collect::<Vec<_>>().join(",")));
    }
    fold(out, &format!("END:{kind}"));
}

/// An offset as `+HHMM`, with seconds where there are some.
fn offset(offset: Offset) -> String {
    let seconds = offset.seconds();
    let (sign, seconds) = (if seconds < 0 { '-' } else { '+' }, seconds.abs());
    let rest = if seconds % 60 == 0 { String::new() } else { format!("{:02}", seconds % 60) };
    format!("{sign}{:02}{:02}{rest}", seconds / 3600, seconds / 60 % 60)
}
