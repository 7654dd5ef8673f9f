//! A pending approval as lines of the screen.

use ratatui::style::Style;
use ratatui::text::Line;

use super::item_lines;
use crate::tui::theme::Theme;
use adjutant_codex::approval::{Approval, ApprovalKind, Decision};

/// Returns the lines of an approval, of which `others` wait behind it.
pub(super) fn lines(approval: &Approval, others: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
    let title = match &approval.kind {
        ApprovalKind::Command { .. } => "Codex wants to run a command".to_owned(),
        ApprovalKind::Patch { .. } => "Codex wants to change files".to_owned(),
        ApprovalKind::Elicitation { server, .. } => format!("`{server}` asks through Codex"),
        ApprovalKind::Input { .. } => "Codex asks".to_owned(),
        ApprovalKind::Unknown { .. } => "Codex asks something unknown".to_owned(),
    };
    let behind = if others == 0 { String::new() } else { format!(" ({others} more behind it)") };
    let mut all = item_lines::text(&format!("{title}{behind}"), room, Theme::strong());
    if let Some(reason) = &approval.reason {
        all.extend(item_lines::text(reason, room, theme.quiet()));
    }
    match &approval.kind {
        ApprovalKind::Command { argv, cwd } => {
            all.extend(item_lines::text(&format!("$ {}", approval.command_line()), room, theme.hunk()));
            if argv.len() > 1 {
                let exact = serde_json::to_string(argv).unwrap_or_default();
                all.extend(item_lines::text(&format!("argv {exact}"), room, theme.quiet()));
            }
            if let Some(cwd) = cwd {
                all.extend(item_lines::text(&format!("in {cwd}"), room, theme.quiet()));
            }
        }
        ApprovalKind::Patch { changes } => all.extend(item_lines::changes(changes, room, theme)),
        ApprovalKind::Elicitation { message, .. } => {
            all.extend(item_lines::text(message, room, Style::new()));
        }
        ApprovalKind::Input { questions } => {
            for question in questions {
                all.extend(item_lines::text(&question.text, room, Style::new()));
            }
        }
        ApprovalKind::Unknown { method, params } => {
            all.extend(item_lines::text(&format!("{method} {params}"), room, Style::new()));
        }
    }
    all
}

/// Returns which keys answer it.
pub(super) fn keys(approval: &Approval) -> String {
    let mut keys = Vec::new();
    if is_form(approval) {
        keys.push("Ctrl-Y fills it in");
    } else {
        for choice in &approval.choices {
            match choice {
                Decision::Approve => keys.push("Ctrl-Y approve"),
                Decision::ApproveForSession => keys.push("Ctrl-S approve for this session"),
                Decision::Deny { .. } | Decision::Abort | Decision::Content(_) => {}
            }
        }
    }
    keys.extend(["Ctrl-D deny (what is typed is why)", "Ctrl-X deny and stop"]);
    keys.join("  ")
}

/// Tells whether a plain yes is no answer to it.
pub(super) fn is_form(approval: &Approval) -> bool {
    match &approval.kind {
        ApprovalKind::Elicitation { schema, .. } => {
            schema["properties"].as_object().is_some_and(|fields| !fields.is_empty())
        }
        ApprovalKind::Input { .. } => true,
        ApprovalKind::Command { .. } | ApprovalKind::Patch { .. } | ApprovalKind::Unknown { .. } => false,
    }
}
