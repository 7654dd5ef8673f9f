//! The threads that talk to the hub for the Codex view.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::messages::{Action, MAX_ITEMS, Message, Report};
use crate::socket::Start;
use crate::socket::control::{ControlClient, Error, HangUp};
use crate::tui::hub::{Hub, describe};
use adjutant_base::mutex::lock;
use adjutant_codex::approval::Decision;
use adjutant_codex::event::ItemKind;
use adjutant_codex::operations::Operation;
use adjutant_codex::patch::FileChange;
use adjutant_codex::rate_limits::LimitWindow;

/// Interval between two attempts to find a hub.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum actions in the queue; a user is slower than the hub.
const REQUEST_QUEUE_SIZE: usize = 64;
/// Time for the last actions at the exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum threads of the list.
const MAX_THREADS: u32 = 200;

/// Runs actions in order. Urgent actions have a separate queue, because starting a thread takes long.
pub(super) struct HubThread {
    prompts: SyncSender<Action>,
    urgent: SyncSender<Action>,
    /// The thread of the urgent queue.
    worker: JoinHandle<()>,
}

impl HubThread {
    pub(super) fn start(hub: Hub, inputs: SyncSender<Message>) -> Self {
        let (prompts, _) = queue(hub.clone(), inputs.clone());
        let (urgent, worker) = queue(hub, inputs);
        Self { prompts, urgent, worker }
    }

    /// Waits a moment for the last actions, such as the interrupt of a turn just before the exit.
    pub(super) fn finish(self) {
        drop(self.urgent);
        let end = Instant::now() + EXIT_TIMEOUT;
        while !self.worker.is_finished() && Instant::now() < end {
            std::thread::sleep(EXIT_TIMEOUT / 100);
        }
    }

    /// Queues an action. If the queue is full, returns its failure.
    pub(super) fn run(&self, action: Action) -> Result<(), Message> {
        let queue = match action {
            Action::Send(_) | Action::Operate { .. } | Action::Report { .. } => &self.prompts,
            Action::Steer { .. }
            | Action::Interrupt { .. }
            | Action::Decide { .. }
            | Action::Older { .. }
            | Action::Form { .. }
            | Action::Fill { .. } => &self.urgent,
        };
        queue.try_send(action).map_err(|error| {
            let (TrySendError::Full(action) | TrySendError::Disconnected(action)) = error;
            perform(action, Err("the hub does not keep up; try again".to_owned()))
        })
    }
}

fn queue(hub: Hub, inputs: SyncSender<Message>) -> (SyncSender<Action>, JoinHandle<()>) {
    let (send, actions): (_, Receiver<Action>) = sync_channel(REQUEST_QUEUE_SIZE);
    let worker = std::thread::spawn(move || {
        for action in actions {
            // Each action has a connection, because the hub may have been replaced.
            let input = perform(action, hub.connect(Start::Never).map_err(|error| hub.fault(Some(&error))));
            if inputs.send(input).is_err() {
                return;
            }
        }
    });
    (send, worker)
}

/// Performs an action on the hub, and returns its result.
fn perform(action: Action, client: Result<ControlClient, String>) -> Message {
    match action {
        Action::Send(prompt) => {
            let text = prompt.start.turn.text.clone();
            Message::Sent { prompt: text, sent: with(client, |client| client.send_codex(*prompt)) }
        }
        Action::Steer { thread, input } => {
            let done = with(client, |client| client.steer_codex(&thread, input.clone()));
            Message::Steered { input, done }
        }
        Action::Interrupt { thread } => {
            let done = with(client, |client| client.interrupt_codex(&thread));
            Message::Done { typed: None, done: done.map(|()| "interrupting the turn; another Ctrl-C leaves") }
        }
        Action::Decide { approval, decision } => {
            let typed = if let Decision::Deny { note } = &decision { note.clone() } else { None };
            let done = with(client, |client| client.decide_codex(&approval, decision));
            Message::Done { typed, done: done.map(|()| "answered") }
        }
        Action::Form { approval } => {
            let fields = with(client, |client| client.codex_form(&approval));
            Message::Form { approval, fields }
        }
        Action::Fill { approval, answer } => {
            let done = with(client, |client| client.fill_codex(&approval, answer));
            Message::Done { typed: None, done: done.map(|()| "answered") }
        }
        Action::Operate { thread, operation } => {
            let ends = matches!(operation, Operation::Archive | Operation::Delete);
            let done = with(client, |client| client.operate_codex(&thread, operation));
            Message::Operated(done.map(|thread| Some(thread).filter(|_| !ends)))
        }
        Action::Report { thread, report } => {
            let kind = with(client, |client| describe_thread(client, &thread, report));
            Message::Reported { thread, kind }
        }
        Action::Older { thread, before, limit } => {
            let items = with(client, |client| client.codex_items(&thread, before, limit));
            Message::Older { thread, items }
        }
    }
}

/// Returns the answer to a question about a thread, as an item of its transcript.
fn describe_thread(client: &mut ControlClient, thread: &str, report: Report) -> Result<ItemKind, Error> {
    let note = |name: String| ItemKind::Other { name, content: serde_json::Value::Null };
    Ok(match report {
        Report::Diff => match client.codex_diff(thread)? {
            diff if diff.is_empty() => note("the thread has not changed a file by a patch".to_owned()),
            diff => {
                let (path, how) = ("all turns".to_owned(), "diff".to_owned());
                ItemKind::Patch { changes: vec![FileChange { path, how, diff }] }
            }
        },
        Report::Plan => {
            let plan = client.codex_plan(thread)?;
            plan.map_or_else(|| note("the thread has no plan".to_owned()), |item| item.kind)
        }
        Report::Limits => {
            let limits = client.codex_limits()?;
            let windows: Vec<String> = limits.windows.iter().map(LimitWindow::words).collect();
            let words = if windows.is_empty() { "unknown".to_owned() } else { windows.join(", ") };
            note(format!("the rate limits: {words}"))
        }
    })
}

fn with<T>(
    client: Result<ControlClient, String>,
    call: impl FnOnce(&mut ControlClient) -> Result<T, Error>,
) -> Result<T, String> {
    call(&mut client?).map_err(|error| describe(&error))
}

/// A stream of updates of the hub. Dropping it ends the stream.
pub(super) struct HubStream {
    ended: Arc<AtomicBool>,
    hang_up: Arc<Mutex<Option<HangUp>>>,
}

impl Drop for HubStream {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        if let Some(hang_up) = &*lock(&self.hang_up) {
            hang_up.now();
        }
    }
}

/// Streams the threads that contain a text, with `number`.
pub(super) fn watch(hub: Hub, text: String, number: u64, inputs: SyncSender<Message>) -> HubStream {
    let send = inputs.clone();
    stream(hub, inputs, move |client| {
        client.watch_codex(&text, MAX_THREADS, |threads| {
            // The receiver is dropped when the view ends.
            let _ = send.send(Message::Threads { number, threads });
        })
    })
}

/// Streams the updates of a thread, with `number`.
pub(super) fn follow(hub: Hub, thread: String, number: u64, inputs: SyncSender<Message>) -> HubStream {
    let send = inputs.clone();
    stream(hub, inputs, move |client| {
        client.follow_codex(&thread, MAX_ITEMS, |update| {
            let _ = send.send(Message::Updated { number, update });
        })
    })
}

/// Runs a stream on the hub, and again on the next hub after its end.
fn stream(
    hub: Hub,
    inputs: SyncSender<Message>,
    run: impl Fn(&mut ControlClient) -> Result<(), Error> + Send + 'static,
) -> HubStream {
    let stream = HubStream { ended: Arc::default(), hang_up: Arc::default() };
    let (ended, hang_up) = (stream.ended.clone(), stream.hang_up.clone());
    std::thread::spawn(move || {
        loop {
            let result = hub.connect(Start::Never).and_then(|mut client| {
                *lock(&hang_up) = Some(client.hang_up()?);
                if ended.load(Ordering::SeqCst) || inputs.send(Message::Reached(Ok(()))).is_err() {
                    return Ok(());
                }
                run(&mut client)
            });
            if ended.load(Ordering::SeqCst) {
                return;
            }
            if inputs.send(Message::Reached(Err(hub.fault(result.err().as_ref())))).is_err() {
                return;
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
    });
    stream
}
