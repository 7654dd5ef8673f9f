//! A session as lines of text, for pipes and for whoever reads a log.
//!
//! Every notification of Codex is a line `[mcp METHOD] SUMMARY`; what the agent says stands between them as it is. The
//! lines are in the wire's order, and each is there as soon as its notification is, whether a call waits or not.

use super::happened::{End, Happened, Heard, Kind, Level};
use crate::visible::{line, plain};

/// Returns the lines of one entry. Text of strangers is made harmless.
pub(crate) fn lines(heard: &Heard) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(notified) = &heard.notified {
        lines.push(format!("[mcp {}] {}", line(&notified.method), line(&notified.summary)));
    }
    for happened in &heard.happened {
        match happened {
            Happened::ItemEnded { item } => {
                if let Kind::Agent { text } = &item.kind {
                    lines.extend(text.lines().map(|line| plain(line).into_owned()));
                }
            }
            Happened::Asked { approval } => {
                lines.push(format!("[approval {}] {}", approval.id, line(&approval.line())));
            }
            Happened::Settled { approval, decision, by } => {
                let decision = serde_json::to_string(decision).unwrap_or_default();
                lines.push(format!("[approval {approval}] {} by {by:?}", line(&decision)));
            }
            Happened::TurnEnded { end, message, .. } if *end != End::Completed => {
                let why = message.as_deref().map(|why| format!(": {}", line(why))).unwrap_or_default();
                lines.push(format!("[turn {}{why}]", end.as_str()));
            }
            // What came as a notification is told already.
            Happened::Notice { level, message } if heard.notified.is_none() => {
                let level = match level {
                    Level::Info => "info",
                    Level::Warning => "warning",
                    Level::Error => "error",
                };
                lines.push(format!("[{level}] {}", line(message)));
            }
            Happened::Closed { message: Some(message) } => lines.push(format!("[closed] {}", line(message))),
            _ => {}
        }
    }
    lines
}
