//! Short summaries of notifications.

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::Value;

use super::super::approval::shell_line;
use adjutant_base::text::clip;

/// Characters of a summary.
const MAX_CHARS: usize = 512;

/// Returns parameters as compact JSON, cut at 512 characters.
pub(super) fn of_params(params: &Value) -> String {
    // The whole capacity at once, because every line of a session needs one.
    let mut cut = BoundedWriter(Vec::with_capacity(MAX_CHARS));
    // It fails only when it is full.
    let full = serde_json::to_writer(&mut cut, params).is_err();
    shorten(&String::from_utf8_lossy(&cut.0), full)
}

/// Returns the type of a `codex/event` message with its text, otherwise with its members.
pub(super) fn of_event(message: &Value) -> String {
    let Some(kind) = message["type"].as_str() else { return of_params(message) };
    if let Some(argv) = message["command"].as_array() {
        let argv: Vec<String> = argv.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect();
        return shorten(&format!("{kind}: {}", shell_line(&argv)), false);
    }
    let text = ["message", "text", "delta", "last_agent_message", "unified_diff", "reason", "prompt"]
        .iter()
        .find_map(|member| message[member].as_str());
    if let Some(text) = text {
        return shorten(&format!("{kind}: {}", text.chars().take(MAX_CHARS).collect::<String>()), false);
    }
    if message.as_object().is_some_and(|members| members.len() > 1) {
        return shorten(&format!("{kind} {}", of_params(message)), false);
    }
    kind.to_owned()
}

fn shorten(text: &str, cut: bool) -> String {
    match clip::chars(text, MAX_CHARS) {
        Cow::Borrowed(text) if cut => format!("{text}…"),
        clipped => clipped.into_owned(),
    }
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
