//! The pending approvals, each with all that it lets happen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::question::window;
use crate::tui::pending_approvals::PendingApprovals;
use crate::tui::theme::Theme;
use crate::tui::widgets::markdown;
use crate::tui::widgets::styled_text::{QUOTE_WIDTH, quoted, styled};
use adjutant_base::text::escape_invisible::escape_line;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, approvals: &PendingApprovals, theme: Theme) {
    let columns = usize::from(area.width);
    let mut lines = Vec::new();
    for (number, question) in approvals.questions.iter().enumerate() {
        let of = format!("{} of {}", number + 1, approvals.questions.len());
        let asked =
            if question.deliveries > 1 { format!(", {} times", question.deliveries) } else { String::new() };
        let head = format!("{of} · {}{} asks{asked}", question.asker(), question.place());
        lines.extend(styled(
            &escape_line(&head),
            columns,
            theme.agent(&question.client, &question.workspace),
        ));
        lines.extend(styled(&escape_line(&question.title), columns, Theme::strong()));
        let words = markdown::lines(&question.message, columns.saturating_sub(QUOTE_WIDTH), theme);
        lines.extend(quoted(words, theme));
        lines.push(Line::from(Span::styled("─".repeat(columns), theme.quiet())));
    }
    let height = usize::from(area.height);
    let shown = if lines.len() > height { height.saturating_sub(1) } else { height };
    approvals.rows.drawn(approvals.scroll, lines.len(), shown);
    let (lines, _) = window(lines, approvals.scroll, height, theme);
    frame.render_widget(Paragraph::new(lines), area);
}

pub(super) fn hints(approvals: &PendingApprovals) -> Vec<String> {
    let all = match approvals.questions.len() {
        1 => "it".to_owned(),
        count => format!("all {count}"),
    };
    let approves = if approvals.rows.is_read() {
        format!("y approves {all}")
    } else {
        "read to the end to approve".to_owned()
    };
    vec![approves, format!("n denies {all}"), "↑↓ PgUp PgDn".to_owned(), "Esc back".to_owned()]
}
