//! The search for secrets in a message, string by string: a reader sees what a string holds, not its escapes.
//!
//! A string that is a message itself is searched as one. Names, and what belongs to them, are searched in the message.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::decoded_text::{ESCAPE, Reading, simplified, unescaped};
use super::scan::{Secret, merged, search};

/// Maximum number of messages within one another.
const MAX_DEPTH: usize = 8;
/// Maximum bytes of a string that is searched together with its neighbours: a name, a flag.
const MAX_NEIGHBOUR: usize = 64;
/// Minimum bytes of a string with a secret and the words that announce it.
const MIN_TEXT: usize = 8;

/// Returns the secrets of a text, in their order and without overlaps.
pub(super) fn scan(text: &[u8]) -> Vec<Secret> {
    merged(of_text(text, 0))
}

/// Returns the secrets of a message; what is in `delta` may be left out.
pub(super) fn scan_message(text: &[u8], delta: Option<&Range<usize>>) -> Vec<Secret> {
    merged(of_message(text, delta, 0))
}

/// Returns whether a line is a message of its own: JSON, or an event of a stream of events with JSON.
pub(super) fn is_message(line: &[u8]) -> bool {
    let json = json(line).trim_ascii();
    matches!((json.first(), json.last()), (Some(b'{'), Some(b'}')))
        || (json.starts_with(b"[{") || json.starts_with(b"[\"")) && json.ends_with(b"]")
}

fn json(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"data:").unwrap_or(line)
}

fn of_text(text: &[u8], depth: usize) -> Vec<Secret> {
    if depth < MAX_DEPTH && is_message(text) {
        return of_message(text, None, depth);
    }
    let mut found = Vec::new();
    search(text, 0..text.len(), &mut found);
    if let Some(reading) = simplified(text) {
        of_reading(&reading, &mut found);
    }
    found
}

fn of_reading(reading: &Reading, found: &mut Vec<Secret>) {
    let mut read = Vec::new();
    search(&reading.text, 0..reading.text.len(), &mut read);
    found.extend(read.into_iter().map(|secret| Secret { range: reading.raw(&secret.range), ..secret }));
}

fn of_message(text: &[u8], delta: Option<&Range<usize>>, depth: usize) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut strings = Vec::new();
    let (mut at, mut from, mut escaped_name) = (0, 0, false);
    while let Some(quote) = memchr::memchr(b'"', &text[at..]) {
        let start = at + quote + 1;
        let (end, escapes) = string_end(text, start);
        at = text.len().min(end + 1);
        let string = &text[start..end];
        strings.push(start..end);
        if text[at..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':') {
            escaped_name |= escapes || string.contains(&ESCAPE);
            continue;
        }
        let speaks = escapes || string.iter().any(|byte| matches!(*byte, b' ' | b'=' | b':' | ESCAPE));
        if speaks && string.len() >= MIN_TEXT && delta.is_none_or(|delta| delta.start != start) {
            let reading = if escapes { unescaped(string) } else { None };
            let content = reading.as_ref().map_or(string, |reading| &reading.text);
            found.extend(of_text(content, depth + 1).into_iter().map(|Secret { rule, range }| {
                let range = reading.as_ref().map_or(range.clone(), |reading| reading.raw(&range));
                Secret { rule, range: start + range.start..start + range.end }
            }));
            if string.len() > MAX_NEIGHBOUR {
                search(text, from..start, &mut found);
                from = end;
            }
        }
    }
    search(text, from..text.len(), &mut found);
    if let Some(reading) = if escaped_name { simplified(text) } else { None } {
        of_reading(&reading, &mut found);
    }
    if !found.is_empty() && serde_json::from_slice::<IgnoredAny>(json(text)).is_ok() {
        found = found.iter().flat_map(|secret| confined(text, secret, &strings)).collect();
    }
    found
}

/// Returns the end of a JSON string, and whether it has escapes.
fn string_end(text: &[u8], start: usize) -> (usize, bool) {
    let mut from = start;
    let mut escapes = false;
    while let Some(at) = memchr::memchr2(b'"', b'\\', &text[from..]).map(|length| from + length) {
        if text[at] == b'"' {
            return (at, escapes);
        }
        escapes = true;
        from = text.len().min(at + 2);
    }
    (text.len(), escapes)
}

/// Returns the parts of a secret that are in strings, without a divided escape: the message stays one.
fn confined(text: &[u8], secret: &Secret, strings: &[Range<usize>]) -> Vec<Secret> {
    let first = strings.partition_point(|string| string.end <= secret.range.start);
    let touched = strings[first..].iter().take_while(|string| string.start < secret.range.end);
    let part = |string: &Range<usize>| {
        let start = secret.range.start.max(string.start);
        let end = secret.range.end.min(string.end);
        let start = divided(text, string.start, start).map_or(start, |escape| escape.start);
        let end = divided(text, string.start, end).map_or(end, |escape| escape.end);
        Secret { rule: secret.rule, range: start..end }
    };
    touched.map(part).filter(|part| !part.range.is_empty()).collect()
}

/// Returns the escape that `at` would divide, in the string that begins at `start`.
fn divided(text: &[u8], start: usize, at: usize) -> Option<Range<usize>> {
    const MAX_ESCAPE: usize = 6;
    let last = text[start..at].iter().rev().take(MAX_ESCAPE - 1).position(|byte| *byte == b'\\')?;
    let last = at - 1 - last;
    let run = text[start..=last].iter().rev().take_while(|byte| **byte == b'\\').count();
    let end = last + if text.get(last + 1) == Some(&b'u') { MAX_ESCAPE } else { 2 };
    (run % 2 == 1 && at < end).then_some(last..end)
}
