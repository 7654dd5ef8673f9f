//! The head of an HTTP request or response in a recording: a note of one line.

use std::fmt;

/// The header with a session's id; recordings hold another name in its place.
pub const SESSION: &str = "mcp-session-id";

/// The headers that are recorded, because MCP uses them. All others are ignored.
pub const HEADERS: [&str; 7] =
    ["accept", "content-type", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", SESSION];

/// The head of an HTTP request or response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// A method, or `HTTP` and a status.
    pub start: String,
    /// The headers that are in [`HEADERS`], in that order.
    pub headers: Vec<(&'static str, String)>,
}

impl Head {
    /// Parses a note. The value of a header may contain the separator of headers.
    pub(super) fn parse(note: &str) -> Option<Self> {
        let mut parts = note.split("; ");
        let start = parts.next()?.to_owned();
        let is_method = !start.is_empty() && start.bytes().all(|byte| byte.is_ascii_uppercase());
        let mut head = Self { start, headers: Vec::new() };
        if !is_method && head.status().is_none() {
            return None;
        }
        for part in parts {
            let named = part.split_once(": ");
            let known = named.and_then(|(name, value)| {
                HEADERS.into_iter().find(|known| *known == name).map(|name| (name, value.to_owned()))
            });
            match (known, head.headers.last_mut()) {
                (Some(header), _) => head.headers.push(header),
                (None, Some((_, value))) => *value = format!("{value}; {part}"),
                (None, None) => return None,
            }
        }
        Some(head)
    }

    /// Returns the status of a response.
    pub fn status(&self) -> Option<u16> {
        self.start.strip_prefix("HTTP ")?.split(' ').next()?.parse().ok()
    }

    /// Returns the value of a header, the first if there are several.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether the response is an event stream.
    pub fn is_stream(&self) -> bool {
        self.get("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.start)?;
        self.headers.iter().try_for_each(|(name, value)| write!(f, "; {name}: {value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Head;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        for note in [
            "POST; accept: application/json, text/event-stream; q=0.5; content-type: application/json",
            "GET; mcp-session-id: session-0a1b2c3d",
            "DELETE",
            "HTTP 202 Accepted",
            "HTTP 200 OK; content-type: text/event-stream; charset=utf-8",
        ] {
            assert_eq!(Head::parse(note).unwrap().to_string(), note);
        }
        assert_eq!(Head::parse("HTTP 404 Not Found").unwrap().status(), Some(404));
        for note in ["thread t-1", "", "HTTP x", "POST; x"] {
            assert_eq!(Head::parse(note), None, "{note}");
        }
    }
}
