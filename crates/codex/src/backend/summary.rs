//! Short summaries of notifications.

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::Value;

use super::super::approval::shell_line;
use super::super::event::RawNotification;
use adjutant_base::text::clip;

/// Characters of a summary.
const MAX_CHARS: usize = 512;

/// Returns a notification with its parameters as compact JSON, cut at 512 characters.
pub(super) fn of_params(method: String, params: &Value) -> RawNotification {
    let (text, cut) = compact(params);
    notification(method, &text, cut)
}

/// Returns a notification with the type of a `codex/event` message and its text, otherwise with its members.
pub(super) fn of_event(method: String, message: &Value) -> RawNotification {
    let Some(kind) = message["type"].as_str() else { return of_params(method, message) };
    if let Some(argv) = message["command"].as_array() {
        let argv: Vec<String> = argv.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect();
        return notification(method, &format!("{kind}: {}", shell_line(&argv)), false);
    }
    let text = ["message", "text", "delta", "last_agent_message", "unified_diff", "reason", "prompt"]
        .iter()
        .find_map(|member| message[member].as_str());
    if let Some(text) = text {
        let beginning: String = text.chars().take(MAX_CHARS).collect();
        let cut = beginning.len() < text.len();
        return notification(method, &format!("{kind}: {beginning}"), cut);
    }
    if message.as_object().is_some_and(|members| members.len() > 1) {
        let (text, cut) = compact(message);
        return notification(method, &format!("{kind} {text}"), cut);
    }
    notification(method, kind, false)
}

/// Returns the beginning of a value as compact JSON, and whether more follows.
fn compact(value: &Value) -> (String, bool) {
    // The whole capacity at once, because every line of a session needs one.
    let mut bounded = BoundedWriter(Vec::with_capacity(MAX_CHARS));
    // It fails only when it is full.
    let cut = serde_json::to_writer(&mut bounded, value).is_err();
    (String::from_utf8_lossy(&bounded.0).into_owned(), cut)
}

fn notification(method: String, text: &str, cut: bool) -> RawNotification {
    let summary = match clip::chars(text, MAX_CHARS) {
        Cow::Borrowed(text) if !cut => return RawNotification { method, summary: text.to_owned(), cut },
        Cow::Borrowed(text) => format!("{text}…"),
        Cow::Owned(clipped) => clipped,
    };
    RawNotification { method, summary, cut: true }
}

/// Holds the bytes that 512 characters can need, and then fails: parameters may be megabytes.
struct BoundedWriter(Vec<u8>);

impl Write for BoundedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = (MAX_CHARS * 4).saturating_sub(self.0.len());
        if room == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.len().min(room);
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
