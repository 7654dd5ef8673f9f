//! Resolution of a `TZID` to a time zone. An unknown name is an error of the caller, never UTC.

use std::collections::HashMap;

use calcard::common::timezone::Tz;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::content_lines::{fold, lines, unescape_id, zone};
use crate::time_zone::Zone;

/// The zones that a calendar file names: those of the tz database, and those that the file defines.
#[derive(Debug, Default)]
pub(super) struct Zones {
    defined: HashMap<String, Zone>,
}

impl Zones {
    /// Reads a `VTIMEZONE`. Its place counts, by its name or by the properties that some programs add (`X-LIC-LOCATION`,
    /// `X-MICROSOFT-CDO-TZID`), unless the definition contradicts the place at one of the `starts` of the file. The rules
    /// of any other definition are followed.
    pub(super) fn define(&mut self, text: &str, starts: &[(String, DateTime)]) {
        let value = |name: &str| {
            text.lines().find_map(|line| {
                let (head, value) = line.split_once(':')?;
                head.split(';').next()?.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            })
        };
        // The id is a text here, and a parameter in events.
        let Some(id) = value("TZID").map(|id| unescape_id(&id)) else { return };
        let meant = named(&id)
            .or_else(|| named(&value("X-LIC-LOCATION")?))
            .or_else(|| of_world(Tz::from_ms_cdo_zone_id(&value("X-MICROSOFT-CDO-TZID")?)?));
        let defined = Zone::defined(text);
        let contradicts = |world: &Zone, defined: &Zone| {
            let at = |zone: &Zone, start| zone.rules().to_timestamp(start).ok();
            let mut starts = starts.iter().filter(|(zone, _)| *zone == id).map(|(_, start)| *start);
            starts.any(|start| {
                at(defined, start).is_some_and(|instant| {
                    is_defined_at(defined.rules(), instant)
                        && at(world, start) != Some(instant)
                        && !leaves_out_summer(defined.rules(), world.rules(), instant)
                })
            })
        };
        let zone = match (meant, defined) {
            (Some(world), Some(defined)) if contradicts(&world, &defined) => Some(defined),
            (world, defined) => world.or(defined),
        };
        if let Some(zone) = zone {
            self.defined.insert(id, zone);
        }
    }

    /// Returns a component with the IANA names of its zones, because the names of a file are defined in that file only.
    pub(super) fn with_iana_names(&self, text: &str) -> String {
        let foreign = |id: &str| self.defined.get(id).filter(|zone| zone.name() != id && named(id).is_none());
        if !self.defined.keys().any(|id| foreign(id).is_some()) {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        for (raw, line) in lines(text) {
            match zone(&line).and_then(|at| Some((foreign(&line[at.clone()])?, at))) {
                Some((meant, mut at)) => {
                    // The quotes go with the name that needed them.
                    if line[..at.start].ends_with('"') {
                        at = at.start - 1..at.end + 1;
                    }
                    fold(&mut out, &format!("{}{}{}", &line[..at.start], meant.name(), &line[at.end..]));
                }
                None => out.push_str(raw),
            }
        }
        out
    }

    /// Returns the zone a `TZID` means in this file.
    pub(super) fn get(&self, id: &str) -> Option<Zone> {
        self.defined.get(id).cloned().or_else(|| named(id))
    }
}

/// Returns whether a definition counts at an instant: not before its first change, and not after the last of several,
/// because some programs list the changes of a few years.
fn is_defined_at(zone: &TimeZone, at: Timestamp) -> bool {
    zone.following(at)
        .next()
        .is_some_and(|change| change.timestamp() > at && zone.preceding(at).next().is_some())
        || zone.preceding(at).count() == 1
}

/// Returns whether a definition has nothing but the standard time of a place that has summer time at an instant: some
/// programs write no more of a zone than its first time.
fn leaves_out_summer(defined: &TimeZone, world: &TimeZone, at: Timestamp) -> bool {
    // jiff repeats the last change of a zone for later years.
    let fixed = defined.preceding(at).count() <= 1
        && defined.following(at).next().is_none_or(|change| change.timestamp() <= at);
    let summer = world.preceding(at).next().filter(|change| change.dst().is_dst());
    let before = summer.and_then(|change| change.timestamp().checked_sub(SignedDuration::from_secs(1)).ok());
    fixed && before.is_some_and(|before| world.to_offset(before) == defined.to_offset(at))
}

/// Returns the zone of that name: the names of the tz database, those of Windows, an offset (`UTC+01`), and a name after
/// the prefix of a registry (`/mozilla.org/20050126_1/Europe/Berlin`).
pub(super) fn named(name: &str) -> Option<Zone> {
    let name = name.trim().trim_matches('"');
    let known = |name: &str| Zone::named(name).ok().filter(|zone| !zone.rules().is_unknown());
    if let Some(zone) = known(name) {
        return Some(zone);
    }
    if let Some(zone) = of_offset(name) {
        return Some(zone);
    }
    if let Some(path) = name.strip_prefix('/') {
        let parts: Vec<&str> = path.split('/').collect();
        // The name of a place has one to three parts, and the longest that is known is meant.
        return (1..=3)
            .rev()
            .filter(|count| *count <= parts.len())
            .find_map(|count| known(&parts[parts.len() - count..].join("/")));
    }
    // The offset in `(UTC+01:00) Somewhere` is that of the winter, and names no place.
    let offset_alone = |zone: &Zone| name.starts_with('(') && zone.name().starts_with("Etc/GMT");
    of_world(name.parse::<Tz>().ok()?).filter(|zone| !offset_alone(zone))
}

/// The zone of `UTC+1`, `GMT+01` or `UTC-05:30`.
fn of_offset(name: &str) -> Option<Zone> {
    let (head, rest) = name.split_at_checked(3)?;
    let (sign, offset) = rest.split_at_checked(1)?;
    let (hours, minutes) = match offset.split_once(':') {
        Some(parts) => parts,
        None if offset.len() > 2 => offset.split_at_checked(offset.len() - 2)?,
        None => (offset, "0"),
    };
    let part = |digits: &str, end: u8| digits.parse::<u8>().ok().filter(|n| *n < end && digits.len() <= 2);
    let (hours, minutes) = (part(hours, 15)?, part(minutes, 60)?);
    if !(head.eq_ignore_ascii_case("UTC") || head.eq_ignore_ascii_case("GMT")) || !matches!(sign, "+" | "-") {
        return None;
    }
    let to = format!("{sign}{hours:02}{minutes:02}");
    Zone::defined(&format!(
        "TZID:{name}\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:{to}\nTZOFFSETTO:{to}\nEND:STANDARD\n"
    ))
}

/// A zone of the tz database; an offset alone is not the zone of a place.
fn of_world(zone: Tz) -> Option<Zone> {
    match zone {
        Tz::Tz(zone) => Zone::named(zone.name()).ok(),
        Tz::Fixed(_) | Tz::Floating => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Zones, named};
    use crate::time_zone::Zone;

    #[test]
    fn names_of_several_makers_mean_a_place() {
        let name = |id: &str| named(id).map(|zone| zone.name().to_owned());
        assert_eq!(name("Europe/Berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(name("Eastern Standard Time").as_deref(), Some("America/New_York"));
        assert_eq!(name("/mozilla.org/20050126_1/Europe/Berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(
            name("/softwarestudio.org/Olson_20011030_5/America/Argentina/Ushuaia").as_deref(),
            Some("America/Argentina/Ushuaia")
        );
        assert_eq!(name("/Europe/Stockholm").as_deref(), Some("Europe/Stockholm"));
        assert_eq!(name("europe/BERLIN").as_deref(), Some("Europe/Berlin"));
        for unknown in [
            "Mars/Olympus_Mons",
            "",
            "Etc/Unknown",
            "(GMT +01:00)",
            "(UTC+02:00) Atlantis",
            "/nowhere",
            "GMT+25",
            "+05:00",
            "UTC+",
            "UTC+1:60",
        ] {
            assert_eq!(name(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn an_offset_is_a_zone_that_can_be_stored() {
        for (id, seconds) in [
            ("UTC+01", 3600),
            ("utc+11", 39600),
            ("GMT-5", -18000),
            ("UTC+05:30", 19800),
            ("UTC-0330", -12600),
        ] {
            let zone = named(id).unwrap();
            assert_eq!(
                (zone.name(), zone.rules().to_offset(jiff::Timestamp::UNIX_EPOCH).seconds()),
                (id, seconds)
            );
            let stored: String = zone.clone().into();
            assert_eq!(Zone::try_from(stored).unwrap(), zone);
        }
    }

    #[test]
    fn a_zone_of_the_file_without_observances_is_one_of_the_world_or_none() {
        let mut zones = Zones::default();
        zones.define(
            "BEGIN:VTIMEZONE\r\nTZID:Berlin office\r\nX-LIC-LOCATION:Europe/Berlin\r\nEND:VTIMEZONE\r\n",
            &[],
        );
        zones.define("BEGIN:VTIMEZONE\r\nTZID:Moon base\r\nEND:VTIMEZONE\r\n", &[]);
        assert_eq!(
            zones.get("Berlin office").map(|zone| zone.name().to_owned()).as_deref(),
            Some("Europe/Berlin")
        );
        assert!(zones.get("Moon base").is_none());
        let event = "BEGIN:VEVENT\r\nDTSTART;X=1;TZID=\"Berlin office\":20260101T100000\r\nSUMMARY:Berlin\r\n  office\r\nEND:VEVENT\r\n";
        let named_by_iana = zones.with_iana_names(event);
        assert_eq!(named_by_iana, event.replace("\"Berlin office\"", "Europe/Berlin"));
    }
}
