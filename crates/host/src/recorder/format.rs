//! The format of a recording: a JSON line with its origin, then a JSON line for each line that passed.
//!
//! The format is stable, because a recording may be read on another machine by another version.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use adjutant_base::config::recorder::RecordedConnection;
use adjutant_base::text::hex;

/// The number of the format, in every header.
pub const FORMAT: u32 = 1;

adjutant_base::named_enum! {
    /// The direction of a line. The client is the side that sends the first request.
    Direction {
        /// From the client to the server.
        C2s = "c2s",
        /// From the server to the client.
        S2c = "s2c",
        /// The stderr of the server.
        Err = "err",
        /// A note of the recorder itself.
        Note = "note",
    }
}

/// The first line of each file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub recording: u32,
    /// The version of this program that recorded it.
    pub adjutant: String,
    pub connection: RecordedConnection,
    /// The name of the recording.
    pub session: String,
    pub about: String,
    /// RFC 3339.
    pub started: String,
    /// The process that recorded it.
    pub pid: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Number of this file in its recording, from 0. Files between the first and the last two are removed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub part: u32,
}

/// A recorded line, or another event of the connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry<'a> {
    /// Number in the recording, from 1, in the order in which the lines passed.
    pub seq: u64,
    /// Time at which its end passed, in milliseconds since 1970.
    pub at: i64,
    /// The same on a monotonic clock, in microseconds since the start of the recording.
    pub us: u64,
    pub dir: Direction,
    /// The HTTP request that the line belongs to, counted from 1; 0 for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub call: u64,
    /// The line without its end.
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    pub line: Option<Cow<'a, str>>,
    /// The line in hexadecimal digits, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hex: Option<String>,
    /// Set if no line end followed: the next entry of this direction continues the line, or the direction ended.
    #[serde(default, skip_serializing_if = "is_false")]
    pub more: bool,
    /// Set at the end of this direction.
    #[serde(default, skip_serializing_if = "is_false")]
    pub end: bool,
    /// Number of bytes that passed before this entry and could not be kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
    /// Exit code of the server's process, as in a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
}

impl<'a> Entry<'a> {
    /// Creates an entry without a line.
    pub fn new(seq: u64, at: i64, us: u64, dir: Direction) -> Self {
        let (call, missed) = (0, 0);
        Self { seq, at, us, dir, call, line: None, hex: None, more: false, end: false, missed, exit: None }
    }

    /// Adds the bytes of a line.
    pub(crate) fn with_bytes(self, bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self { line: Some(text.into()), ..self },
            Err(_) => Self { hex: Some(hex::encode(bytes)), ..self },
        }
    }

    /// Returns the bytes of the line, as they passed; `None` without a line.
    pub fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        match (&self.line, &self.hex) {
            (Some(line), _) => Some(Cow::Borrowed(line.as_bytes())),
            (None, Some(hex)) => Some(Cow::Owned(from_hex(hex))),
            (None, None) => None,
        }
    }

    /// Returns the JSON message: the line, or the data of an event in an event stream.
    pub fn message(&self) -> Option<Value> {
        let line = self.line.as_deref()?.trim();
        let json = line.strip_prefix("data:").unwrap_or(line).trim_start();
        json.starts_with(['{', '[']).then(|| serde_json::from_str(json).ok()).flatten()
    }
}

/// Decodes hexadecimal digits; invalid pairs are left out.
fn from_hex(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok());
    pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{Direction, Entry};

    #[test]
    fn mutated_lines_of_a_recording_are_read_or_refused() {
        let corpus = [
            r#"{"seq":1,"at":1763892000000,"us":5,"dir":"c2s","line":"{\"jsonrpc\":\"2.0\",\"id\":1}"}"#,
            r#"{"seq":2,"at":-1,"us":0,"dir":"s2c","call":3,"line":"data: [1]","more":true}"#,
            r#"{"seq":3,"at":0,"us":9,"dir":"err","hex":"ff00","missed":7,"end":true,"exit":-9}"#,
        ];
        adjutant_base::fuzz::run(&corpus, |line| {
            if let Ok(entry) = serde_json::from_str::<Entry<'_>>(line) {
                let _ = (entry.bytes(), entry.message());
            }
        });
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let entry = Entry::new(1, 2, 3, Direction::C2s).with_bytes(&bytes);
            let json = serde_json::to_string(&entry).unwrap();
            let again: Entry<'_> = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(&again, &entry);
            let bytes_again = again.bytes().unwrap().into_owned();
            prop_assert_eq!(bytes_again, bytes);
        }
    }
}
