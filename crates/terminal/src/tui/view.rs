//! Draws the inbox from its state.

mod list;
mod pending_approvals;
mod question;

pub(super) use question::field_lines;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::inbox::{Inbox, ListLayer, Timestamps, unproven_text};
use super::question_form::QuestionForm;
use super::theme::Theme;
use super::widgets::styled_text::{fill, styled};
use super::widgets::wrap::{cut, width};
use adjutant_base::text::escape_invisible;
use adjutant_base::text::timefmt::seconds_left;
use adjutant_host::git::Facts;

/// Columns from which the list and a question are next to each other.
const WIDE_LAYOUT_WIDTH: u16 = 120;
/// Maximum columns of the list next to a question.
const MAX_LIST_WIDTH: u16 = 100;
/// Columns of the line between the list and a question.
const GAP_WIDTH: u16 = 3;
/// Maximum columns of a question, because longer lines are hard to read.
const MAX_TEXT_WIDTH: u16 = 100;

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, inbox: &Inbox, theme: Theme, now: Timestamps) {
    let area = frame.area();
    if area.height < 3 || area.width < 10 {
        frame.render_widget(Paragraph::new("too small"), area);
        return;
    }
    let foot = foot(inbox, theme, now, usize::from(area.width));
    let rows = u16::try_from(foot.len()).unwrap_or(u16::MAX).min(area.height - 1);
    let body = Rect { height: area.height - rows, ..area };
    let text = Rect { width: body.width.min(MAX_TEXT_WIDTH), ..body };
    let preview = inbox.questions.get(inbox.selected).filter(|_| inbox.form.is_none());
    let preview = preview.map(|question| QuestionForm::preview(question.clone(), now.at));
    match (&inbox.form, &inbox.approvals, preview) {
        (None, Some(approvals), _) => pending_approvals::draw(frame, text, approvals, theme),
        (Some(form), _, _) if body.width >= WIDE_LAYOUT_WIDTH => {
            let beside = panes(frame, body, inbox, theme, now);
            question::draw(frame, beside, inbox, form, theme, now);
        }
        (None, None, Some(preview)) if body.width >= WIDE_LAYOUT_WIDTH => {
            let beside = panes(frame, body, inbox, theme, now);
            question::draw(frame, beside, inbox, &preview, theme, now);
        }
        (Some(form), _, _) => question::draw(frame, text, inbox, form, theme, now),
        (None, None, _) => list::draw(frame, body, inbox, theme, now),
    }
    frame.render_widget(Paragraph::new(foot), Rect { y: area.y + area.height - rows, height: rows, ..area });
}

/// Draws the list and a line next to it. Returns the area at its right. The list gets a third of the columns, and those
/// that a question leaves.
fn panes(frame: &mut Frame<'_>, body: Rect, inbox: &Inbox, theme: Theme, now: Timestamps) -> Rect {
    let spare = body.width.saturating_sub(MAX_TEXT_WIDTH + GAP_WIDTH);
    let list = Rect { width: (body.width / 3).max(spare).min(MAX_LIST_WIDTH), ..body };
    list::draw(frame, list, inbox, theme, now);
    let line = vec![Line::from(Span::styled("│", theme.quiet())); usize::from(body.height)];
    frame.render_widget(Paragraph::new(line), Rect { x: list.right() + 1, width: 1, ..body });
    let left = list.width + GAP_WIDTH;
    Rect { x: body.x + left, width: (body.width - left).min(MAX_TEXT_WIDTH), ..body }
}

/// Returns the lines at the bottom: the decision to undo, the notice and the keys.
fn foot(inbox: &Inbox, theme: Theme, now: Timestamps, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(reason) = &inbox.disconnected {
        lines.extend(styled(&format!("! {reason}"), columns, theme.alarm()));
    }
    if let Some(missing) = &inbox.unproven {
        lines.extend(styled(&format!("! {}", unproven_text(missing)), columns, theme.alarm()));
    }
    if let Some(undo) = &inbox.undo {
        let seconds = seconds_left(undo.until, now.millis);
        let key = if inbox.form.as_ref().is_some_and(QuestionForm::takes_text) { "Ctrl-Z" } else { "u" };
        let strip = format!("{} · {key} undoes it · {seconds} s", undo.notice);
        lines.push(Line::from(Span::styled(fill(&cut(&strip, columns), columns), Theme::focus())));
    } else if let Some((notice, _)) = &inbox.notice {
        lines.extend(styled(notice, columns, theme.good()));
    }
    if inbox.layer == Some(ListLayer::Help) && inbox.form.is_none() {
        lines.extend(key_lines(&list::KEYS, columns));
    }
    let hints = match (&inbox.form, &inbox.approvals) {
        (Some(form), _) => question::hints(inbox, form, now),
        (None, Some(approvals)) => pending_approvals::hints(approvals),
        (None, None) => list::hints(inbox),
    };
    lines.extend(packed(&hints, columns).iter().flat_map(|line| styled(line, columns, theme.quiet())));
    lines
}

/// Returns the lines that explain all keys of a view.
fn key_lines(keys: &[&str], columns: usize) -> Vec<Line<'static>> {
    let mut lines = styled("Keys", columns, Theme::strong());
    lines.extend(keys.iter().flat_map(|line| styled(line, columns, Style::new())));
    lines
}

/// Puts keys into lines, so that none is broken unless it is longer than a line.
fn packed(hints: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for hint in hints {
        match lines.last_mut().filter(|line| width(line) + 2 + width(hint) <= columns) {
            Some(line) => line.extend(["  ", hint]),
            None => lines.push(hint.clone()),
        }
    }
    lines
}

/// Fits the parts of a line about a question into `columns`. The last part, the deadline, is never cut, because an answer
/// after it counts for nothing.
fn fitted(name: &str, facts: &str, last: &str, columns: usize) -> (String, String, String) {
    let last = format!(" · {last}");
    let free = columns.saturating_sub(width(&last));
    let name = cut(name, free);
    let facts = cut(facts, free - width(&name));
    (name, facts, last)
}

/// Returns the name of a workspace, with its branch if the hub knows it.
fn workspace_label(inbox: &Inbox, workspace: &str) -> Option<String> {
    let path = escape_invisible::escape_line(workspace);
    let name = path.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty())?.to_owned();
    match inbox.facts.get(workspace) {
        Some(Ok(Facts { branch: Some(branch), .. })) => {
            Some(format!("{name} ({})", escape_invisible::escape_line(branch)))
        }
        _ => Some(name),
    }
}
