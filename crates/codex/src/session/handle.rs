//! What others see of a session, and what they can ask of it.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot, watch};

use super::turns::Prompt;
use crate::codex::approval::{By, Decision};
use crate::codex::error::Error;
use crate::codex::log::Log;
use crate::codex::thread::{Last, Thread};
use crate::trace::current;

/// What others see of a session; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) log: Arc<Log>,
    pub(super) thread: Arc<Mutex<Thread>>,
    /// Its name, once Codex gave it one.
    pub(super) id: watch::Receiver<Option<String>>,
    pub(super) asks: mpsc::Sender<Ask>,
}

/// A prompt that a session took.
#[derive(Debug)]
pub(in crate::codex) struct Entered {
    /// Gets the turn's end.
    pub(in crate::codex) answer: oneshot::Receiver<Last>,
    /// Gets the number of the last entry of the log before the turn.
    pub(in crate::codex) begins: oneshot::Receiver<u64>,
    /// The number by which it can be taken back.
    pub(in crate::codex) ticket: u64,
    /// How many turns end before it, unless one is taken back.
    pub(in crate::codex) ahead: usize,
}

/// What somebody wants of a session.
#[derive(Debug)]
pub(super) enum Ask {
    Prompt {
        prompt: Prompt,
        taken: oneshot::Sender<Result<(u64, usize), Error>>,
    },
    /// Into the running turn.
    Steer {
        text: String,
        done: oneshot::Sender<Result<(), Error>>,
    },
    Interrupt {
        done: oneshot::Sender<Result<(), Error>>,
    },
    /// Takes a prompt back, or ends its turn.
    Withdraw {
        ticket: u64,
        done: oneshot::Sender<Result<(), Error>>,
    },
    Decide {
        approval: String,
        decision: Decision,
        by: By,
        done: oneshot::Sender<Result<(), Error>>,
    },
    /// The number of the last entry, and where the thread stands there; the store has what ended before.
    Look {
        done: oneshot::Sender<(u64, Thread)>,
    },
}

impl Session {
    /// Waits for the thread's name. The error is why there will be none.
    pub(in crate::codex) async fn id(&self) -> Result<String, Error> {
        let mut id = self.id.clone();
        if let Ok(id) = id.wait_for(Option::is_some).await {
            return Ok(id.clone().unwrap_or_default());
        }
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let last = thread.last.as_ref().and_then(|last| last.failure.clone());
        Err(Error::Refused(last.unwrap_or_else(|| "its process ended".to_owned())))
    }

    /// Returns where the thread stands.
    pub(crate) fn thread(&self) -> Thread {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells whether a question is open.
    pub(crate) fn is_asking(&self, approval: &str) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.asked.iter().any(|asked| asked.id == approval)
    }

    /// Tells whether its task has ended.
    pub(in crate::codex) fn is_over(&self) -> bool {
        self.asks.is_closed()
    }

    /// Hands in a prompt, which waits for its turn.
    pub(in crate::codex) async fn prompt(&self, text: String) -> Result<Entered, Error> {
        let (answer, answered) = oneshot::channel();
        let (begins, begun) = oneshot::channel();
        let (taken, done) = oneshot::channel();
        self.ask(Ask::Prompt { prompt: Prompt { text, trace: current(), answer, begins }, taken }).await?;
        let (ticket, ahead) = done.await.map_err(|_| Error::Over)??;
        Ok(Entered { answer: answered, begins: begun, ticket, ahead })
    }

    /// Puts more into the running turn.
    pub(in crate::codex) async fn steer(&self, text: String) -> Result<(), Error> {
        let (done, answer) = oneshot::channel();
        self.ask(Ask::Steer { text, done }).await?;
        answer.await.map_err(|_| Error::Over)?
    }

    /// Returns the number of the last entry of the log and where the thread stands there, once the store has every
    /// item that ended before. Nothing when the session is over.
    pub(crate) async fn look(&self) -> Option<(u64, Thread)> {
        let (done, answer) = oneshot::channel();
        self.ask(Ask::Look { done }).await.ok()?;
        answer.await.ok()
    }

    /// Asks for the end of the running turn.
    pub(in crate::codex) async fn interrupt(&self) -> Result<(), Error> {
        let (done, answer) = oneshot::channel();
        self.ask(Ask::Interrupt { done }).await?;
        answer.await.map_err(|_| Error::Over)?
    }

    /// Takes a prompt back, or ends its turn.
    pub(in crate::codex) async fn withdraw(&self, ticket: u64) -> Result<(), Error> {
        let (done, answer) = oneshot::channel();
        self.ask(Ask::Withdraw { ticket, done }).await?;
        answer.await.map_err(|_| Error::Over)?
    }

    /// Answers what Codex asked.
    pub(in crate::codex) async fn decide(
        &self,
        approval: &str,
        decision: Decision,
        by: By,
    ) -> Result<(), Error> {
        let (done, answer) = oneshot::channel();
        self.ask(Ask::Decide { approval: approval.to_owned(), decision, by, done }).await?;
        answer.await.map_err(|_| Error::Over)?
    }

    async fn ask(&self, ask: Ask) -> Result<(), Error> {
        self.asks.send(ask).await.map_err(|_| Error::Over)
    }
}
