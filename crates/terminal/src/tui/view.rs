//! What is on the screen, drawn from the state and nothing else.

mod list;
mod question;

pub(super) use question::{filled, label};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::editor::Editor;
use super::inbox::{Inbox, Now};
use super::theme::Theme;
use super::wrap::{cut, width, wrap};
use crate::git::Facts;
use crate::visible;

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, inbox: &Inbox, theme: Theme, now: Now) {
    let area = frame.area();
    if area.height < 3 || area.width < 10 {
        frame.render_widget(Paragraph::new("too small"), area);
        return;
    }
    let foot = foot(inbox, theme, now, usize::from(area.width));
    let rows = u16::try_from(foot.len()).unwrap_or(u16::MAX).min(area.height - 1);
    let body = Rect { height: area.height - rows, ..area };
    match &inbox.sheet {
        Some(sheet) => question::draw(frame, body, inbox, sheet, theme, now),
        None => list::draw(frame, body, inbox, theme, now),
    }
    frame.render_widget(Paragraph::new(foot), Rect { y: area.y + area.height - rows, height: rows, ..area });
}

/// The lines at the bottom: what can be taken back, what happened, which keys do what.
fn foot(inbox: &Inbox, theme: Theme, now: Now, room: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(reason) = &inbox.lost {
        lines.extend(styled(&format!("! {reason}"), room, theme.alarm()));
    }
    if let Some(undo) = &inbox.undo {
        let seconds = u64::try_from(undo.until - now.millis).unwrap_or_default().div_ceil(1000);
        let key =
            if inbox.sheet.as_ref().is_some_and(super::sheet::Sheet::takes_text) { "Ctrl-Z" } else { "u" };
        let strip = format!("{} · {key} takes it back · {seconds} s", undo.said);
        lines.push(Line::from(Span::styled(fill(&cut(&strip, room), room), Theme::focus())));
    } else if let Some((said, _)) = &inbox.said {
        lines.extend(styled(said, room, theme.good()));
    }
    let hints = match &inbox.sheet {
        Some(sheet) => question::hints(sheet, now),
        None => list::hints(inbox),
    };
    lines.extend(styled(&hints.join("  "), room, theme.quiet()));
    lines
}

/// A text in lines of one style.
pub(super) fn styled(text: &str, room: usize, style: Style) -> Vec<Line<'static>> {
    wrap(&visible::plain(text), room, 0)
        .into_iter()
        .map(|line| Line::from(Span::styled(line, style)))
        .collect()
}

/// Fills a line to the right edge, for a bar of one colour.
pub(super) fn fill(text: &str, room: usize) -> String {
    format!("{text}{}", " ".repeat(room.saturating_sub(width(text))))
}

/// The workspace's own name, and the branch where the hub knows it.
fn place(inbox: &Inbox, workspace: &str) -> Option<String> {
    let path = visible::line(workspace);
    let name = path.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty())?.to_owned();
    match inbox.facts.get(workspace) {
        Some(Ok(Facts { branch: Some(branch), .. })) => Some(format!("{name} ({})", visible::line(branch))),
        _ => Some(name),
    }
}

/// Says how long ago something was, or how long it takes.
fn span(millis: i64) -> String {
    crate::clock::span(std::time::Duration::from_millis(u64::try_from(millis).unwrap_or_default()))
}

/// A text that is being typed, on one or more lines, with a mark where the next character goes.
pub(super) fn typed(editor: &Editor, room: usize, style: Style, hidden: bool) -> Vec<Line<'static>> {
    let (before, after) = editor.halves();
    let shown = |text: &str| {
        if hidden { "•".repeat(text.chars().count()) } else { visible::plain(text).into_owned() }
    };
    let text = format!("{}▏{}", shown(before), shown(after));
    let lines = text.split('\n').flat_map(|line| wrap(line, room, 0));
    lines.map(|line| Line::from(Span::styled(line, style))).collect()
}
