//! Write-behind persistence of a session: threads, turns and ended items, in order.

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::approval::ResolvedApproval;
use super::detect::Installed;
use super::event::{CodexEvent, Item, ItemKind, ItemState, Ready, repeats};
use super::thread::Thread;
use super::thread_options::ThreadOptions;
use adjutant_store::Store;
use adjutant_store::codex::{self as rows, Change};

/// Changes that may wait for the disk; a faster session waits.
const QUEUE_SIZE: usize = 256;
/// Changes in one transaction.
const BATCH_SIZE: usize = 128;
/// Bytes of an item's body, and of the text that a search looks through.
const MAX_BODY_BYTES: usize = 1 << 20;
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Characters of a thread's title.
const MAX_TITLE_CHARS: usize = 120;

/// The writer of one session.
#[derive(Debug)]
pub(super) struct SessionWriter {
    writes: mpsc::Sender<Write>,
    task: JoinHandle<()>,
    /// The search text of the last item, and the number of faults, which have no ids of their own.
    last: String,
    faults: usize,
}

#[derive(Debug)]
enum Write {
    Change(Change),
    /// Confirms that everything before it is stored.
    Flush(oneshot::Sender<()>),
}

impl SessionWriter {
    /// Starts the task that writes. It ends with [`SessionWriter::close`], or when this value is dropped.
    pub(super) fn start(store: Store) -> Self {
        let (writes, mut queue) = mpsc::channel(QUEUE_SIZE);
        let task = tokio::spawn(async move {
            let mut batch = Vec::with_capacity(BATCH_SIZE);
            while queue.recv_many(&mut batch, BATCH_SIZE).await > 0 {
                let (mut changes, mut flushes) = (Vec::new(), Vec::new());
                for step in batch.drain(..) {
                    match step {
                        Write::Change(change) => changes.push(change),
                        Write::Flush(done) => flushes.push(done),
                    }
                }
                if !changes.is_empty()
                    && let Err(error) = rows::record(&store, changes).await
                {
                    tracing::error!(error = %error, "a part of a Codex session is not in the store");
                }
                for done in flushes {
                    // The waiting caller may have left.
                    let _ = done.send(());
                }
            }
        });
        Self { writes, task, last: String::new(), faults: 0 }
    }

    /// Waits until everything so far is stored.
    pub(super) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.writes.send(Write::Flush(done)).await.is_ok() {
            let _ = flushed.await;
        }
    }

    /// Records a thread that starts or is resumed by a new process.
    pub(super) async fn record_thread(
        &self,
        id: &str,
        installed: &Installed,
        start: &ThreadOptions,
        parent: &str,
        thread: &Thread,
        at: i64,
    ) {
        let ready = thread.ready.clone().unwrap_or_default();
        let change = Change::Thread(rows::NewThread {
            id: id.to_owned(),
            backend: installed.backend.name().to_owned(),
            version: ready.version.unwrap_or_else(|| installed.version.clone()),
            cwd: ready.cwd.or_else(|| start.cwd.clone()).unwrap_or_default(),
            model: ready.model.or_else(|| start.model.clone()).unwrap_or_default(),
            title: title(&start.turn.text),
            settings: serde_json::to_string(start).unwrap_or_default(),
            parent: parent.to_owned(),
            at,
        });
        self.send(change).await;
    }

    /// Records another model or effort of a thread, with the settings for the process that resumes it.
    pub(super) async fn record_settings(&self, thread: &str, ready: &Ready, start: &ThreadOptions) {
        let change = Change::Settings {
            thread: thread.to_owned(),
            model: ready.model.clone().unwrap_or_default(),
            settings: serde_json::to_string(start).unwrap_or_default(),
        };
        self.send(change).await;
    }

    /// Records another title of a thread, from the text of a prompt.
    pub(super) async fn record_title(&self, thread: &str, text: &str) {
        self.send(Change::Title { thread: thread.to_owned(), title: title(text) }).await;
    }

    /// Records an event, if it is one that is stored. `thread` is the state before a resolved approval, and at the end
    /// of a turn the state with the unfinished items.
    pub(super) async fn record_event(&mut self, id: &str, event: &CodexEvent, thread: &Thread, at: i64) {
        match event {
            CodexEvent::TurnStarted { turn } => {
                self.send(Change::TurnStarted { thread: id.to_owned(), turn: turn.clone(), at }).await;
            }
            CodexEvent::TurnEnded { turn, end, message } => {
                // An item without an end was started, so it is recorded as failed. Codex leaves the message of a review
                // without an end and without a text, because it sends the text as another item.
                let is_empty = |item: &&Item| match &item.kind {
                    ItemKind::Agent { text } | ItemKind::Reasoning { text } => text.is_empty(),
                    _ => false,
                };
                for item in thread.running.values().filter(|item| !is_empty(item)) {
                    self.record_item(id, &Item { state: ItemState::Failed, ..item.clone() }, at).await;
                }
                self.send(Change::TurnEnded {
                    thread: id.to_owned(),
                    turn: turn.clone().unwrap_or_default(),
                    end: end.name().to_owned(),
                    failure: message.clone(),
                    tokens: i64::try_from(thread.usage.total).unwrap_or(i64::MAX),
                    context: (
                        i64::try_from(thread.usage.context).unwrap_or(i64::MAX),
                        i64::try_from(thread.usage.window).unwrap_or(i64::MAX),
                    ),
                    diff: stored_diff(&thread.diff),
                    at,
                })
                .await;
            }
            CodexEvent::ItemEnded { item } => self.record_item(id, item, at).await,
            CodexEvent::ApprovalResolved { approval, decision, by } => {
                let asked = thread.asked.iter().find(|asked| asked.id == *approval);
                let settled = ResolvedApproval { asked: asked.cloned(), decision: decision.clone(), by: *by };
                let item = Item {
                    id: format!("approval-{approval}"),
                    turn: thread.turn.clone(),
                    state: ItemState::Done,
                    kind: ItemKind::Other {
                        name: format!("approval: {}", settled.line()),
                        content: serde_json::to_value(settled).unwrap_or_default(),
                    },
                };
                self.record_item(id, &item, at).await;
            }
            CodexEvent::Ready(_)
            | CodexEvent::Steered { .. }
            | CodexEvent::ItemStarted { .. }
            | CodexEvent::ItemGrew { .. }
            | CodexEvent::ApprovalRequested { .. }
            | CodexEvent::Diff { .. }
            | CodexEvent::Usage(_)
            | CodexEvent::Limits(_)
            | CodexEvent::SubAgent { .. }
            | CodexEvent::Notice { .. }
            | CodexEvent::Closed { .. } => {}
        }
        if let Some(kind) = event.fault().filter(|fault| !repeats(&fault.text(), &self.last)) {
            self.faults += 1;
            let name = format!("fault-{at}-{}", self.faults);
            let turn = if let CodexEvent::TurnEnded { turn, .. } = event { turn.clone() } else { None };
            let fault = Item { id: name, turn, state: ItemState::Done, kind };
            self.record_item(id, &fault, at).await;
        }
    }

    async fn record_item(&mut self, thread: &str, item: &Item, at: i64) {
        let row = item_row(thread, item, at);
        self.last.clone_from(&row.text);
        self.send(Change::Item(row)).await;
    }

    async fn send(&self, change: Change) {
        // The task ends only with this value, or by a panic that is logged.
        let _ = self.writes.send(Write::Change(change)).await;
    }

    /// Waits until everything is stored.
    pub(super) async fn close(self) {
        let Self { writes, task, .. } = self;
        drop(writes);
        let _ = task.await;
    }
}

/// Returns a diff as it is stored, without what is too large to keep.
pub(super) fn stored_diff(diff: &str) -> String {
    // PostgreSQL rejects NUL in a text.
    middle_out(diff, MAX_BODY_BYTES).replace('\0', "\u{fffd}")
}

/// Returns the beginning of a prompt, in one line.
pub(super) fn title(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_TITLE_CHARS).collect()
}

/// Returns the row of an item, without what is too large to keep.
pub(super) fn item_row(thread: &str, item: &Item, at: i64) -> rows::NewItem {
    let mut item = item.clone();
    if let ItemKind::Command { output, .. } = &mut item.kind {
        *output = middle_out(output, MAX_BODY_BYTES / 2);
    }
    let text = middle_out(&item.kind.text(), MAX_TEXT_BYTES);
    let mut body = serde_json::to_string(&item).unwrap_or_default();
    if body.len() > MAX_BODY_BYTES {
        let note = format!("{} of {} bytes, too large to keep", item.kind.name(), body.len());
        item.kind = ItemKind::Other { name: note, content: serde_json::Value::Null };
        body = serde_json::to_string(&item).unwrap_or_default();
    }
    rows::NewItem {
        thread: thread.to_owned(),
        id: item.id,
        turn: item.turn.unwrap_or_default(),
        kind: item.kind.name().to_owned(),
        // PostgreSQL rejects NUL in a text.
        text: text.replace('\0', "\u{fffd}"),
        body,
        at,
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
