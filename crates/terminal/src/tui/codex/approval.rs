//! A pending approval as lines of the screen.

use ratatui::text::Line;

use super::item_lines;
use crate::tui::theme::Theme;
use crate::tui::widgets::markdown;
use crate::tui::widgets::styled_text::{QUOTE_WIDTH, quoted};
use adjutant_codex::approval::{Approval, Decision, Detail, Part};

/// Returns the lines of an approval; `others` is the number of approvals after it.
pub(super) fn lines(approval: &Approval, others: usize, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let more = if others == 0 { String::new() } else { format!(" ({others} more after it)") };
    let mut all = item_lines::text("", &format!("{}{more}", approval.title()), columns, Theme::strong());
    let (rest, first): (Vec<_>, Vec<_>) =
        approval.details().into_iter().partition(|detail| detail.part == Part::Rest);
    let (places, actions): (Vec<_>, Vec<_>) =
        first.into_iter().partition(|detail| detail.part == Part::Place);
    all.extend(facts(actions, columns, theme));
    all.extend(item_lines::changes(approval.changes(), columns, theme));
    all.extend(facts(places, columns, theme));
    for words in approval.words() {
        let lines = markdown::lines(words, columns.saturating_sub(QUOTE_WIDTH), theme);
        all.extend(quoted(lines, theme));
    }
    all.extend(facts(rest, columns, theme));
    all
}

fn facts(details: Vec<Detail>, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let lines = details.into_iter().flat_map(|Detail { label, text, .. }| {
        let (sign, style) = match label {
            "command" => ("$ ".to_owned(), theme.hunk()),
            label => (format!("{label}: "), theme.quiet()),
        };
        item_lines::text(&sign, &text, columns, style)
    });
    lines.collect()
}

/// Returns the keys that answer an approval.
pub(super) fn keys(approval: &Approval) -> String {
    let mut keys = Vec::new();
    if approval.kind.is_form() {
        keys.push("Ctrl-Y fills it in");
    } else {
        for choice in &approval.choices {
            match choice {
                Decision::Approve => keys.push("Ctrl-Y approve"),
                Decision::ApproveForSession => keys.push("Ctrl-T approve for this session"),
                Decision::ApproveAlways => keys.push("Ctrl-P approve, and do not ask again"),
                Decision::Deny { .. } | Decision::Abort | Decision::Content(_) => {}
            }
        }
    }
    keys.extend(["Ctrl-D deny (the typed text is the reason)", "Ctrl-X deny and stop"]);
    keys.join("  ")
}
