//! Texts clipped to a length, with an ellipsis for the rest.

use std::borrow::Cow;

/// Returns at most `max_chars` characters of a text, and an ellipsis if there are more.
pub fn chars(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Returns whole characters of at most `max_bytes` bytes of a text, and an ellipsis if there are more.
pub fn bytes(text: &str, max_bytes: usize) -> Cow<'_, str> {
    match text.floor_char_boundary(max_bytes) {
        end if end < text.len() => format!("{}…", &text[..end]).into(),
        _ => text.into(),
    }
}
