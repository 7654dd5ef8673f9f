//! Text in lines of one style, as the views draw it.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::text_input::Editor;
use super::wrap::{width, wrap};
use adjutant_base::text::escape_invisible;

/// A text in lines of one style.
pub(crate) fn styled(text: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    wrap(&escape_invisible::escape(text), columns, 0)
        .into_iter()
        .map(|line| Line::from(Span::styled(line, style)))
        .collect()
}

/// Fills a line to the right edge, for a bar of one colour.
pub(crate) fn fill(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Returns the lines of an editor, with a mark at the cursor.
pub(crate) fn typed(editor: &Editor, columns: usize, style: Style, hidden: bool) -> Vec<Line<'static>> {
    let (before, after) = editor.halves();
    let visible = |text: &str| {
        if hidden { "•".repeat(text.chars().count()) } else { escape_invisible::escape(text).into_owned() }
    };
    let text = format!("{}▏{}", visible(before), visible(after));
    let lines = text.split('\n').flat_map(|line| wrap(line, columns, 0));
    lines.map(|line| Line::from(Span::styled(line, style))).collect()
}
