//! Updates for the view of Codex: the list of threads, and one thread.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast;

use super::{Progress, Prompt, Request, send_entries};
use crate::socket::control;
use crate::socket::control::client::ControlClient;
use crate::socket::control::protocol::{Error, Rejection, ResponseWriter};
use adjutant_app::App;
use adjutant_base::events::{Event, wait_for};
use adjutant_codex as codex;
use adjutant_codex::event::CodexEvent;
use adjutant_codex::event_log::LogRead;
use adjutant_codex::{Codex, ListedThread, NumberedItem, Query, SessionHandle, StartedTurn};

/// Entries of one read.
const BATCH_SIZE: usize = 500;
/// Threads and items of one answer.
pub(super) const MAX_ROWS: u32 = 1000;

/// The result of [`Request::Send`].
#[derive(Debug, Deserialize, Serialize)]
pub struct SentPrompt {
    pub thread: String,
    /// The number of turns before this one.
    pub ahead: usize,
}

/// A part of the answer to [`Request::Follow`].
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadUpdate {
    /// The whole state, which replaces everything before it.
    Snapshot(Box<ThreadSnapshot>),
    /// The events that followed.
    Events { events: Vec<CodexEvent> },
}

/// A thread at one moment.
#[derive(Debug, Deserialize, Serialize)]
pub struct ThreadSnapshot {
    pub row: ListedThread,
    /// The events that restore [`codex::thread::Thread`].
    pub state: Vec<CodexEvent>,
    /// The newest ended items, the newest first.
    pub items: Vec<NumberedItem>,
}

/// The client's calls.
impl ControlClient {
    /// Sends a prompt. The followers of the thread receive the events of its turn.
    pub(crate) fn send_codex(&mut self, prompt: Prompt) -> Result<SentPrompt, Error> {
        self.ask(&control::Request::Codex(Request::Send(Box::new(prompt))))
    }

    /// Calls `on_part` with the threads that contain `text`, after every change. Ends with the connection.
    pub(crate) fn watch_codex(
        &mut self,
        text: &str,
        limit: u32,
        on_part: impl FnMut(Vec<ListedThread>),
    ) -> Result<(), Error> {
        self.follow(&control::Request::Codex(Request::Watch { text: text.to_owned(), limit }), on_part)
    }

    /// Calls `on_part` with the updates of a thread. Ends with the connection.
    pub(crate) fn follow_codex(
        &mut self,
        thread: &str,
        items: u32,
        on_part: impl FnMut(ThreadUpdate),
    ) -> Result<(), Error> {
        self.follow(&control::Request::Codex(Request::Follow { thread: thread.to_owned(), items }), on_part)
    }

    /// Returns items before the one numbered `before`, the newest first.
    pub fn codex_items(&mut self, thread: &str, before: i64, limit: u32) -> Result<Vec<NumberedItem>, Error> {
        self.ask(&control::Request::Codex(Request::Items { thread: thread.to_owned(), before, limit }))
    }
}

/// Starts or queues the turn of a prompt.
pub(super) async fn begin(codex: &Codex, prompt: Prompt) -> Result<StartedTurn, codex::Error> {
    let Prompt { thread, start } = prompt;
    match thread {
        Some(thread) => {
            let mut turn = start.turn;
            turn.model = turn.model.or(start.model);
            match codex.reply(&thread, turn.clone()).await {
                Err(codex::Error::UnknownThread(_)) => codex.adopt(&thread, turn).await,
                started => started,
            }
        }
        None => codex.start(start).await,
    }
}

/// Starts or queues the turn of a prompt, without waiting for its end.
pub(super) async fn send(codex: &Codex, prompt: Prompt) -> Result<SentPrompt, codex::Error> {
    let StartedTurn { thread, ahead, .. } = begin(codex, prompt).await?;
    Ok(SentPrompt { thread, ahead })
}

pub(super) async fn threads(
    codex: &Codex,
    text: &str,
    limit: u32,
) -> Result<Vec<ListedThread>, codex::Error> {
    let query = Query { text: text.to_owned(), limit: limit.clamp(1, MAX_ROWS), ..Query::default() };
    codex.threads(&query, None).await
}

/// Returns ended items, the newest first.
pub(super) async fn items(
    codex: &Codex,
    thread: &str,
    limit: u32,
    before: Option<i64>,
) -> Result<Vec<NumberedItem>, codex::Error> {
    let query = Query { limit: limit.clamp(1, MAX_ROWS), ..Query::default() };
    codex.items(thread, &query, before).await
}

pub(super) async fn watch(
    app: &App,
    text: &str,
    limit: u32,
    out: &mut ResponseWriter,
) -> Result<Value, Rejection> {
    let mut events = app.events.subscribe();
    loop {
        out.part(&threads(&app.codex, text, limit).await?).await?;
        wait_for(&mut events, Event::CodexChanged).await;
        // The hub closes the connection when it stops.
        if app.shutdown.is_cancelled() {
            return Ok(Value::Null);
        }
    }
}

pub(super) async fn follow(
    app: &App,
    thread: &str,
    limit: u32,
    out: &mut ResponseWriter,
) -> Result<Value, Rejection> {
    let mut events = app.events.subscribe();
    loop {
        let session = app.codex.session(thread);
        let (mut after, state) = match &session {
            Some(session) => match session.snapshot().await {
                Some((after, thread)) => (after, thread.snapshot_events()),
                None => (session.log.last_seq(), session.thread().snapshot_events()),
            },
            None => (0, vec![CodexEvent::Closed { message: None }]),
        };
        let row = app.codex.thread(thread).await?;
        let items = items(&app.codex, thread, limit, None).await?;
        out.part(&ThreadUpdate::Snapshot(Box::new(ThreadSnapshot { row, state, items }))).await?;
        if let Some(session) = session
            && !send_updates(&session, &mut after, out).await?
        {
            continue;
        }
        if next_process(app, thread, &mut events).await.is_none() {
            return Ok(Value::Null);
        }
    }
}

/// Reports all events of a thread from now on.
pub(super) async fn events(app: &App, thread: &str, out: &mut ResponseWriter) -> Result<Value, Rejection> {
    let mut changes = app.events.subscribe();
    app.codex.thread(thread).await?;
    out.part(&Progress::Thread { thread: thread.to_owned() }).await?;
    let mut after = app.codex.session(thread).map_or(0, |session| session.log.last_seq());
    while let Some(session) = next_process(app, thread, &mut changes).await {
        while send_entries(session.log.next(after, BATCH_SIZE).await, &mut after, out).await? {}
        after = 0;
    }
    Ok(Value::Null)
}

/// Waits for the process of a thread; `None` when the hub stops.
async fn next_process(
    app: &App,
    thread: &str,
    events: &mut broadcast::Receiver<Event>,
) -> Option<SessionHandle> {
    while !app.shutdown.is_cancelled() {
        if let Some(session) = app.codex.session(thread) {
            return Some(session);
        }
        // Any event may be about this thread.
        let _ = events.recv().await;
    }
    None
}

/// Sends the events of a session. Returns false if some were lost, so that the whole state has to be sent again.
async fn send_updates(
    session: &SessionHandle,
    after: &mut u64,
    out: &mut ResponseWriter,
) -> Result<bool, Rejection> {
    loop {
        match session.log.next(*after, BATCH_SIZE).await {
            LogRead::Entries(entries) => {
                for entry in entries {
                    *after = entry.seq;
                    if !entry.batch.events.is_empty() {
                        let events = entry.batch.events.clone();
                        out.part(&ThreadUpdate::Events { events }).await?;
                    }
                }
            }
            LogRead::Missed(_) => return Ok(false),
            LogRead::End => return Ok(true),
        }
    }
}
