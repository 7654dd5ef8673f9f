//! The layout of the input box: the typed text in rows of the screen.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::theme::Theme;
use crate::tui::widgets::styled_text::typed;
use crate::tui::widgets::text_input::Editor;

/// Maximum rows of the input box.
const MAX_ROWS: usize = 6;

/// Returns the rows of the typed text, or of an open search, with the row of the cursor.
pub(super) fn lines(
    editor: &Editor,
    search: Option<&Editor>,
    focused: bool,
    columns: usize,
) -> Vec<Line<'static>> {
    let style = if focused { Style::new() } else { Style::new().add_modifier(ratatui::style::Modifier::DIM) };
    if let Some(search) = search {
        return typed(search, columns.saturating_sub(1), Theme::strong(), false)
            .into_iter()
            .map(|line| lead("/", line))
            .take(MAX_ROWS)
            .collect();
    }
    let mut lines = typed(editor, columns.saturating_sub(2), style, false);
    let cursor = lines.iter().position(|line| line.to_string().contains('▏')).unwrap_or(0);
    let first = (cursor + 1).saturating_sub(MAX_ROWS);
    lines = lines.into_iter().skip(first).take(MAX_ROWS).collect();
    lines.into_iter().enumerate().map(|(at, line)| lead(if at == 0 { "> " } else { "  " }, line)).collect()
}

fn lead(sign: &'static str, line: Line<'static>) -> Line<'static> {
    let mut spans = vec![Span::raw(sign)];
    spans.extend(line.spans);
    Line::from(spans)
}
