//! The approvals of a conversation that have no answer yet.

use std::collections::HashMap;

use serde_json::Value;

use crate::approval::{Approval, Decider};
use crate::event::CodexEvent;

/// The pending approvals, by id.
#[derive(Debug, Default)]
pub(super) struct PendingApprovals {
    run: String,
    pub(super) open: HashMap<String, PendingApproval>,
}

/// A request of Codex that waits for its answer.
#[derive(Debug)]
pub(super) struct PendingApproval {
    /// The id of the request, as it came.
    pub(super) request: Value,
    pub(super) method: String,
    /// The thread that waits: this session's thread, or one of an agent that it started.
    pub(super) thread: String,
    /// What an approval repeats: the permissions, or the rule that makes it lasting.
    pub(super) offer: Value,
    /// The questions with answers that are kept nowhere.
    pub(super) secrets: Vec<String>,
}

impl PendingApprovals {
    pub(super) fn new(run: &str) -> Self {
        Self { run: run.to_owned(), open: HashMap::new() }
    }

    /// Returns the id of the approval for a request. Codex numbers its requests; of another name, each sign that nobody
    /// can type, or that a terminal would obey, is its code.
    pub(super) fn approval_id(&self, request: &Value) -> String {
        let name = request.as_str().map_or_else(|| request.to_string(), str::to_owned);
        let written = |byte: u8| {
            let typed = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            if typed { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        };
        format!("{}-{}", self.run, name.bytes().map(written).collect::<String>())
    }

    /// Adds an approval, and returns its event.
    pub(super) fn insert(&mut self, asked: PendingApproval, approval: Approval) -> CodexEvent {
        self.open.insert(approval.id.clone(), asked);
        CodexEvent::ApprovalRequested { approval }
    }

    /// Removes an approval that Codex withdrew; the event is missing when it was answered already.
    pub(super) fn withdraw(&mut self, request: &Value) -> Vec<CodexEvent> {
        let id = self.approval_id(request);
        self.withdraw_if(|approval, _| *approval == id)
    }

    /// Removes the approvals of a thread.
    pub(super) fn withdraw_thread(&mut self, thread: &str) -> Vec<CodexEvent> {
        self.withdraw_if(|_, pending| pending.thread == thread)
    }

    /// Removes all approvals.
    pub(super) fn withdraw_all(&mut self) -> Vec<CodexEvent> {
        self.withdraw_if(|_, _| true)
    }

    fn withdraw_if(&mut self, is_meant: impl Fn(&String, &PendingApproval) -> bool) -> Vec<CodexEvent> {
        let withdrawn = self.open.extract_if(|approval, pending| is_meant(approval, pending));
        let event =
            |(approval, _)| CodexEvent::ApprovalResolved { approval, decision: None, by: Decider::Codex };
        withdrawn.map(event).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::PendingApprovals;

    #[test]
    fn the_id_of_an_approval_is_one_word_that_can_be_typed() {
        let pending = PendingApprovals::new("codex-1");
        for (request, id) in [
            (json!(7), "codex-1-7"),
            (json!("7"), "codex-1-7"),
            (json!("a\n[turn completed]\u{202e}"), "codex-1-a%0A%5Bturn%20completed%5D%E2%80%AE"),
            (json!({"x": 1}), "codex-1-%7B%22x%22%3A1%7D"),
        ] {
            assert_eq!(pending.approval_id(&request), id);
        }
    }
}
