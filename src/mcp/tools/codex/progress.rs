//! What happens in a turn, in a line each, for a client that asked for progress.

use crate::codex::approval::Approval;
use crate::codex::happened::{Change, Happened, Kind};

/// Returns what a client is told of it; nothing for what is not worth a line.
pub(super) fn line(happened: &Happened) -> Option<String> {
    let line = match happened {
        Happened::TurnStarted { .. } => "the turn runs".to_owned(),
        Happened::ItemStarted { item } => match &item.kind {
            Kind::Command { command, .. } => format!("runs {command}"),
            Kind::Patch { changes } => format!("changes {}", paths(changes)),
            Kind::Tool { server, tool, .. } => format!("calls {server}.{tool}"),
            Kind::Reasoning { .. } => "thinks".to_owned(),
            Kind::User { .. } | Kind::Agent { .. } | Kind::Error { .. } | Kind::Other { .. } => return None,
        },
        Happened::ItemEnded { item } => match &item.kind {
            Kind::Agent { text } => text.clone(),
            _ => return None,
        },
        Happened::Asked { approval } => format!("waits for a person: {}", Approval::line(approval)),
        _ => return None,
    };
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn paths(changes: &[Change]) -> String {
    changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>().join(", ")
}
