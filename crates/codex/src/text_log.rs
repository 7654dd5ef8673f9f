//! A session as lines of text, for pipes and logs.
//!
//! Every notification of Codex is a line `[mcp METHOD] SUMMARY`; messages of the agent come between them. Only this module
//! begins a line with `[`: such a line of the agent comes after `| `, so that it does not look like a notification. The
//! lines have the order of the wire, and each is available as soon as its notification is, whether or not a call waits.

use super::event::{CodexEvent, End, EventBatch, ItemKind};
use adjutant_base::text::escape_invisible::{escape, escape_line};

/// Returns the lines of one entry, with invisible characters of untrusted text escaped.
pub fn lines(batch: &EventBatch) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(notified) = &batch.notification {
        lines.push(format!("[mcp {}] {}", escape_line(&notified.method), escape_line(&notified.summary)));
    }
    for event in &batch.events {
        match event {
            CodexEvent::ItemEnded { item } => {
                if let ItemKind::Agent { text } = &item.kind {
                    lines.extend(text.lines().map(|line| {
                        format!("{}{}", if line.starts_with('[') { "| " } else { "" }, escape(line))
                    }));
                }
            }
            CodexEvent::ApprovalRequested { approval } => {
                lines.push(format!("[approval {}] {}", approval.id, escape_line(&approval.line())));
            }
            CodexEvent::ApprovalResolved { approval, decision, by } => {
                let decision = serde_json::to_string(decision).unwrap_or_default();
                lines.push(format!("[approval {approval}] {} by {}", escape_line(&decision), by.name()));
            }
            CodexEvent::TurnEnded { end, message, .. } if *end != End::Completed => {
                let why = message.as_deref().map(|why| format!(": {}", escape_line(why))).unwrap_or_default();
                lines.push(format!("[turn {}{why}]", end.name()));
            }
            CodexEvent::Notice { level, message } if !is_in(batch, message) => {
                lines.push(format!("[{}] {}", level.name(), escape_line(message)));
            }
            CodexEvent::Closed { message: Some(message) } => {
                lines.push(format!("[closed] {}", escape_line(message)));
            }
            _ => {}
        }
    }
    lines
}

/// Returns whether a notice came as a notification, so that its beginning is in the log already.
fn is_in(batch: &EventBatch, message: &str) -> bool {
    const BEGINNING: usize = 30;
    let beginning = &message[..message.floor_char_boundary(BEGINNING)];
    batch.notification.as_ref().is_some_and(|notified| notified.summary.contains(beginning))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::lines;
    use crate::event::{CodexEvent, EventBatch, Item, ItemKind, ItemState};

    proptest! {
        #[test]
        fn no_line_of_the_agent_begins_like_one_of_this_module(
            text in "(\\[|\\[mcp x\\]|\\| |\\n|\\r|\\x1b|\\u{85}|\\u{2028}|\\u{200b}|\\u{202e}| |a){0,20}"
        ) {
            let item = Item { id: "m".to_owned(), turn: None, state: ItemState::Done, kind: ItemKind::Agent { text } };
            let events = vec![CodexEvent::ItemEnded { item }];
            let shown = lines(&EventBatch { thread: None, notification: None, events }).join("\n");
            for line in shown.split(|char| "\n\r\x0b\x0c\u{85}\u{2028}\u{2029}".contains(char)) {
                assert!(!line.starts_with('['), "{shown:?}");
            }
        }
    }
}
