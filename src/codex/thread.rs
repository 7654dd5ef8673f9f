//! The state of a thread: what happens, folded into where it stands.

use std::collections::BTreeMap;

use super::approval::Approval;
use super::happened::{End, Happened, Item, ItemState, Kind, Ready, Usage};

/// Where a thread stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Codex was not heard of it yet.
    Starting,
    /// It takes a prompt.
    Idle,
    Running,
    /// A turn waits for a person: its own, or the one of an agent that it started, which may go on when it has ended.
    Asking,
    /// No process has it now; a prompt takes it up again.
    Closed,
}

impl State {
    /// The word that stands in a row and on a page.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Asking => "asking",
            Self::Closed => "closed",
        }
    }
}

/// A thread, as far as its events tell. Ended items are not kept here: they are in the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    pub(crate) ready: Option<Ready>,
    /// The turn that runs.
    pub(crate) turn: Option<String>,
    closed: bool,
    /// What is being done.
    pub(crate) running: BTreeMap<String, Item>,
    pub(crate) asked: Vec<Approval>,
    pub(crate) usage: Usage,
    /// How the last turn ended, what the agent said last in it, and why it failed.
    pub(crate) last: Option<Last>,
    said: String,
}

/// The end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    pub(crate) end: End,
    /// The agent's last message of the turn.
    pub(crate) said: String,
    pub(crate) failure: Option<String>,
}

impl Thread {
    pub(crate) fn state(&self) -> State {
        match (self.closed, &self.turn, &self.ready) {
            (true, _, _) => State::Closed,
            (false, ..) if !self.asked.is_empty() => State::Asking,
            (false, Some(_), _) => State::Running,
            (false, None, Some(_)) => State::Idle,
            (false, None, None) => State::Starting,
        }
    }

    /// Takes what happened. Any order is taken: what makes no sense changes nothing.
    pub(crate) fn apply(&mut self, happened: &Happened) {
        match happened {
            Happened::Ready(ready) => {
                self.ready = Some(ready.clone());
                self.closed = false;
            }
            Happened::TurnStarted { turn } => {
                // One that is told again, for a prompt that was put into it, goes on.
                if self.turn.as_ref() != Some(turn) {
                    self.end_turn();
                    self.said.clear();
                }
                self.turn = Some(turn.clone());
                self.closed = false;
            }
            Happened::TurnEnded { end, message, .. } => {
                let said = std::mem::take(&mut self.said);
                self.last = Some(Last { end: *end, said, failure: message.clone() });
                self.end_turn();
            }
            Happened::ItemStarted { item } => {
                if self.turn.is_some() {
                    self.running.insert(item.id.clone(), item.clone());
                }
            }
            Happened::ItemGrew { id, text } => {
                if let Some(item) = self.running.get_mut(id) {
                    item.kind.grow(text);
                }
            }
            Happened::ItemEnded { item } => {
                self.running.remove(&item.id);
                if let (Kind::Agent { text }, ItemState::Done) = (&item.kind, item.state) {
                    self.said.clone_from(text);
                }
            }
            Happened::Asked { approval } => {
                if !self.closed {
                    self.asked.push(approval.clone());
                }
            }
            Happened::Settled { approval, .. } => self.asked.retain(|asked| asked.id != *approval),
            Happened::Usage(usage) => self.usage = *usage,
            Happened::Closed { .. } => {
                self.end_turn();
                self.asked.clear();
                self.closed = true;
            }
            Happened::Steered { .. } | Happened::Diff { .. } | Happened::Notice { .. } => {}
        }
    }

    /// Returns what makes a new value stand where this one does, but for what the agent said before.
    pub(crate) fn retold(&self) -> Vec<Happened> {
        let mut told = Vec::new();
        told.extend(self.ready.clone().map(Happened::Ready));
        told.extend(self.turn.clone().map(|turn| Happened::TurnStarted { turn }));
        told.extend(self.running.values().cloned().map(|item| Happened::ItemStarted { item }));
        told.extend(self.asked.iter().cloned().map(|approval| Happened::Asked { approval }));
        told.push(Happened::Usage(self.usage));
        if self.closed {
            told.push(Happened::Closed { message: None });
        }
        told
    }

    /// What was asked in it is taken back by the back end, which knows what others ask.
    fn end_turn(&mut self) {
        self.turn = None;
        self.running.clear();
    }
}

#[cfg(test)]
mod tests;
