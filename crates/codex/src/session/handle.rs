//! The handle of a session: what its task publishes, and the commands that it takes.

use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, oneshot, watch};

use super::turn_queue::Prompt;
use crate::approval::{Decider, Decision};
use crate::error::Error;
use crate::event_log::{EventLog, LogRead};
use crate::thread::{Thread, TurnOutcome};
use crate::thread_options::TurnInput;
use adjutant_base::mutex::lock;
use adjutant_base::trace_context::current;

/// The public side of a session; cheap to clone.
#[derive(Clone, Debug)]
pub struct SessionHandle {
    pub log: Arc<EventLog>,
    pub(super) thread: Arc<Mutex<Thread>>,
    /// The thread's name, once Codex has given it.
    pub(super) id: watch::Receiver<Option<String>>,
    pub(super) commands: mpsc::Sender<Command>,
}

/// A prompt that a session has queued.
#[derive(Debug)]
pub struct QueuedPrompt {
    /// Gets the end of the turn.
    pub answer: oneshot::Receiver<TurnOutcome>,
    /// Gets the number of the last entry of the log before the turn.
    pub begins: oneshot::Receiver<u64>,
    /// Identifies the prompt for [`SessionHandle::withdraw`].
    pub ticket: u64,
    /// How many turns end before it, unless one of them is withdrawn.
    pub ahead: usize,
}

/// A command to a session.
#[derive(Debug)]
pub(super) enum Command {
    Prompt {
        prompt: Prompt,
        taken: oneshot::Sender<Result<(u64, usize), Error>>,
    },
    /// Adds a prompt to the running turn.
    Steer {
        input: TurnInput,
        done: oneshot::Sender<Result<(), Error>>,
    },
    Interrupt {
        done: oneshot::Sender<Result<(), Error>>,
    },
    /// Ends the commands that continue after their turns.
    EndCommands {
        done: oneshot::Sender<Result<(), Error>>,
    },
    /// Ends the session, unless a turn runs.
    End {
        done: oneshot::Sender<Result<(), Error>>,
    },
    /// Removes a prompt from the queue, or interrupts its turn.
    Withdraw {
        ticket: u64,
        done: oneshot::Sender<Result<(), Error>>,
    },
    Decide {
        approval: String,
        decision: Decision,
        by: Decider,
        done: oneshot::Sender<Result<(), Error>>,
    },
    /// Gets the number of the last entry and the thread at that entry; the store has every item that ended before.
    Snapshot {
        done: oneshot::Sender<(u64, Thread)>,
    },
}

impl SessionHandle {
    /// Waits for the thread's name. The error says why there will be none.
    pub async fn id(&self) -> Result<String, Error> {
        let mut id = self.id.clone();
        if let Ok(id) = id.wait_for(Option::is_some).await {
            return Ok(id.clone().unwrap_or_default());
        }
        let thread = lock(&self.thread);
        let last = thread.last.as_ref().and_then(|last| last.failure.clone());
        Err(Error::Refused(last.unwrap_or_else(|| "its process ended".to_owned())))
    }

    /// Returns the state of the thread.
    pub fn thread(&self) -> Thread {
        lock(&self.thread).clone()
    }

    /// Returns true if the approval is pending.
    pub fn is_asking(&self, approval: &str) -> bool {
        let thread = lock(&self.thread);
        thread.asked.iter().any(|asked| asked.id == approval)
    }

    /// Returns true if the session's task has ended.
    pub fn is_over(&self) -> bool {
        self.commands.is_closed()
    }

    /// Queues a prompt.
    pub async fn prompt(&self, input: TurnInput) -> Result<QueuedPrompt, Error> {
        let (answer, answered) = oneshot::channel();
        let (begins, begun) = oneshot::channel();
        let prompt = Prompt { input, trace: current(), answer, begins };
        let (ticket, ahead) = self.request(|taken| Command::Prompt { prompt, taken }).await??;
        Ok(QueuedPrompt { answer: answered, begins: begun, ticket, ahead })
    }

    /// Adds a prompt to the running turn.
    pub async fn steer(&self, input: TurnInput) -> Result<(), Error> {
        self.request(|done| Command::Steer { input, done }).await?
    }

    /// Returns the number of the last entry of the log and the thread at that entry, once the store has every item that
    /// ended before. Returns `None` when the session is over.
    pub async fn snapshot(&self) -> Option<(u64, Thread)> {
        self.request(|done| Command::Snapshot { done }).await.ok()
    }

    /// Requests the end of the running turn.
    pub async fn interrupt(&self) -> Result<(), Error> {
        self.request(|done| Command::Interrupt { done }).await?
    }

    /// Ends the commands that continue after their turns, if need be with the process of the session.
    pub(crate) async fn end_commands(&self) -> Result<(), Error> {
        self.request(|done| Command::EndCommands { done }).await?
    }

    /// Ends the session, unless a turn runs, and waits until its process has ended.
    pub(crate) async fn end(&self) -> Result<(), Error> {
        self.request(|done| Command::End { done }).await??;
        while let LogRead::Entries(_) | LogRead::Missed(_) = self.log.next(self.log.last_seq(), 1).await {}
        Ok(())
    }

    /// Removes a prompt from the queue, or interrupts its turn.
    pub async fn withdraw(&self, ticket: u64) -> Result<(), Error> {
        self.request(|done| Command::Withdraw { ticket, done }).await?
    }

    /// Answers an approval.
    pub async fn decide(&self, approval: &str, decision: Decision, by: Decider) -> Result<(), Error> {
        let approval = approval.to_owned();
        self.request(|done| Command::Decide { approval, decision, by, done }).await?
    }

    /// Sends a command and waits for its result.
    async fn request<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, Error> {
        let (done, result) = oneshot::channel();
        self.commands.send(command(done)).await.map_err(|_| Error::Over)?;
        result.await.map_err(|_| Error::Over)
    }
}
