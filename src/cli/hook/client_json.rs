//! The JSON of a client's event, read so that no argument that an agent wrote makes the event unreadable: without the event
//! no rule could deny the call.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, Read as _};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Maximum bytes of an event. A model writes far less in one call.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// Levels of objects and arrays that are parsed, less than the 128 of the parser, because the hub's message has levels
/// of its own.
const MAX_DEPTH: usize = 64;

/// The beginning of the name of the member that keeps values which a later member of the same name replaced.
const EARLIER_MEMBERS: &str = "given before, and replaced";

/// The replacement of half a surrogate pair, which JavaScript writes for a string that was cut within a letter.
const REPLACEMENT: &str = "\\ufffd";

/// Reads the first value only, because a client need not close the pipe. Returns nothing if there is no input.
pub(super) fn read(input: impl BufRead) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut structure = Structure::default();
    for byte in input.take(MAX_BYTES).bytes() {
        let byte = byte?;
        bytes.push(byte);
        if structure.ends_with(byte) {
            break;
        }
    }
    Ok(bytes)
}

/// Parses a value. Bytes that are not UTF-8 and halves of surrogate pairs become U+FFFD. A value below 64 levels, and a
/// number that no float holds, become strings with their JSON. Of members with one name the last counts, as for the
/// clients; the others are kept below a further one.
pub(super) fn parse(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(bytes)
        .or_else(|_| serde_json::from_str(&repaired(&String::from_utf8_lossy(bytes))))
        .map(|Whole(value)| value)
}

/// Returns whether an object, or one in it, was given a member more than once.
pub(super) fn is_doubled(members: &Map<String, Value>) -> bool {
    fn is_in(value: &Value) -> bool {
        match value {
            Value::Object(members) => is_doubled(members),
            Value::Array(values) => values.iter().any(is_in),
            _ => false,
        }
    }
    members.iter().any(|(name, value)| name.starts_with(EARLIER_MEMBERS) || is_in(value))
}

/// A value that has lost no member.
struct Whole(Value);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeVisitor)
    }
}

struct WholeVisitor;

impl<'de> Visitor<'de> for WholeVisitor {
    type Value = Whole;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Whole, E> {
        Ok(Whole(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Whole, E> {
        Ok(Whole(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Whole, E> {
        Ok(Whole(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Whole, E> {
        Ok(Whole(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Whole, E> {
        Ok(Whole(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Whole, E> {
        Ok(Whole(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Whole, E> {
        Ok(Whole(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Whole, A::Error> {
        let mut values = Vec::new();
        while let Some(Whole(value)) = access.next_element()? {
            values.push(value);
        }
        Ok(Whole(values.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Whole, A::Error> {
        let (mut members, mut earlier) = (Map::new(), Vec::new());
        while let Some((name, Whole(value))) = access.next_entry::<String, Whole>()? {
            earlier.extend(members.insert(name, value));
        }
        if !earlier.is_empty() {
            let mut name = EARLIER_MEMBERS.to_owned();
            while members.contains_key(&name) {
                name.push('_');
            }
            members.insert(name, earlier.into());
        }
        Ok(Whole(members.into()))
    }
}

/// The position of a reader of JSON: its depth, and whether it is in a string.
#[derive(Debug, Default)]
struct Structure {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Structure {
    /// Takes the next byte, and returns whether an object or an array of the top level ends with it.
    fn ends_with(&mut self, byte: u8) -> bool {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.in_string => self.is_escaped = true,
            b'"' => self.in_string = !self.in_string,
            b'{' | b'[' if !self.in_string => self.depth += 1,
            b'}' | b']' if !self.in_string => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

fn repaired(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut structure = Structure::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (taken, kept) = if structure.in_string && first == '\\' {
            escape(rest)
        } else if !structure.in_string && structure.depth == MAX_DEPTH && matches!(first, '{' | '[') {
            let (deep, _) = rest.split_at(end_of_value(rest));
            (deep, as_string(deep))
        } else if !structure.in_string && (first.is_ascii_digit() || first == '-') {
            number(rest)
        } else {
            let (letter, _) = rest.split_at(first.len_utf8());
            (letter, Cow::Borrowed(letter))
        };
        if let [byte] = taken.as_bytes() {
            structure.ends_with(*byte);
        }
        out.push_str(&kept);
        rest = &rest[taken.len()..];
    }
    out
}

/// Returns the escape at the beginning of `rest`, and its replacement.
fn escape(rest: &str) -> (&str, Cow<'_, str>) {
    let unit = |at: usize| {
        let digits = rest.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (taken, is_whole) = match (unit(0), unit(6)) {
        (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => (12, true),
        (Some(0xd800..0xe000), _) => (6, false),
        (Some(_), _) => (6, true),
        (None, _) => (1 + rest[1..].chars().next().map_or(0, char::len_utf8), true),
    };
    let (taken, _) = rest.split_at(taken);
    (taken, Cow::Borrowed(if is_whole { taken } else { REPLACEMENT }))
}

/// Returns the number at the beginning of `rest`, as a string if no float holds it.
fn number(rest: &str) -> (&str, Cow<'_, str>) {
    let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')));
    let (taken, _) = rest.split_at(end.unwrap_or(rest.len()));
    let is_infinite = taken.parse().is_ok_and(f64::is_infinite);
    (taken, if is_infinite { as_string(taken) } else { Cow::Borrowed(taken) })
}

/// Returns the length of the object or the array at the beginning of `rest`.
fn end_of_value(rest: &str) -> usize {
    let mut structure = Structure::default();
    rest.bytes().position(|byte| structure.ends_with(byte)).map_or(rest.len(), |last| last + 1)
}

fn as_string(json: &str) -> Cow<'_, str> {
    Cow::Owned(Value::from(json).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_agent_writes_does_not_make_an_event_unreadable() {
        for (json, expected) in [
            (&br#"{"a": "\ud800", "b": "rm"}"#[..], json!({"a": "\u{fffd}", "b": "rm"})),
            (
                br#"["\udc00x", "\ud83d\ude00", "\ud83d\u0041", "\ud83d"]"#,
                json!(["\u{fffd}x", "😀", "\u{fffd}A", "\u{fffd}"]),
            ),
            (br#"["\\ud800", "\"\ud800"]"#, json!(["\\ud800", "\"\u{fffd}"])),
            (b"[\"a\xff\"]", json!(["a\u{fffd}"])),
            (br#"{"a": 1e999, "b": -1, "c": [2.5e3, 7]}"#, json!({"a": "1e999", "b": -1, "c": [2500.0, 7]})),
        ] {
            assert_eq!(parse(json).unwrap(), expected, "{}", String::from_utf8_lossy(json));
        }
        let deep =
            format!(r#"{{"command": "rm", "x": {}["a"]{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let parsed = parse(deep.as_bytes()).unwrap();
        assert_eq!(parsed["command"], "rm");
        assert!(parsed.to_string().contains(r#"[[[\"a\"]]]"#), "the values below are text");
        for json in [&b"{\"a\": \"\\"[..], b"\"\\ud800", b"[\"\\u00", b"{", b"", b"-"] {
            assert!(parse(json).is_err(), "{}", String::from_utf8_lossy(json));
        }
    }

    #[test]
    fn the_last_of_doubled_members_counts_and_the_others_are_kept() {
        for (json, expected) in [
            (r#"{"a": "ls", "b": 1, "a": "rm"}"#, json!({"a": "rm", "b": 1, EARLIER_MEMBERS: ["ls"]})),
            (r#"[{"x": {"a": 1, "\u0061": 2, "a": 3}}]"#, json!([{"x": {"a": 3, EARLIER_MEMBERS: [1, 2]}}])),
            (
                r#"{"given before, and replaced": 0, "a": 1, "a": 2}"#,
                json!({EARLIER_MEMBERS: 0, "a": 2, "given before, and replaced_": [1]}),
            ),
        ] {
            let parsed = parse(json.as_bytes()).unwrap();
            assert_eq!(parsed, expected, "{json}");
            assert!(is_doubled(&Map::from_iter([("in".to_owned(), parsed)])), "{json}");
        }
        let usual = parse(br#"{"a": [1, -2, 2.5, true, null, "x", {"b": {}}], "c": "a"}"#).unwrap();
        assert_eq!(usual, json!({"a": [1, -2, 2.5, true, null, "x", {"b": {}}], "c": "a"}));
        assert!(!is_doubled(usual.as_object().unwrap()));
    }

    #[test]
    fn the_first_value_is_read() {
        for (input, expected) in [
            (r#"{"a": "}\"]"} {"b": 1}"#, r#"{"a": "}\"]"}"#),
            (" [[], {}] ", " [[], {}]"),
            ("", ""),
            ("x", "x"),
        ] {
            assert_eq!(read(input.as_bytes()).unwrap(), expected.as_bytes(), "{input}");
        }
    }
}
