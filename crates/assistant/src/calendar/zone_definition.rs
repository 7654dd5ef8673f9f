//! Reader of a `VTIMEZONE` (RFC 5545 3.6.5): its observances, followed as jiff follows a file of the tz database.

use jiff::civil::{DateTime, date};
use jiff::tz::{Offset, TimeZone};

use super::content_lines::{lines, name, unescape_id};
use super::rrule::{Anchor, Budget, dates};

/// Maximum bytes of a definition without the properties that are not followed. It is kept with every event.
const MAX_DEFINITION_BYTES: usize = 16 * 1024;
/// The years that the rules of a definition are followed in.
const YEARS: (DateTime, DateTime) = (date(1900, 1, 1).at(0, 0, 0, 0), date(2100, 1, 1).at(0, 0, 0, 0));
/// Bytes of the name of a time: `CEST`.
const MAX_ABBREVIATION: usize = 6;
/// The first line of a definition that was read, before its id.
pub(crate) const PREFIX: &str = "TZID:";

/// Standard or daylight time.
#[derive(Debug, Default)]
struct Observance {
    daylight: bool,
    from: Option<Offset>,
    to: Option<Offset>,
    abbreviation: String,
    start: Option<DateTime>,
    dates: Vec<DateTime>,
    rules: Vec<String>,
}

/// Reads a definition of a time zone. The name of the zone is the lines that it depends on, which can be read again.
/// `None` where the text defines no zone.
pub(crate) fn read(text: &str) -> Option<TimeZone> {
    let (mut id, mut kept) = (None, String::new());
    let mut observances: Vec<Observance> = Vec::new();
    let mut open: Option<Observance> = None;
    for (_, line) in lines(text) {
        let line = line.trim();
        let Some((_, value)) = line.split_once(':') else { continue };
        let property = name(line).to_ascii_uppercase();
        match (property.as_str(), &mut open) {
            ("TZID", None) => {
                id = Some(unescape_id(value.trim().trim_matches('"')));
                continue;
            }
            ("BEGIN", None)
                if ["STANDARD", "DAYLIGHT"].iter().any(|kind| value.eq_ignore_ascii_case(kind)) =>
            {
                let daylight = value.eq_ignore_ascii_case("DAYLIGHT");
                let abbreviation = "-00".to_owned();
                open = Some(Observance { daylight, abbreviation, ..Observance::default() });
            }
            ("END", Some(_)) => observances.extend(open.take()),
            ("TZOFFSETFROM", Some(observance)) => observance.from = offset(value),
            ("TZOFFSETTO", Some(observance)) => observance.to = offset(value),
            ("DTSTART", Some(observance)) => observance.start = civil(value),
            ("TZNAME", Some(observance)) => {
                let letters = value.chars().filter(char::is_ascii_alphanumeric).take(MAX_ABBREVIATION);
                let letters: String = letters.collect();
                if !letters.is_empty() {
                    observance.abbreviation = letters;
                }
            }
            ("RDATE", Some(observance)) => {
                observance.dates.extend(value.split(',').map(civil).collect::<Option<Vec<_>>>()?);
            }
            ("RRULE", Some(observance)) => observance.rules.push(value.to_owned()),
            _ => continue,
        }
        kept.push_str(line);
        kept.push('\n');
    }
    let definition = format!("{PREFIX}{}\n{kept}", id.filter(|id| !id.is_empty())?);
    if definition.len() > MAX_DEFINITION_BYTES {
        return None;
    }
    TimeZone::tzif(&definition, &tzif(&observances)?).ok()
}

/// Reads an offset as `+HHMM` or `+HHMMSS`.
fn offset(value: &str) -> Option<Offset> {
    let (sign, digits) = value.trim().split_at_checked(1)?;
    let sign = match sign {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let part = |from: usize| digits.get(from..from + 2)?.parse::<i32>().ok();
    let seconds = if digits.len() == 6 { part(4)? } else { 0 };
    Offset::from_seconds(sign * (part(0)? * 3600 + part(2)? * 60 + seconds)).ok()
}

fn civil(value: &str) -> Option<DateTime> {
    DateTime::strptime("%Y%m%dT%H%M%S", value.trim().trim_end_matches('Z')).ok()
}

/// Writes the changes of the clocks as RFC 8536 has them. Before the first change the first standard time holds.
fn tzif(observances: &[Observance]) -> Option<Vec<u8>> {
    let mut changes: Vec<(i64, usize)> = Vec::new();
    for (kind, observance) in observances.iter().enumerate() {
        let (from, start) = (observance.from?, observance.start?);
        let mut starts = vec![start];
        starts.extend(&observance.dates);
        for rule in &observance.rules {
            let anchor = Anchor { start, zone: &TimeZone::fixed(from), all_day: false };
            starts.extend(dates(rule, anchor, YEARS, &mut Budget::default()).ok()?);
        }
        for start in starts {
            changes.push((from.to_timestamp(start).ok()?.as_second(), kind));
        }
    }
    changes.sort_unstable();
    changes.dedup_by_key(|(at, _)| *at);
    let first = observances.iter().position(|observance| !observance.daylight).unwrap_or(0);
    // Kinds of time by their offset and season; the first holds before the first change.
    let mut kinds: Vec<&Observance> = vec![observances.get(first)?];
    let mut numbers = Vec::with_capacity(changes.len());
    for (_, kind) in &changes {
        let kind = &observances[*kind];
        let same = |one: &&Observance| one.to == kind.to && one.daylight == kind.daylight;
        let number = kinds.iter().position(same).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        });
        numbers.push(u8::try_from(number).ok()?);
    }
    let (mut types, mut names) = (Vec::new(), Vec::new());
    for kind in &kinds {
        types.extend(kind.to?.seconds().to_be_bytes());
        types.extend([u8::from(kind.daylight), u8::try_from(names.len()).ok()?]);
        names.extend(kind.abbreviation.as_bytes());
        names.push(0);
    }
    let header = |changes: usize, types: usize, names: usize| {
        let counts = [0, 0, 0, changes, types, names]
            .map(|count| u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
        [b"TZif2".as_slice(), &[0; 15], counts.as_flattened()].concat()
    };
    // The first block is for readers of 32 bits: one kind of time.
    let mut out = [header(0, 1, 1), vec![0; 7], header(changes.len(), kinds.len(), names.len())].concat();
    out.extend(changes.iter().flat_map(|(at, _)| at.to_be_bytes()));
    out.extend(numbers);
    out.extend(types);
    out.extend(names);
    out.extend(b"\n\n");
    Some(out)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::read;

    #[test]
    fn the_changes_of_a_definition_are_those_of_its_place() {
        let text = "BEGIN:VTIMEZONE\r\nTZID:US-Eastern\r\nBEGIN:STANDARD\r\nDTSTART:19671029T020000\r\n\
                    RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10;UNTIL=20061029T060000Z\r\nTZOFFSETFROM:-0400\r\n\
                    TZOFFSETTO:-0500\r\nTZNAME:EST\r\nEND:STANDARD\r\nBEGIN:DAYLIGHT\r\nDTSTART:19870405T020000\r\n\
                    RRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=4;UNTIL=20060402T070000Z\r\nTZOFFSETFROM:-0500\r\n\
                    TZOFFSETTO:-0400\r\nTZNAME:EDT\r\nEND:DAYLIGHT\r\nBEGIN:DAYLIGHT\r\nDTSTART:20070311T020000\r\n\
                    RRULE:FREQ=YEARLY;BYDAY=2SU;BYMONTH=3\r\nTZOFFSETFROM:-0500\r\nTZOFFSETTO:-0400\r\n\
                    TZNAME:EDT\r\nEND:DAYLIGHT\r\nBEGIN:STANDARD\r\nDTSTART:20071104T020000\r\n\
                    RRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=11\r\nTZOFFSETFROM:-0400\r\nTZOFFSETTO:-0500\r\n\
                    TZNAME:EST\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n";
        let zone = read(text).unwrap();
        let world = jiff::tz::TimeZone::get("America/New_York").unwrap();
        for day in date(1987, 5, 1).series(jiff::Span::new().days(1)).take(60 * 365) {
            let noon = day.at(12, 0, 0, 0);
            assert_eq!(zone.to_timestamp(noon).unwrap(), world.to_timestamp(noon).unwrap(), "{noon}");
        }
        assert_eq!(read(zone.iana_name().unwrap()).unwrap(), zone);
        for broken in
            ["TZID:x", &text.replace("TZOFFSETTO:-0500", "TZOFFSETTO:west"), &text.replace("TZID", "X")]
        {
            assert!(read(broken).is_none(), "{broken}");
        }
    }
}
