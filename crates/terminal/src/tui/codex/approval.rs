//! What Codex waits for, whole, as lines of the screen.

use ratatui::style::Style;
use ratatui::text::Line;

use super::lines;
use crate::codex::approval::{Approval, Decision, Wants};
use crate::tui::theme::Theme;

/// Returns the lines of an approval, of which `others` wait behind it.
pub(super) fn lines(approval: &Approval, others: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
    let title = match &approval.wants {
        Wants::Command { .. } => "Codex wants to run a command".to_owned(),
        Wants::Patch { .. } => "Codex wants to change files".to_owned(),
        Wants::Elicitation { server, .. } => format!("`{server}` asks through Codex"),
        Wants::Input { .. } => "Codex asks".to_owned(),
        Wants::Unknown { .. } => "Codex asks something unknown".to_owned(),
    };
    let behind = if others == 0 { String::new() } else { format!(" ({others} more behind it)") };
    let mut all = lines::text(&format!("{title}{behind}"), room, Theme::strong());
    if let Some(reason) = &approval.reason {
        all.extend(lines::text(reason, room, theme.quiet()));
    }
    match &approval.wants {
        Wants::Command { argv, cwd } => {
            all.extend(lines::text(&format!("$ {}", approval.command_line()), room, theme.hunk()));
            if argv.len() > 1 {
                let exact = serde_json::to_string(argv).unwrap_or_default();
                all.extend(lines::text(&format!("argv {exact}"), room, theme.quiet()));
            }
            if let Some(cwd) = cwd {
                all.extend(lines::text(&format!("in {cwd}"), room, theme.quiet()));
            }
        }
        Wants::Patch { changes } => all.extend(lines::changes(changes, room, theme)),
        Wants::Elicitation { message, .. } => all.extend(lines::text(message, room, Style::new())),
        Wants::Input { questions } => {
            for question in questions {
                all.extend(lines::text(&question.text, room, Style::new()));
            }
        }
        Wants::Unknown { method, params } => {
            all.extend(lines::text(&format!("{method} {params}"), room, Style::new()));
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
    match &approval.wants {
        Wants::Elicitation { schema, .. } => {
            schema["properties"].as_object().is_some_and(|fields| !fields.is_empty())
        }
        Wants::Input { .. } => true,
        Wants::Command { .. } | Wants::Patch { .. } | Wants::Unknown { .. } => false,
    }
}
