//! The JSON of a client's event, read so that no argument that an agent wrote makes the event unreadable: without the event
//! no rule could deny the call.

use std::borrow::Cow;
use std::io::{self, BufRead, Read as _};

use serde_json::Value;

/// Maximum bytes of an event. A model writes far less in one call.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// Levels of objects and arrays that are parsed, less than the 128 of the parser, because the hub's message has levels of its own.
const MAX_DEPTH: usize = 64;

/// What replaces half of a surrogate pair, which JavaScript writes for a string that was cut within a letter.
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

/// Parses a value. Bytes that are no UTF-8 and halves of surrogate pairs become U+FFFD. A value below 64 levels and a number
/// that no float holds become the text that stands for them in the JSON.
pub(super) fn parse(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(bytes)
        .or_else(|_| serde_json::from_str(&repaired(&String::from_utf8_lossy(bytes))))
}

/// Where a reader of JSON is: in a string or not, and how deep.
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

/// Returns the escape at the beginning of `rest`, and what stands for it.
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
