//! The queue of turns: one runs, the others wait, because both protocols mix up two prompts at once.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use crate::error::Error;
use crate::thread::TurnOutcome;
use crate::thread_options::TurnInput;
use adjutant_base::trace_context::Trace;

/// Prompts of one thread that may wait.
const MAX_WAITING: usize = 32;

/// A prompt, and the channels for its result.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) input: TurnInput,
    /// The trace that the turn belongs to.
    pub(super) trace: Option<Trace>,
    pub(super) answer: oneshot::Sender<TurnOutcome>,
    /// Gets the number of the last entry of the log before the turn.
    pub(super) begins: oneshot::Sender<u64>,
}

/// The place of a new prompt in the queue.
#[derive(Debug)]
pub(super) struct Enqueued {
    /// Identifies the prompt for [`TurnQueue::withdraw`].
    pub(super) ticket: u64,
    /// How many turns end before it.
    pub(super) ahead: usize,
    /// Its input and its trace, if its turn starts now.
    pub(super) now: Option<(TurnInput, Option<Trace>)>,
}

/// The result of withdrawing a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WithdrawResult {
    /// It was waiting, and was removed.
    Waiting,
    /// Its turn runs and has to be interrupted.
    Running,
    /// Its turn has ended.
    Unknown,
}

#[derive(Debug)]
pub(super) struct TurnQueue {
    running: Option<(u64, oneshot::Sender<TurnOutcome>)>,
    waiting: VecDeque<(u64, Prompt)>,
    /// The ticket of the last prompt.
    ticket: u64,
}

impl TurnQueue {
    /// Returns a queue with a running first turn; its ticket is 0.
    pub(super) fn with_running(answer: oneshot::Sender<TurnOutcome>) -> Self {
        Self { running: Some((0, answer)), waiting: VecDeque::new(), ticket: 0 }
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Adds a prompt; `last` is the number of the log's last entry.
    pub(super) fn enqueue(&mut self, prompt: Prompt, last: u64) -> Result<Enqueued, Error> {
        if self.waiting.len() >= MAX_WAITING {
            return Err(Error::Busy(self.waiting.len()));
        }
        self.ticket += 1;
        let ticket = self.ticket;
        if self.running.is_none() {
            let _ = prompt.begins.send(last);
            self.running = Some((ticket, prompt.answer));
            return Ok(Enqueued { ticket, ahead: 0, now: Some((prompt.input, prompt.trace)) });
        }
        self.waiting.push_back((ticket, prompt));
        Ok(Enqueued { ticket, ahead: self.waiting.len(), now: None })
    }

    /// Removes a waiting prompt.
    pub(super) fn withdraw(&mut self, ticket: u64) -> WithdrawResult {
        if self.running.as_ref().is_some_and(|(running, _)| *running == ticket) {
            return WithdrawResult::Running;
        }
        let before = self.waiting.len();
        self.waiting.retain(|(waiting, _)| *waiting != ticket);
        if self.waiting.len() < before { WithdrawResult::Waiting } else { WithdrawResult::Unknown }
    }

    /// Sends the end of the running turn to its caller, which may have left.
    pub(super) fn ended(&mut self, last: TurnOutcome) {
        if let Some((_, answer)) = self.running.take() {
            let _ = answer.send(last);
        }
    }

    /// Returns the next prompt; `last` is the number of the log's last entry.
    pub(super) fn next(&mut self, last: u64) -> Option<(TurnInput, Option<Trace>)> {
        if self.running.is_some() {
            return None;
        }
        let (ticket, Prompt { input, trace, answer, begins }) = self.waiting.pop_front()?;
        let _ = begins.send(last);
        self.running = Some((ticket, answer));
        Some((input, trace))
    }

    /// Drops all prompts and their senders, so that no caller waits for an answer.
    pub(super) fn drop_all(&mut self) {
        self.running = None;
        self.waiting.clear();
    }
}
