//! Progress lines of a turn, for a client that asked for progress.

use adjutant_codex::approval::Approval;
use adjutant_codex::event::{CodexEvent, ItemKind};
use adjutant_codex::patch::FileChange;

/// Returns the progress line of an event; `None` for an event without one.
pub(super) fn line(event: &CodexEvent) -> Option<String> {
    let line = match event {
        CodexEvent::TurnStarted { .. } => "the turn runs".to_owned(),
        CodexEvent::ItemStarted { item } => match &item.kind {
            ItemKind::Command { command, .. } => format!("runs {command}"),
            ItemKind::Patch { changes } => format!("changes {}", paths(changes)),
            ItemKind::Tool { server, tool, .. } => format!("calls {server}.{tool}"),
            ItemKind::Reasoning { .. } => "thinks".to_owned(),
            ItemKind::User { .. }
            | ItemKind::Agent { .. }
            | ItemKind::Plan { .. }
            | ItemKind::Error { .. }
            | ItemKind::Other { .. } => return None,
        },
        CodexEvent::ItemEnded { item } => match &item.kind {
            ItemKind::Agent { text } => text.clone(),
            _ => return None,
        },
        CodexEvent::ApprovalRequested { approval } => {
            format!("waits for the user: {}", Approval::line(approval))
        }
        _ => return None,
    };
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn paths(changes: &[FileChange]) -> String {
    changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>().join(", ")
}
