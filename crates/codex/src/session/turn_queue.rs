//! Whose turn it is: one runs, the others wait. Both back ends mix up two prompts at once.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use crate::codex::error::Error;
use crate::codex::thread::Last;
use crate::trace::Trace;

/// Prompts of one thread that may wait.
const WAITING: usize = 32;

/// A prompt, and who wants to know what came of it.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) text: String,
    /// What it is a part of.
    pub(super) trace: Option<Trace>,
    pub(super) answer: oneshot::Sender<Last>,
    /// Gets the number of the last entry of the log before the turn.
    pub(super) begins: oneshot::Sender<u64>,
}

/// What became of a prompt.
#[derive(Debug)]
pub(super) struct Taken {
    /// The number by which it can be taken back.
    pub(super) ticket: u64,
    /// How many turns end before it.
    pub(super) ahead: usize,
    /// Its text and its trace, when its turn is now.
    pub(super) now: Option<(String, Option<Trace>)>,
}

/// What taking a prompt back means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Withdrawn {
    /// It was waiting, and is gone.
    Waiting,
    /// Its turn runs and has to be ended.
    Running,
    /// Its turn has ended.
    Unknown,
}

#[derive(Debug)]
pub(super) struct Turns {
    running: Option<(u64, oneshot::Sender<Last>)>,
    waiting: VecDeque<(u64, Prompt)>,
    /// Of the last prompt.
    ticket: u64,
}

impl Turns {
    /// The first turn runs; its ticket is 0.
    pub(super) fn beginning(answer: oneshot::Sender<Last>) -> Self {
        Self { running: Some((0, answer)), waiting: VecDeque::new(), ticket: 0 }
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Takes a prompt; `last` is the number of the log's last entry.
    pub(super) fn take(&mut self, prompt: Prompt, last: u64) -> Result<Taken, Error> {
        if self.waiting.len() >= WAITING {
            return Err(Error::Busy(self.waiting.len()));
        }
        self.ticket += 1;
        let ticket = self.ticket;
        if self.running.is_none() {
            let _ = prompt.begins.send(last);
            self.running = Some((ticket, prompt.answer));
            return Ok(Taken { ticket, ahead: 0, now: Some((prompt.text, prompt.trace)) });
        }
        self.waiting.push_back((ticket, prompt));
        Ok(Taken { ticket, ahead: self.waiting.len(), now: None })
    }

    /// Takes a prompt back, as far as that can be done here.
    pub(super) fn withdraw(&mut self, ticket: u64) -> Withdrawn {
        if self.running.as_ref().is_some_and(|(running, _)| *running == ticket) {
            return Withdrawn::Running;
        }
        let before = self.waiting.len();
        self.waiting.retain(|(waiting, _)| *waiting != ticket);
        if self.waiting.len() < before { Withdrawn::Waiting } else { Withdrawn::Unknown }
    }

    /// Tells the asker how the running turn ended. Who asked may be gone.
    pub(super) fn ended(&mut self, last: Last) {
        if let Some((_, answer)) = self.running.take() {
            let _ = answer.send(last);
        }
    }

    /// Returns the prompt whose turn is next; `last` is the number of the log's last entry.
    pub(super) fn next(&mut self, last: u64) -> Option<(String, Option<Trace>)> {
        if self.running.is_some() {
            return None;
        }
        let (ticket, Prompt { text, trace, answer, begins }) = self.waiting.pop_front()?;
        let _ = begins.send(last);
        self.running = Some((ticket, answer));
        Some((text, trace))
    }

    /// Lets everybody know that there will be no answer: their senders are dropped.
    pub(super) fn give_up(&mut self) {
        self.running = None;
        self.waiting.clear();
    }
}
