//! Items as lines of the screen. Untrusted text is escaped, long text is cut until it is opened.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::theme::Theme;
use crate::tui::widgets::wrap::wrap;
use adjutant_base::text::escape_invisible;
use adjutant_codex::approval::ResolvedApproval;
use adjutant_codex::event::{Item, ItemKind, ItemState};
use adjutant_codex::patch::FileChange;

/// Lines of an item that is opened; the browser and the store have more.
const MOST: usize = 2000;

/// How much of an item is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Some,
    /// Up to [`MOST`] lines.
    All,
}

/// Which lines of a text stay when it is cut.
#[derive(Clone, Copy)]
enum NumberedItem {
    First(usize),
    Last(usize),
}

/// Returns the lines of an item, each at most `room` columns wide, and whether something is left out.
pub(super) fn of(item: &Item, part: Part, room: usize, theme: Theme) -> (Vec<Line<'static>>, bool) {
    let mut page = Page { lines: Vec::new(), cut: false, part, room, theme };
    match &item.kind {
        ItemKind::User { text } => page.text("› ", text, Theme::strong(), NumberedItem::First(20)),
        ItemKind::Agent { text } => page.text("", text, Style::new(), NumberedItem::First(MOST)),
        ItemKind::Reasoning { text } => page.text("∴ ", text, theme.quiet(), NumberedItem::First(2)),
        ItemKind::Command { command, output, exit_code, .. } => {
            page.text("$ ", command, theme.hunk(), NumberedItem::First(6));
            page.text("  ", output.trim_end_matches('\n'), theme.quiet(), NumberedItem::Last(6));
            if let Some(code) = exit_code.filter(|code| *code != 0) {
                page.text("  ", &format!("exit {code}"), theme.alarm(), NumberedItem::First(1));
            }
        }
        ItemKind::Patch { changes } => page.changes(changes, 12),
        ItemKind::Tool { server, tool, arguments, result } => {
            page.text("⚙ ", &format!("{server}.{tool} {arguments}"), theme.hunk(), NumberedItem::First(4));
            page.text("  ", result.as_deref().unwrap_or_default(), theme.quiet(), NumberedItem::First(4));
        }
        ItemKind::Error { message } => page.text("✗ ", message, theme.alarm(), NumberedItem::First(8)),
        ItemKind::Other { name, content } => match ResolvedApproval::read(content) {
            Some(settled) => {
                let text = format!("{}: {}", settled.outcome(), settled.line());
                page.text("✓ ", &text, theme.good(), NumberedItem::First(3));
            }
            None => page.text("· ", name, theme.quiet(), NumberedItem::First(2)),
        },
    }
    let word = match item.state {
        ItemState::Running => Some(("… running", theme.quiet())),
        ItemState::Failed => Some(("failed", theme.alarm())),
        ItemState::Declined => Some(("declined", theme.alarm())),
        ItemState::Done => None,
    };
    // A message that grows needs no word for it.
    if let Some((word, style)) =
        word.filter(|_| !matches!(item.kind, ItemKind::Agent { .. } | ItemKind::User { .. }))
    {
        page.text("  ", word, style, NumberedItem::First(1));
    }
    (page.lines, page.cut)
}

/// Returns the files of a patch, all of it.
pub(super) fn changes(changes: &[FileChange], room: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut page = Page { lines: Vec::new(), cut: false, part: Part::All, room, theme };
    page.changes(changes, MOST);
    page.lines
}

/// Returns a text, all of it.
pub(super) fn text(text: &str, room: usize, style: Style) -> Vec<Line<'static>> {
    let lines = text.split('\n').flat_map(|line| wrap(&harmless(line), room, 0));
    lines.map(|line| Line::from(Span::styled(line, style))).collect()
}

struct Page {
    lines: Vec<Line<'static>>,
    cut: bool,
    part: Part,
    room: usize,
    theme: Theme,
}

impl Page {
    /// Adds a text behind a sign; lines after the first are indented as far.
    fn text(&mut self, sign: &str, text: &str, style: Style, kept: NumberedItem) {
        if text.is_empty() {
            return;
        }
        let indent = sign.chars().count();
        let room = self.room.saturating_sub(indent);
        let lines: Vec<String> = text.split('\n').flat_map(|line| wrap(&harmless(line), room, 0)).collect();
        let (from, to) = match (self.part, kept) {
            (Part::All, _) => (0, MOST),
            (Part::Some, NumberedItem::First(most)) => (0, most),
            (Part::Some, NumberedItem::Last(most)) => (lines.len().saturating_sub(most), lines.len()),
        };
        let to = to.min(lines.len());
        if from > 0 {
            self.left_out(from);
        }
        for (number, line) in lines[from..to].iter().enumerate() {
            let lead = if number == 0 && from == 0 { sign.to_owned() } else { " ".repeat(indent) };
            self.lines.push(Line::from(vec![Span::styled(lead, style), Span::styled(line.clone(), style)]));
        }
        if to < lines.len() {
            self.left_out(lines.len() - to);
        }
    }

    fn changes(&mut self, changes: &[FileChange], most: usize) {
        for change in changes {
            self.text(
                "± ",
                &format!("{} ({})", change.path, change.how),
                Theme::strong(),
                NumberedItem::First(2),
            );
            let rows: Vec<&str> = change.diff.trim_end_matches('\n').split('\n').collect();
            let most = if self.part == Part::All { MOST } else { most };
            // The content of a new file has no signs before its lines.
            let whole = change.how == "add" && !change.diff.starts_with("@@");
            for row in rows.iter().take(most) {
                let style = match row.chars().next() {
                    _ if whole => self.theme.added(),
                    Some('+') => self.theme.added(),
                    Some('-') => self.theme.removed(),
                    Some('@') => self.theme.hunk(),
                    _ => Style::new(),
                };
                let sign = if whole { "  +" } else { "  " };
                self.text(sign, if row.is_empty() { " " } else { row }, style, NumberedItem::First(MOST));
            }
            if rows.len() > most {
                self.left_out(rows.len() - most);
            }
        }
    }

    fn left_out(&mut self, lines: usize) {
        self.cut = true;
        let text = format!("  … {lines} more {}", if lines == 1 { "line" } else { "lines" });
        self.lines.push(Line::from(Span::styled(text, self.theme.quiet())));
    }
}

/// A line without what a terminal would obey, and with tabs as the columns they would take.
fn harmless(line: &str) -> String {
    escape_invisible::escape(line.trim_end_matches('\r')).replace('\t', "    ")
}
