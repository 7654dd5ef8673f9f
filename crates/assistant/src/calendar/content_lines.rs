//! Content lines of iCalendar text, and the zones that they name (RFC 5545 3.1 and 3.2.19).

use std::borrow::Cow;
use std::ops::Range;

/// Returns the content lines of a text, each in its original form with its breaks, and unfolded.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = 0;
        loop {
            end += rest[end..].find('\n').map_or(rest.len() - end, |at| at + 1);
            if !rest[end..].starts_with([' ', '\t']) {
                break;
            }
        }
        let (raw, after) = rest.split_at(end);
        rest = after;
        let line = raw.trim_end_matches(['\r', '\n']);
        let unfolded = if line.contains('\n') {
            let parts = line.split('\n').enumerate();
            let part = |(number, part): (usize, &str)| {
                let part = part.strip_suffix('\r').unwrap_or(part);
                // The first character of a continuation line is the fold.
                part[usize::from(number > 0)..].to_owned()
            };
            Cow::Owned(parts.map(part).collect())
        } else {
            Cow::Borrowed(line)
        };
        Some((raw, unfolded))
    })
}

/// Returns the lines of an event without those of its alarms.
pub(super) fn own_lines(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let mut depth = 0;
    lines(text).filter_map(move |(_, line)| {
        let name = name(&line);
        depth += i32::from(name.eq_ignore_ascii_case("BEGIN"));
        let own = depth == 1;
        depth -= i32::from(name.eq_ignore_ascii_case("END"));
        own.then_some(line)
    })
}

/// Returns the range of the name of the zone in a content line, without quotes; `None` where it has none.
pub(super) fn zone(line: &str) -> Option<Range<usize>> {
    parameter(line, "TZID")
}

/// Returns the name of a content line's property, as it is written.
pub(super) fn name(line: &str) -> &str {
    // By bytes: each line of a calendar comes here several times.
    let end = line.bytes().position(|byte| matches!(byte, b';' | b':'));
    &line[..end.unwrap_or(line.len())]
}

/// Returns the value of a content line. A colon between quotes is a part of a parameter.
pub(super) fn value(line: &str) -> &str {
    let mut quoted = false;
    let colon = line.find(|c| {
        quoted ^= c == '"';
        c == ':' && !quoted
    });
    colon.map_or("", |at| line[at + 1..].trim())
}

/// Returns the range of the value of a parameter in a content line, without quotes; `None` where it has none.
pub(super) fn parameter(line: &str, name: &str) -> Option<Range<usize>> {
    let mut quoted = false;
    let mut start = None;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ';' | ':' if !quoted => {
                if let Some(parameter) = start.and_then(|start: usize| line.get(start..at))
                    && let Some((found, value)) = parameter.split_once('=')
                    && found.eq_ignore_ascii_case(name)
                {
                    let from = at - value.len();
                    // A quoted value ends with its quote, or this mark would not be its end.
                    let marks = usize::from(line[from..at].starts_with('"'));
                    return (from + 2 * marks <= at).then(|| from + marks..at - marks);
                }
                if c == ':' {
                    return None;
                }
                start = Some(at + 1);
            }
            _ => {}
        }
    }
    None
}

/// Escapes a text value by RFC 5545 3.3.11. The backslash goes first, or it would escape the escapes.
pub(super) fn escape(text: &str) -> String {
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

/// Reads the id of a time zone, which is a text in its definition and a parameter elsewhere.
pub(super) fn unescape_id(text: &str) -> String {
    text.replace("\\,", ",").replace("\\;", ";")
}

/// Writes a content line in lines of at most 75 octets, cut between characters.
pub(super) fn fold(out: &mut String, line: &str) {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;
    use proptest::prop_assert_eq;

    use super::{lines, zone};

    #[test]
    fn a_zone_is_found_in_its_parameter_alone() {
        let name = |line: &str| zone(line).map(|at| line[at].to_owned());
        assert_eq!(name("DTSTART;TZID=Europe/Berlin:20260101T100000").as_deref(), Some("Europe/Berlin"));
        assert_eq!(
            name("DTSTART;X=\"a;b:c\";tzid=\"Berlin; office\":2026").as_deref(),
            Some("Berlin; office")
        );
        for none in ["SUMMARY:;TZID=Europe/Berlin:x", "DTSTART:2026", "X;Y=\";TZID=a:\":b", "DTSTART;TZID=x"]
        {
            assert_eq!(name(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn all_of_a_text_is_in_its_lines(text in "[a\n\r \t;:\"é]{0,40}") {
            let whole: String = lines(&text).map(|(raw, _)| raw).collect();
            prop_assert_eq!(whole, text);
        }

        #[test]
        fn any_line_is_searched(line in "([;:=\"é]|TZID|x){0,20}") {
            if let Some(at) = zone(&line) {
                let _ = &line[at];
            }
        }
    }
}
