//! Text in lines of one style, as the views draw it.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::text_input::Editor;
use super::wrap::{width, wrap};
use adjutant_base::text::escape_invisible;
use adjutant_base::text::timefmt;

/// A text in lines of one style.
pub(crate) fn styled(text: &str, room: usize, style: Style) -> Vec<Line<'static>> {
    wrap(&escape_invisible::escape(text), room, 0)
        .into_iter()
        .map(|line| Line::from(Span::styled(line, style)))
        .collect()
}

/// Fills a line to the right edge, for a bar of one colour.
pub(crate) fn fill(text: &str, room: usize) -> String {
    format!("{text}{}", " ".repeat(room.saturating_sub(width(text))))
}

/// Says how long ago something was, or how long it takes.
pub(crate) fn span(millis: i64) -> String {
    timefmt::span(Duration::from_millis(u64::try_from(millis).unwrap_or_default()))
}

/// A text that is being typed, on one or more lines, with a mark where the next character goes.
pub(crate) fn typed(editor: &Editor, room: usize, style: Style, hidden: bool) -> Vec<Line<'static>> {
    let (before, after) = editor.halves();
    let shown = |text: &str| {
        if hidden { "•".repeat(text.chars().count()) } else { escape_invisible::escape(text).into_owned() }
    };
    let text = format!("{}▏{}", shown(before), shown(after));
    let lines = text.split('\n').flat_map(|line| wrap(line, room, 0));
    lines.map(|line| Line::from(Span::styled(line, style))).collect()
}
