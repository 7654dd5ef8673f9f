//! The state of a thread, computed from its events.

use std::collections::BTreeMap;

use super::approval::Approval;
use super::event::{CodexEvent, End, Item, ItemKind, ItemState, Ready, Usage};
use super::rate_limits::RateLimits;

adjutant_base::named_enum! {
    /// The state of a thread.
    ThreadState {
        /// Codex has not answered yet.
        Starting = "starting",
        /// It takes a prompt.
        Idle = "idle",
        Running = "running",
        /// A turn waits for the user: its own, or one of an agent that it started, which may outlive it.
        Asking = "asking",
        /// No process has it; a prompt resumes it.
        Closed = "closed",
    }
}

/// A thread, as far as its events describe it. Ended items are in the store, not here.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    pub ready: Option<Ready>,
    /// The running turn.
    pub turn: Option<String>,
    closed: bool,
    /// The running items, by id.
    pub running: BTreeMap<String, Item>,
    pub asked: Vec<Approval>,
    pub usage: Usage,
    /// The rate limits that Codex reported last.
    pub limits: RateLimits,
    /// The changes of the last turn, as one diff.
    pub diff: String,
    /// The commands that continue after their turns, by item.
    pub left: BTreeMap<String, Item>,
    /// The end of the last turn.
    pub last: Option<TurnOutcome>,
    said: String,
}

/// The end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnOutcome {
    pub end: End,
    /// The agent's last message of the turn.
    pub said: String,
    pub failure: Option<String>,
}

impl Thread {
    /// Returns what the thread is doing now.
    pub fn state(&self) -> ThreadState {
        match (self.closed, &self.turn, &self.ready) {
            (true, _, _) => ThreadState::Closed,
            (false, ..) if !self.asked.is_empty() => ThreadState::Asking,
            (false, Some(_), _) => ThreadState::Running,
            (false, None, Some(_)) => ThreadState::Idle,
            (false, None, None) => ThreadState::Starting,
        }
    }

    /// Applies an event. Events may come in any order: one that does not fit changes nothing.
    pub fn apply(&mut self, event: &CodexEvent) {
        match event {
            CodexEvent::Ready(ready) => {
                self.ready = Some(ready.clone());
                self.closed = false;
            }
            CodexEvent::TurnStarted { turn } => {
                // Codex announces a turn again for a prompt that was added to it; that turn continues.
                if self.turn.as_ref() != Some(turn) {
                    self.end_turn();
                    self.said.clear();
                    self.diff.clear();
                }
                self.turn = Some(turn.clone());
                self.closed = false;
            }
            CodexEvent::TurnEnded { end, message, .. } => {
                let said = std::mem::take(&mut self.said);
                self.last = Some(TurnOutcome { end: *end, said, failure: message.clone() });
                self.end_turn();
            }
            CodexEvent::ItemStarted { item } => {
                if self.turn.is_some() {
                    self.running.insert(item.id.clone(), item.clone());
                } else {
                    self.leave(item.clone());
                }
            }
            CodexEvent::ItemGrew { id, text } => {
                if let Some(item) = self.running.get_mut(id) {
                    item.kind.grow(text);
                }
            }
            CodexEvent::ItemEnded { item } => {
                self.running.remove(&item.id);
                self.left.remove(&item.id);
                if let (ItemKind::Agent { text }, ItemState::Done) = (&item.kind, item.state) {
                    self.said.clone_from(text);
                }
            }
            CodexEvent::ApprovalRequested { approval } => {
                if !self.closed {
                    self.asked.push(approval.clone());
                }
            }
            CodexEvent::ApprovalResolved { approval, .. } => self.asked.retain(|asked| asked.id != *approval),
            CodexEvent::Usage(usage) => self.usage = *usage,
            CodexEvent::Limits(limits) => self.limits = limits.clone(),
            CodexEvent::Diff { diff } => self.diff.clone_from(diff),
            CodexEvent::Closed { .. } => {
                self.end_turn();
                self.left.clear();
                self.asked.clear();
                self.closed = true;
            }
            CodexEvent::Steered { .. } | CodexEvent::SubAgent { .. } | CodexEvent::Notice { .. } => {}
        }
    }

    /// Returns events that bring a new value to this state, except for the agent's earlier messages.
    pub fn snapshot_events(&self) -> Vec<CodexEvent> {
        let mut events = Vec::new();
        events.extend(self.ready.clone().map(CodexEvent::Ready));
        events.extend(self.left.values().cloned().map(|item| CodexEvent::ItemStarted { item }));
        events.extend(self.turn.clone().map(|turn| CodexEvent::TurnStarted { turn }));
        events.extend(self.running.values().cloned().map(|item| CodexEvent::ItemStarted { item }));
        events.extend(self.asked.iter().cloned().map(|approval| CodexEvent::ApprovalRequested { approval }));
        events.push(CodexEvent::Usage(self.usage));
        events.push(CodexEvent::Limits(self.limits.clone()));
        events.push(CodexEvent::Diff { diff: self.diff.clone() });
        if self.closed {
            events.push(CodexEvent::Closed { message: None });
        }
        events
    }

    /// The protocol withdraws the approvals of the turn, because it knows which belong to other threads.
    fn end_turn(&mut self) {
        self.turn = None;
        for item in std::mem::take(&mut self.running).into_values() {
            self.leave(item);
        }
    }

    /// Keeps an item without a turn, if it is a command: its process may continue.
    fn leave(&mut self, item: Item) {
        if matches!(item.kind, ItemKind::Command { .. }) {
            self.left.insert(item.id.clone(), item);
        }
    }
}

#[cfg(test)]
mod tests;
