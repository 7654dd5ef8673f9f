//! Codex sessions in the control API.

mod follow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::ControlClient;
use super::protocol::{Error, Rejection, ResponseWriter, to_json};
use adjutant_app::App;
use adjutant_codex as codex;
use adjutant_codex::approval::{Approval, Decision};
use adjutant_codex::capabilities::Capabilities;
use adjutant_codex::event::{End, EventBatch, Item};
use adjutant_codex::event_log::LogRead;
use adjutant_codex::operations::Operation;
use adjutant_codex::rate_limits::RateLimits;
use adjutant_codex::thread_options::{ThreadOptions, TurnInput};
use adjutant_codex::{Codex, ExternalThread, ListedThread, Query, StartedTurn};
use adjutant_questions::{Answer, Channel, Field};
pub use follow::{SentPrompt, ThreadSnapshot, ThreadUpdate};

/// Entries of one read.
const BATCH_SIZE: usize = 500;

/// A request about sessions.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Sends a prompt and reports its turn to the end. The turn continues if the connection closes.
    Run(Box<Prompt>),
    /// Adds a prompt to the running turn.
    Steer {
        thread: String,
        input: TurnInput,
    },
    /// Interrupts the running turn.
    Interrupt {
        thread: String,
    },
    /// Lists the pending approvals.
    Approvals,
    Decide {
        approval: String,
        decision: Decision,
    },
    /// Returns the fields of an approval that is a form.
    Form {
        approval: String,
    },
    /// Sends the values of a form.
    Fill {
        approval: String,
        answer: Answer,
    },
    List(Query),
    /// Returns one thread.
    Thread {
        thread: String,
    },
    /// Does an operation on a thread, and returns the id of the resulting thread.
    Operate {
        thread: String,
        operation: Operation,
    },
    /// Returns what the installed Codex can do.
    Capabilities,
    /// Returns the rate limits of the account.
    Limits,
    /// Commits the files in the worktree of a thread. Returns the commit and its branch.
    Commit {
        thread: String,
        message: String,
    },
    /// Returns the last plan of a thread.
    Plan {
        thread: String,
    },
    /// Returns the changes of all turns of a thread.
    Diff {
        thread: String,
    },
    /// Lists the threads that Codex started without Adjutant.
    ExternalThreads {
        limit: u32,
    },
    /// Sends a prompt, without a report of its turn.
    Send(Box<Prompt>),
    /// Sends the list of threads, and again after every change, until the connection closes.
    Watch {
        text: String,
        limit: u32,
    },
    /// Sends the updates of a thread, across its processes, until the connection closes.
    Follow {
        thread: String,
        /// The number of ended items in the first part.
        items: u32,
    },
    /// Reports all events of a thread from now on, across its processes, until the connection closes.
    Events {
        thread: String,
    },
    /// Returns the items before the number `before`, the newest first.
    Items {
        thread: String,
        before: i64,
        limit: u32,
    },
}

impl Request {
    /// Returns whether it decides an approval.
    pub(super) fn decides(&self) -> bool {
        matches!(self, Self::Decide { .. } | Self::Fill { .. })
    }
}

/// A prompt: the next of a thread, or the first of a new one.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Prompt {
    pub thread: Option<String>,
    pub start: ThreadOptions,
}

/// A part of the answer to [`Request::Run`] and to [`Request::Events`].
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    Thread {
        thread: String,
    },
    Entry {
        seq: u64,
        at: i64,
        batch: Box<EventBatch>,
    },
    /// The number of entries that were lost because the client read too slowly.
    Missed {
        entries: u64,
    },
}

/// The end of a turn.
#[derive(Debug, Deserialize, Serialize)]
pub struct Ended {
    pub thread: String,
    pub end: End,
    /// The agent's last message.
    pub message: String,
    pub failure: Option<String>,
}

/// The client's calls.
impl ControlClient {
    /// Calls `on_part` with the events until the turn has ended.
    pub fn run_codex(&mut self, prompt: Prompt, on_part: impl FnMut(Progress)) -> Result<Ended, Error> {
        self.follow(&super::Request::Codex(Request::Run(Box::new(prompt))), on_part)
    }

    /// Calls `on_part` with the events of a thread from now on. Ends with the connection.
    pub fn codex_events(&mut self, thread: &str, on_part: impl FnMut(Progress)) -> Result<(), Error> {
        self.follow(&super::Request::Codex(Request::Events { thread: thread.to_owned() }), on_part)
    }

    /// Adds a prompt to the running turn of a thread.
    pub fn steer_codex(&mut self, thread: &str, input: TurnInput) -> Result<(), Error> {
        self.ask(&super::Request::Codex(Request::Steer { thread: thread.to_owned(), input }))
    }

    /// Interrupts the running turn of a thread.
    pub fn interrupt_codex(&mut self, thread: &str) -> Result<(), Error> {
        self.ask(&super::Request::Codex(Request::Interrupt { thread: thread.to_owned() }))
    }

    /// Returns the pending approvals of all threads.
    pub fn codex_approvals(&mut self) -> Result<Vec<Approval>, Error> {
        self.ask(&super::Request::Codex(Request::Approvals))
    }

    /// Decides a pending approval.
    pub fn decide_codex(&mut self, approval: &str, decision: Decision) -> Result<(), Error> {
        self.ask(&super::Request::Codex(Request::Decide { approval: approval.to_owned(), decision }))
    }

    pub(crate) fn codex_form(&mut self, approval: &str) -> Result<Vec<Field>, Error> {
        self.ask(&super::Request::Codex(Request::Form { approval: approval.to_owned() }))
    }

    pub(crate) fn fill_codex(&mut self, approval: &str, answer: Answer) -> Result<(), Error> {
        self.ask(&super::Request::Codex(Request::Fill { approval: approval.to_owned(), answer }))
    }

    /// Returns the threads that a query finds, the latest first.
    pub fn codex_threads(&mut self, query: Query) -> Result<Vec<ListedThread>, Error> {
        self.ask(&super::Request::Codex(Request::List(query)))
    }

    /// Returns one thread.
    pub fn codex_thread(&mut self, thread: &str) -> Result<ListedThread, Error> {
        self.ask(&super::Request::Codex(Request::Thread { thread: thread.to_owned() }))
    }

    /// Does an operation on a thread. Returns the id of the resulting thread, which a fork makes.
    pub fn operate_codex(&mut self, thread: &str, operation: Operation) -> Result<String, Error> {
        self.ask(&super::Request::Codex(Request::Operate { thread: thread.to_owned(), operation }))
    }

    /// Returns what the installed Codex can do.
    pub fn codex_capabilities(&mut self) -> Result<Capabilities, Error> {
        self.ask(&super::Request::Codex(Request::Capabilities))
    }

    /// Returns the rate limits of the account.
    pub fn codex_limits(&mut self) -> Result<RateLimits, Error> {
        self.ask(&super::Request::Codex(Request::Limits))
    }

    /// Commits the files in the worktree of a thread. Returns the commit and its branch.
    pub fn commit_codex(&mut self, thread: &str, message: String) -> Result<(String, String), Error> {
        self.ask(&super::Request::Codex(Request::Commit { thread: thread.to_owned(), message }))
    }

    /// Returns the last plan of a thread.
    pub fn codex_plan(&mut self, thread: &str) -> Result<Option<Item>, Error> {
        self.ask(&super::Request::Codex(Request::Plan { thread: thread.to_owned() }))
    }

    /// Returns the changes of all turns of a thread, as one diff.
    pub fn codex_diff(&mut self, thread: &str) -> Result<String, Error> {
        self.ask(&super::Request::Codex(Request::Diff { thread: thread.to_owned() }))
    }

    /// Returns threads that Codex started without Adjutant, the latest first, at most `limit`.
    pub fn codex_external_threads(&mut self, limit: u32) -> Result<Vec<ExternalThread>, Error> {
        self.ask(&super::Request::Codex(Request::ExternalThreads { limit }))
    }
}

/// Handles a request.
pub(super) async fn answer(
    app: &App,
    request: Request,
    out: &mut ResponseWriter,
) -> Result<Value, Rejection> {
    let codex = &app.codex;
    match request {
        Request::Run(prompt) => to_json(&follow(follow::begin(codex, *prompt).await?, out).await?),
        Request::Steer { thread, input } => {
            codex.steer(&thread, input).await?;
            to_json(&())
        }
        Request::Interrupt { thread } => {
            codex.interrupt(&thread).await?;
            to_json(&())
        }
        Request::Approvals => to_json(&codex.pending_approvals()),
        Request::Decide { approval, decision } => {
            app.decide_approval(&approval, decision, Channel::Terminal).await?;
            to_json(&())
        }
        Request::Form { approval } => to_json(&App::approval_form(&pending(codex, &approval)?)),
        Request::Fill { approval, answer } => {
            let form = pending(codex, &approval)?;
            app.fill_approval(&form, answer, Channel::Terminal).await?;
            to_json(&())
        }
        Request::List(query) => {
            let query = Query { limit: query.limit.clamp(1, follow::MAX_ROWS), ..query };
            to_json(&codex.threads(&query, None).await?)
        }
        Request::Thread { thread } => to_json(&codex.thread(&thread).await?),
        Request::Operate { thread, operation } => to_json(&codex.operate(&thread, operation).await?),
        Request::Capabilities => to_json(&codex.capabilities().await?),
        Request::Limits => to_json(&codex.rate_limits().await?),
        Request::Commit { thread, message } => to_json(&codex.commit(&thread, &message).await?),
        Request::Plan { thread } => to_json(&codex.plan(&thread).await?),
        Request::Diff { thread } => to_json(&codex.diff(&thread).await?),
        Request::ExternalThreads { limit } => {
            to_json(&codex.external_threads(usize::try_from(limit).unwrap_or(usize::MAX)).await?)
        }
        Request::Send(prompt) => to_json(&follow::send(codex, *prompt).await?),
        Request::Watch { text, limit } => follow::watch(app, &text, limit, out).await,
        Request::Follow { thread, items } => follow::follow(app, &thread, items, out).await,
        Request::Events { thread } => follow::events(app, &thread, out).await,
        Request::Items { thread, before, limit } => {
            to_json(&follow::items(codex, &thread, limit, Some(before)).await?)
        }
    }
}

fn pending(codex: &Codex, approval: &str) -> Result<Approval, codex::Error> {
    let found = codex.pending_approvals().into_iter().find(|pending| pending.id == approval);
    found.ok_or_else(|| codex::Error::NotAsked(approval.to_owned()))
}

/// Reports all events until the turn has ended.
async fn follow(started: StartedTurn, out: &mut ResponseWriter) -> Result<Ended, Rejection> {
    let StartedTurn { thread, session, begins, mut answer, .. } = started;
    out.part(&Progress::Thread { thread: thread.clone() }).await?;
    // Turns of other prompts may come first; their events are not those of this one.
    let mut after = begins.await.map_err(|_| codex::Error::Over)?;
    let mut last = None;
    // The turn ends after all entries before its end were sent.
    let mut until = u64::MAX;
    while after < until {
        tokio::select! {
            biased;
            ended = &mut answer, if last.is_none() => {
                until = session.log.last_seq();
                last = Some(ended.ok());
            }
            read = session.log.next(after, BATCH_SIZE) => {
                if !send_entries(read, &mut after, out).await? {
                    break;
                }
            }
        }
    }
    let last = match last {
        Some(last) => last,
        None => answer.await.ok(),
    };
    let last = last.ok_or(codex::Error::Over)?;
    Ok(Ended { thread, end: last.end, message: last.said, failure: last.failure })
}

/// Sends what was read of a log. Returns false at its end.
async fn send_entries(read: LogRead, after: &mut u64, out: &mut ResponseWriter) -> Result<bool, Rejection> {
    match read {
        LogRead::Entries(entries) => {
            for entry in entries {
                *after = entry.seq;
                let (seq, at) = (entry.seq, entry.at);
                out.part(&Progress::Entry { seq, at, batch: Box::new((*entry.batch).clone()) }).await?;
            }
        }
        LogRead::Missed(entries) => {
            *after += entries;
            out.part(&Progress::Missed { entries }).await?;
        }
        LogRead::End => return Ok(false),
    }
    Ok(true)
}

impl From<codex::Error> for Rejection {
    fn from(error: codex::Error) -> Self {
        if let codex::Error::Store(source) = &error {
            tracing::error!(error = %source, "the store failed");
        }
        let hints = error.hint().into_iter().map(str::to_owned).collect();
        Self { hints, ..Self::new(error) }
    }
}
