//! What a view of sessions lives on: the list of threads and one thread, told as they change.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Act, Order, Shown, shown};
use crate::app::App;
use crate::codex::happened::{Happened, Item, ItemState, Kind};
use crate::codex::log::Followed;
use crate::codex::{self, Begun, Codex, Query, Session};
use crate::events::Event;
use crate::socket::person::{self, Error, Out, Person, Refusal};

/// Entries that are written at once.
const ENTRIES: usize = 500;
/// Threads and items of one answer.
const MOST: u32 = 1000;

/// What came of [`Act::Send`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Sent {
    pub(crate) thread: String,
    /// How many turns end before this one begins.
    pub(crate) ahead: usize,
}

/// A part of what [`Act::Follow`] tells.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Live {
    /// How all of it stands; forget what was told before.
    Stands(Box<Stands>),
    /// What happened then.
    Entry { happened: Vec<Happened> },
}

/// A thread at one moment.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Stands {
    pub(crate) row: Shown,
    /// What makes [`codex::thread::Thread`] stand there.
    pub(crate) state: Vec<Happened>,
    /// The newest ended items, the newest first.
    pub(crate) items: Vec<Kept>,
}

/// An item that has ended, and its number in its thread.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Kept {
    pub(crate) seq: i64,
    pub(crate) item: Item,
}

/// The client's calls.
impl Person {
    /// Hands in a prompt; how its turn goes is told to those who follow the thread.
    pub(crate) fn send_codex(&mut self, order: Order) -> Result<Sent, Error> {
        self.ask(&person::Act::Codex(Act::Send(Box::new(order))))
    }

    /// Gives `told` the threads that hold `text`, again and again. Ends with the connection.
    pub(crate) fn watch_codex(
        &mut self,
        text: &str,
        limit: u32,
        told: impl FnMut(Vec<Shown>),
    ) -> Result<(), Error> {
        self.follow(&person::Act::Codex(Act::Watch { text: text.to_owned(), limit }), told)
    }

    /// Gives `told` what becomes of a thread. Ends with the connection.
    pub(crate) fn follow_codex(
        &mut self,
        thread: &str,
        items: u32,
        told: impl FnMut(Live),
    ) -> Result<(), Error> {
        self.follow(&person::Act::Codex(Act::Follow { thread: thread.to_owned(), items }), told)
    }

    /// Returns items before the one numbered `before`, the newest first.
    pub(crate) fn codex_items(&mut self, thread: &str, before: i64, limit: u32) -> Result<Vec<Kept>, Error> {
        self.ask(&person::Act::Codex(Act::Items { thread: thread.to_owned(), before, limit }))
    }
}

/// Hands in a prompt.
pub(super) async fn begin(codex: &Codex, order: Order) -> Result<Begun, codex::Error> {
    let Order { thread, start } = order;
    match thread {
        Some(thread) => match codex.reply(&thread, start.prompt.clone()).await {
            Err(codex::Error::UnknownThread(_)) => codex.take_up(&thread, start.prompt).await,
            begun => begun,
        },
        None => codex.start(start).await,
    }
}

/// The same, without waiting for what comes of it.
pub(super) async fn send(codex: &Codex, order: Order) -> Result<Sent, codex::Error> {
    let Begun { thread, ahead, .. } = begin(codex, order).await?;
    Ok(Sent { thread, ahead })
}

pub(super) async fn threads(codex: &Codex, text: &str, limit: u32) -> Result<Vec<Shown>, codex::Error> {
    let query = Query { text: text.to_owned(), limit: limit.clamp(1, MOST) };
    let threads = codex.threads(&query, None).await?;
    Ok(threads.into_iter().map(shown).collect())
}

/// Returns ended items, the newest first.
pub(super) async fn items(
    codex: &Codex,
    thread: &str,
    limit: u32,
    before: Option<i64>,
) -> Result<Vec<Kept>, codex::Error> {
    let query = Query { text: String::new(), limit: limit.clamp(1, MOST) };
    let items = codex.items(thread, &query, before).await?;
    let unknown = |id: &str, kind: &str| Item {
        id: id.to_owned(),
        turn: None,
        state: ItemState::Done,
        kind: Kind::Other { name: kind.to_owned(), content: Value::Null },
    };
    let kept = items.into_iter().map(|(row, item)| {
        let item = item.unwrap_or_else(|| unknown(&row.id, &row.kind));
        Kept { seq: row.seq, item }
    });
    Ok(kept.collect())
}

pub(super) async fn watch(app: &App, text: &str, limit: u32, out: &mut Out) -> Result<Value, Refusal> {
    let mut events = app.events.subscribe();
    loop {
        out.part(&threads(&app.codex, text, limit).await?).await?;
        // Who falls behind has missed one of these, too.
        while let Ok(event) = events.recv().await
            && !matches!(event, Event::CodexChanged)
        {}
        // A hub that goes takes the connection with it.
        if app.shutdown.is_cancelled() {
            return Ok(Value::Null);
        }
    }
}

pub(super) async fn follow(app: &App, thread: &str, most: u32, out: &mut Out) -> Result<Value, Refusal> {
    let mut events = app.events.subscribe();
    loop {
        let session = app.codex.session(thread);
        let (mut after, state) = match &session {
            Some(session) => match session.look().await {
                Some((after, thread)) => (after, thread.retold()),
                None => (session.log.last(), session.thread().retold()),
            },
            None => (0, vec![Happened::Closed { message: None }]),
        };
        let row = shown(app.codex.thread(thread).await?);
        let items = items(&app.codex, thread, most, None).await?;
        out.part(&Live::Stands(Box::new(Stands { row, state, items }))).await?;
        if let Some(session) = session
            && !tell(&session, &mut after, out).await?
        {
            continue;
        }
        // The next process that takes the thread up tells the rest.
        while app.codex.session(thread).is_none() && !app.shutdown.is_cancelled() {
            // Whatever it was, it may have been about this one.
            let _ = events.recv().await;
        }
        if app.shutdown.is_cancelled() {
            return Ok(Value::Null);
        }
    }
}

/// Tells what happens in a session; false when some of it was missed, so that it has to be told as a whole again.
async fn tell(session: &Session, after: &mut u64, out: &mut Out) -> Result<bool, Refusal> {
    loop {
        match session.log.next(*after, ENTRIES).await {
            Followed::Entries(entries) => {
                for entry in entries {
                    *after = entry.seq;
                    if !entry.heard.happened.is_empty() {
                        let happened = entry.heard.happened.clone();
                        out.part(&Live::Entry { happened }).await?;
                    }
                }
            }
            Followed::Missed(_) => return Ok(false),
            Followed::End => return Ok(true),
        }
    }
}
