//! The approvals of a conversation that have no answer yet.

use std::collections::HashMap;

use serde_json::Value;

use crate::approval::{Approval, Decider};
use crate::event::CodexEvent;

/// The pending approvals, by id.
#[derive(Debug, Default)]
pub(super) struct PendingApprovals {
    run: String,
    /// The number of the next approval.
    next: u64,
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
    /// The part of the request that an approval repeats: the permissions, or the rule that makes it lasting.
    pub(super) offer: Value,
    /// The ids of the questions with answers that are not stored.
    pub(super) secrets: Vec<String>,
}

impl PendingApprovals {
    pub(super) fn new(run: &str) -> Self {
        Self { run: run.to_owned(), next: 0, open: HashMap::new() }
    }

    /// Returns the id of the next approval. The ids are made here, because Codex may choose the same id for two
    /// requests: then a decision could answer the wrong one, or replace its stored decision.
    pub(super) fn next_id(&mut self) -> String {
        let id = format!("{}-{}", self.run, self.next);
        self.next += 1;
        id
    }

    /// Adds an approval, and returns its event.
    pub(super) fn insert(&mut self, asked: PendingApproval, approval: Approval) -> CodexEvent {
        self.open.insert(approval.id.clone(), asked);
        CodexEvent::ApprovalRequested { approval }
    }

    /// Removes an approval that Codex withdrew; the event is missing when it was answered already.
    pub(super) fn withdraw(&mut self, request: &Value) -> Vec<CodexEvent> {
        self.withdraw_if(|pending| pending.request == *request)
    }

    /// Removes the approvals of a thread.
    pub(super) fn withdraw_thread(&mut self, thread: &str) -> Vec<CodexEvent> {
        self.withdraw_if(|pending| pending.thread == thread)
    }

    /// Removes all approvals.
    pub(super) fn withdraw_all(&mut self) -> Vec<CodexEvent> {
        self.withdraw_if(|_| true)
    }

    fn withdraw_if(&mut self, is_meant: impl Fn(&PendingApproval) -> bool) -> Vec<CodexEvent> {
        let withdrawn = self.open.extract_if(|_, pending| is_meant(pending));
        let event =
            |(approval, _)| CodexEvent::ApprovalResolved { approval, decision: None, by: Decider::Codex };
        withdrawn.map(event).collect()
    }
}
