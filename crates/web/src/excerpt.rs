//! Excerpts of long text: its beginning, and the length of the rest.

use minijinja::{Value, context};

use adjutant_base::text::escape_invisible;

/// Maximum bytes of one text on a page, because a task may have a megabyte.
const MAX_BYTES: usize = 64 * 1024;

/// Characters of a title, which is a line or two.
const MAX_TITLE_CHARS: usize = 120;

/// Returns the part of a text that is shown.
pub(super) fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}

/// Returns the first line of a text as a title.
pub(super) fn title(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let mut title: String = line.chars().take(MAX_TITLE_CHARS).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    title
}

/// Returns the beginning of a text, with the length of the whole and the number of hidden characters.
pub(super) fn of(text: &str) -> Value {
    let part = beginning(text);
    context! { text => part, bytes => text.len(), clipped => part.len() < text.len(), hidden => escape_invisible::count_invisible(part) }
}

/// Returns the beginning of a text as HTML, which `render` makes of it.
pub(super) fn rendered(text: &str, render: fn(&str) -> String) -> Value {
    let part = beginning(text);
    context! { html => Value::from_safe_string(render(part)), clipped => part.len() < text.len() }
}
