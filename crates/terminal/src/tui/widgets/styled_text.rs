//! Text in lines of one style, as the views draw it.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::text_input::Editor;
use super::wrap::{width, wrap};
use crate::tui::theme::Theme;
use adjutant_base::text::escape_invisible;

/// Columns of the mark before an agent's words.
pub(crate) const QUOTE_WIDTH: usize = 2;

/// A text in lines of one style.
pub(crate) fn styled(text: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    wrap(&escape_invisible::escape(text), columns, 0)
        .into_iter()
        .map(|line| Line::from(Span::styled(line, style)))
        .collect()
}

/// Puts a mark of [`QUOTE_WIDTH`] columns before lines of an agent, so that none looks like a line of the view.
pub(crate) fn quoted(mut lines: Vec<Line<'static>>, theme: Theme) -> Vec<Line<'static>> {
    for line in &mut lines {
        line.spans.insert(0, Span::styled("┃ ", theme.quiet()));
    }
    lines
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
