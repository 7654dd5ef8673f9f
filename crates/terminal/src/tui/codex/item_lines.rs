//! Items as lines of the screen. Untrusted text is escaped, and long text is cut until the user expands it.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::theme::Theme;
use crate::tui::widgets::markdown;
use crate::tui::widgets::wrap::wrap;
use adjutant_base::text::escape_invisible;
use adjutant_codex::approval::ResolvedApproval;
use adjutant_codex::event::{Item, ItemKind, ItemState};
use adjutant_codex::patch::FileChange;

/// Columns for the signs of the view.
const MARGIN: usize = 2;
/// Maximum lines of an expanded item; the console shows more.
const MAX_LINES: usize = 2000;

/// The visible part of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Some,
    /// Up to [`MAX_LINES`] lines.
    All,
}

/// The lines of a text that stay when it is cut.
#[derive(Clone, Copy)]
enum Excerpt {
    First(usize),
    Last(usize),
}

/// Returns the lines of an item, at most `columns` wide, and whether it was cut. `count` is the number of times that a
/// warning came.
///
/// Only this view writes into the first [`MARGIN`] columns, so that no text of a model looks like a line of the view.
pub(super) fn of(
    item: &Item,
    count: usize,
    part: Part,
    columns: usize,
    theme: Theme,
) -> (Vec<Line<'static>>, bool) {
    let times = if count > 1 { format!(" ×{count}") } else { String::new() };
    let mut page = Page { lines: Vec::new(), cut: false, part, columns, theme };
    match &item.kind {
        ItemKind::User { text } => page.text("› ", text, Theme::strong(), Excerpt::First(20)),
        ItemKind::Agent { text } => page.markdown("• ", text, Style::new(), Excerpt::First(MAX_LINES)),
        ItemKind::Reasoning { text } => page.markdown("∴ ", text, theme.quiet(), Excerpt::First(2)),
        ItemKind::Command { command, output, exit_code, .. } => {
            page.text("$ ", command, theme.hunk(), Excerpt::First(6));
            page.text("  ", output.trim_end_matches('\n'), theme.quiet(), Excerpt::Last(6));
            if let Some(code) = exit_code.filter(|code| *code != 0) {
                page.state(&format!("✗ exit {code}"), theme.alarm());
            }
        }
        ItemKind::Patch { changes } => page.changes(changes, 12),
        ItemKind::Tool { server, tool, arguments, result } => {
            page.text("⚙ ", &format!("{server}.{tool} {arguments}"), theme.hunk(), Excerpt::First(4));
            page.text("  ", result.as_deref().unwrap_or_default(), theme.quiet(), Excerpt::First(4));
        }
        ItemKind::Plan { .. } => page.text("☰ ", &item.kind.text(), theme.quiet(), Excerpt::First(12)),
        ItemKind::Error { message } => {
            page.text("✗ ", &format!("{message}{times}"), theme.alarm(), Excerpt::First(8));
        }
        ItemKind::Other { name, content } => match ResolvedApproval::read(content) {
            Some(resolved) => {
                let text = format!("{}: {}", resolved.outcome(), resolved.line());
                page.text("✓ ", &text, theme.good(), Excerpt::First(3));
            }
            None => page.text("· ", &format!("{name}{times}"), theme.quiet(), Excerpt::First(2)),
        },
    }
    let word = match item.state {
        ItemState::Running => Some(("▸ running", theme.quiet())),
        ItemState::Failed => Some(("✗ failed", theme.alarm())),
        ItemState::Declined => Some(("✗ declined", theme.alarm())),
        ItemState::Done => None,
    };
    // A growing message needs no mark.
    if let Some((word, style)) =
        word.filter(|_| !matches!(item.kind, ItemKind::Agent { .. } | ItemKind::User { .. }))
    {
        page.state(word, style);
    }
    (page.lines, page.cut)
}

/// Returns the lines of a patch.
pub(super) fn changes(changes: &[FileChange], columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut page = Page { lines: Vec::new(), cut: false, part: Part::All, columns, theme };
    page.changes(changes, MAX_LINES);
    page.lines
}

/// Returns the lines of a text after a sign. Further lines are indented by [`MARGIN`].
pub(super) fn text(sign: &str, text: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    let text = format!("{sign}{text}");
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let (lead, indent) = if lines.is_empty() { ("", MARGIN) } else { ("  ", 0) };
        let wrapped = wrap(&escape(line), columns.saturating_sub(lead.len()), indent);
        lines
            .extend(wrapped.into_iter().map(|line| Line::from(Span::styled(format!("{lead}{line}"), style))));
    }
    lines
}

struct Page {
    lines: Vec<Line<'static>>,
    cut: bool,
    part: Part,
    columns: usize,
    theme: Theme,
}

impl Page {
    /// Adds a text after a sign. Lines after the first are indented by its width.
    fn text(&mut self, sign: &str, text: &str, style: Style, kept: Excerpt) {
        if text.is_empty() {
            return;
        }
        let columns = self.columns.saturating_sub(sign.chars().count());
        let lines = text.split('\n').flat_map(|line| wrap(&escape(line), columns, 0));
        let lines = lines.map(|line| Line::from(Span::styled(line, style))).collect();
        self.put(sign, lines, style, kept);
    }

    /// Adds Markdown after a sign.
    fn markdown(&mut self, sign: &str, text: &str, style: Style, kept: Excerpt) {
        let columns = self.columns.saturating_sub(sign.chars().count());
        let mut lines = markdown::lines(text, columns, self.theme);
        for line in &mut lines {
            line.style = style;
        }
        self.put(sign, lines, style, kept);
    }

    /// Adds a line of the view.
    fn state(&mut self, words: &str, style: Style) {
        self.lines.push(Line::from(Span::styled(words.to_owned(), style)));
    }

    fn put(&mut self, sign: &str, lines: Vec<Line<'static>>, style: Style, kept: Excerpt) {
        let (from, to) = match (self.part, kept) {
            (Part::All, _) => (0, MAX_LINES),
            (Part::Some, Excerpt::First(limit)) => (0, limit),
            (Part::Some, Excerpt::Last(limit)) => (lines.len().saturating_sub(limit), lines.len()),
        };
        let to = to.min(lines.len());
        if from > 0 {
            self.add_cut_mark(from);
        }
        let rest = lines.len() - to;
        let indent = " ".repeat(sign.chars().count());
        for (number, mut line) in lines.into_iter().take(to).skip(from).enumerate() {
            let lead = if number == 0 && from == 0 { sign.to_owned() } else { indent.clone() };
            line.spans.insert(0, Span::styled(lead, style));
            self.lines.push(line);
        }
        if rest > 0 {
            self.add_cut_mark(rest);
        }
    }

    fn changes(&mut self, changes: &[FileChange], limit: usize) {
        for change in changes {
            self.text("± ", &format!("{} ({})", change.path, change.how), Theme::strong(), Excerpt::First(2));
            let rows: Vec<&str> = change.diff.trim_end_matches('\n').split('\n').collect();
            let limit = if self.part == Part::All { MAX_LINES } else { limit };
            // The lines of a new file have no signs.
            let is_new = change.how == "add" && !change.diff.starts_with("@@");
            for row in rows.iter().take(limit) {
                let style = match row.chars().next() {
                    _ if is_new => self.theme.added(),
                    Some('+') => self.theme.added(),
                    Some('-') => self.theme.removed(),
                    Some('@') => self.theme.hunk(),
                    _ => Style::new(),
                };
                let sign = if is_new { "  +" } else { "  " };
                self.text(sign, if row.is_empty() { " " } else { row }, style, Excerpt::First(MAX_LINES));
            }
            if rows.len() > limit {
                self.add_cut_mark(rows.len() - limit);
            }
        }
    }

    fn add_cut_mark(&mut self, lines: usize) {
        self.cut = true;
        let text = format!("… {lines} more {}", if lines == 1 { "line" } else { "lines" });
        self.state(&text, self.theme.quiet());
    }
}

/// Escapes control characters in a line, and replaces tabs.
fn escape(line: &str) -> String {
    escape_invisible::escape(line.trim_end_matches('\r')).replace('\t', "    ")
}
