//! Whose turn it is: one runs, the others wait. Both back ends mix up two prompts at once.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use crate::codex::error::Error;
use crate::codex::thread::Last;

/// Prompts of one thread that may wait.
const WAITING: usize = 32;

/// A prompt, and who wants to know what came of it.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) text: String,
    pub(super) answer: oneshot::Sender<Last>,
}

/// What became of a prompt.
#[derive(Debug)]
pub(super) enum Taken {
    Now(String),
    Behind(usize),
}

#[derive(Debug)]
pub(super) struct Turns {
    running: Option<oneshot::Sender<Last>>,
    waiting: VecDeque<Prompt>,
}

impl Turns {
    /// The first turn runs.
    pub(super) fn beginning(answer: oneshot::Sender<Last>) -> Self {
        Self { running: Some(answer), waiting: VecDeque::new() }
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Takes a prompt; returns its text when its turn is now, and else how many turns end before it.
    pub(super) fn take(&mut self, prompt: Prompt) -> Result<Taken, Error> {
        if self.running.is_none() {
            self.running = Some(prompt.answer);
            return Ok(Taken::Now(prompt.text));
        }
        if self.waiting.len() >= WAITING {
            return Err(Error::Busy(self.waiting.len()));
        }
        self.waiting.push_back(prompt);
        Ok(Taken::Behind(self.waiting.len()))
    }

    /// Tells the asker how the running turn ended. Who asked may be gone.
    pub(super) fn ended(&mut self, last: Last) {
        if let Some(answer) = self.running.take() {
            let _ = answer.send(last);
        }
    }

    /// Returns the prompt whose turn is next.
    pub(super) fn next(&mut self) -> Option<String> {
        if self.running.is_some() {
            return None;
        }
        let Prompt { text, answer } = self.waiting.pop_front()?;
        self.running = Some(answer);
        Some(text)
    }

    /// Lets everybody know that there will be no answer: their senders are dropped.
    pub(super) fn give_up(&mut self) {
        self.running = None;
        self.waiting.clear();
    }
}
