//! What of a session is kept: threads, turns and ended items, written behind the session's back, in order.

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::approval::Settled;
use super::happened::{Happened, Item, ItemState, Kind, is_told};
use super::installed::Installed;
use super::settings::Start;
use super::thread::Thread;
use crate::store::Store;
use crate::store::codex::{self as rows, Change};

/// Changes that wait for the disk; a session that says more waits for it.
const WAITING: usize = 256;
/// Changes in one transaction.
const BATCH: usize = 128;
/// Bytes of an item's body and of the text that a search looks through.
const LARGEST_BODY: usize = 1 << 20;
const LARGEST_TEXT: usize = 64 << 10;
/// Characters of a thread's title.
const TITLE: usize = 120;

/// The way to the disk of one session.
#[derive(Debug)]
pub(super) struct Journal {
    steps: mpsc::Sender<Step>,
    task: JoinHandle<()>,
    /// What the last item was found by, and how many faults there were, which have no names.
    last: String,
    faults: usize,
}

#[derive(Debug)]
enum Step {
    Keep(Change),
    /// Says when all before it is on disk.
    Flush(oneshot::Sender<()>),
}

impl Journal {
    /// Starts the task that writes. It ends with [`Journal::close`], or when this is dropped.
    pub(super) fn start(store: Store) -> Self {
        let (steps, mut queue) = mpsc::channel(WAITING);
        let task = tokio::spawn(async move {
            let mut batch = Vec::with_capacity(BATCH);
            while queue.recv_many(&mut batch, BATCH).await > 0 {
                let (mut changes, mut flushes) = (Vec::new(), Vec::new());
                for step in batch.drain(..) {
                    match step {
                        Step::Keep(change) => changes.push(change),
                        Step::Flush(done) => flushes.push(done),
                    }
                }
                if !changes.is_empty()
                    && let Err(error) = rows::record(&store, changes).await
                {
                    tracing::error!(error = %error, "a part of a Codex session is not in the store");
                }
                for done in flushes {
                    // Who waited may have ended.
                    let _ = done.send(());
                }
            }
        });
        Self { steps, task, last: String::new(), faults: 0 }
    }

    /// Waits until what was noted so far is on disk.
    pub(super) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.steps.send(Step::Flush(done)).await.is_ok() {
            let _ = flushed.await;
        }
    }

    /// Notes a thread that begins, or that a new process took up.
    pub(super) async fn thread(
        &self,
        id: &str,
        installed: &Installed,
        start: &Start,
        thread: &Thread,
        at: i64,
    ) {
        let ready = thread.ready.clone().unwrap_or_default();
        let title: String =
            start.prompt.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(TITLE).collect();
        let change = Change::Thread(rows::NewThread {
            id: id.to_owned(),
            back: installed.back.as_str().to_owned(),
            version: ready.version.unwrap_or_else(|| installed.version.clone()),
            cwd: ready.cwd.or_else(|| start.cwd.clone()).unwrap_or_default(),
            model: ready.model.or_else(|| start.model.clone()).unwrap_or_default(),
            title,
            settings: serde_json::to_string(start).unwrap_or_default(),
            at,
        });
        self.send(change).await;
    }

    /// Notes what happened, as far as it is kept. `thread` is as it was before where something is settled; where a turn
    /// ends it is as it is then, but with what was being done.
    pub(super) async fn happened(&mut self, id: &str, happened: &Happened, thread: &Thread, at: i64) {
        match happened {
            Happened::TurnStarted { turn } => {
                self.send(Change::TurnStarted { thread: id.to_owned(), turn: turn.clone(), at }).await;
            }
            Happened::TurnEnded { turn, end, message } => {
                // What had not ended did not happen, but it was begun.
                for item in thread.running.values() {
                    self.item(id, &Item { state: ItemState::Failed, ..item.clone() }, at).await;
                }
                self.send(Change::TurnEnded {
                    thread: id.to_owned(),
                    turn: turn.clone().unwrap_or_default(),
                    end: end.as_str().to_owned(),
                    failure: message.clone(),
                    tokens: i64::try_from(thread.usage.total).unwrap_or(i64::MAX),
                    at,
                })
                .await;
            }
            Happened::ItemEnded { item } => self.item(id, item, at).await,
            Happened::Settled { approval, decision, by } => {
                let asked = thread.asked.iter().find(|asked| asked.id == *approval);
                let settled = Settled { asked: asked.cloned(), decision: decision.clone(), by: *by };
                let item = Item {
                    id: format!("approval-{approval}"),
                    turn: thread.turn.clone(),
                    state: ItemState::Done,
                    kind: Kind::Other {
                        name: format!("approval: {}", settled.line()),
                        content: serde_json::to_value(settled).unwrap_or_default(),
                    },
                };
                self.item(id, &item, at).await;
            }
            Happened::Ready(_)
            | Happened::Steered { .. }
            | Happened::ItemStarted { .. }
            | Happened::ItemGrew { .. }
            | Happened::Asked { .. }
            | Happened::Diff { .. }
            | Happened::Usage(_)
            | Happened::Notice { .. }
            | Happened::Closed { .. } => {}
        }
        if let Some(kind) = happened.fault().filter(|fault| !is_told(&fault.text(), &self.last)) {
            self.faults += 1;
            let name = format!("fault-{at}-{}", self.faults);
            let turn = if let Happened::TurnEnded { turn, .. } = happened { turn.clone() } else { None };
            let fault = Item { id: name, turn, state: ItemState::Done, kind };
            self.item(id, &fault, at).await;
        }
    }

    async fn item(&mut self, thread: &str, item: &Item, at: i64) {
        let mut item = item.clone();
        if let Kind::Command { output, .. } = &mut item.kind {
            *output = middle_out(output, LARGEST_BODY / 2);
        }
        let text = middle_out(&item.kind.text(), LARGEST_TEXT);
        self.last.clone_from(&text);
        let mut body = serde_json::to_string(&item).unwrap_or_default();
        if body.len() > LARGEST_BODY {
            let note = format!("{} of {} bytes, too large to keep", item.kind.name(), body.len());
            item.kind = Kind::Other { name: note, content: serde_json::Value::Null };
            body = serde_json::to_string(&item).unwrap_or_default();
        }
        self.send(Change::Item(rows::NewItem {
            thread: thread.to_owned(),
            id: item.id.clone(),
            turn: item.turn.clone().unwrap_or_default(),
            kind: item.kind.name().to_owned(),
            // PostgreSQL takes no NUL in a text.
            text: text.replace('\0', "\u{fffd}"),
            body,
            at,
        }))
        .await;
    }

    async fn send(&self, change: Change) {
        // The task ends only with us, or by a panic that was told.
        let _ = self.steps.send(Step::Keep(change)).await;
    }

    /// Waits until everything is on disk.
    pub(super) async fn close(self) {
        let Self { steps, task, .. } = self;
        drop(steps);
        let _ = task.await;
    }
}

/// Returns at most about `limit` bytes of a text: its beginning and its end.
fn middle_out(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(limit / 2), text.ceil_char_boundary(text.len() - limit / 2));
    format!("{}\n… {} bytes left out …\n{}", &text[..head], tail - head, &text[tail..])
}
