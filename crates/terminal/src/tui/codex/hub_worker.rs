//! The threads that talk with the hub for the Codex view.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::messages::{Action, MAX_ITEMS, Message};
use crate::socket::Start;
use crate::socket::control::{ControlClient, Error, HangUp};
use crate::tui::hub::Hub;
use adjutant_codex::approval::Decision;

/// Pause between two looks for a hub that is gone.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Actions that may wait for the hub, which is faster than the user.
const REQUEST_QUEUE_SIZE: usize = 64;
/// How long leaving may take.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// Threads of the list.
const MAX_THREADS: u32 = 200;

/// Runs actions in order. Urgent actions have a queue of their own, because starting a thread takes long.
pub(super) struct HubThread {
    orders: SyncSender<Action>,
    urgent: SyncSender<Action>,
    /// Does what is urgent.
    worker: JoinHandle<()>,
}

impl HubThread {
    pub(super) fn start(hub: Hub, inputs: SyncSender<Message>) -> Self {
        let (orders, _) = queue(hub.clone(), inputs.clone());
        let (urgent, worker) = queue(hub, inputs);
        Self { orders, urgent, worker }
    }

    /// Waits a moment for what was asked last: who stops a turn and leaves at once has stopped it.
    pub(super) fn finish(self) {
        drop(self.urgent);
        let end = Instant::now() + EXIT_TIMEOUT;
        while !self.worker.is_finished() && Instant::now() < end {
            std::thread::sleep(EXIT_TIMEOUT / 100);
        }
    }

    /// Hands in an act; one that finds its queue full is told as failed.
    pub(super) fn ask(&self, act: Action) -> Result<(), Message> {
        let queue = match act {
            Action::Send(_) => &self.orders,
            Action::Steer { .. }
            | Action::Interrupt { .. }
            | Action::Decide { .. }
            | Action::Older { .. }
            | Action::Form { .. }
            | Action::Fill { .. } => &self.urgent,
        };
        queue.try_send(act).map_err(|error| {
            let (TrySendError::Full(act) | TrySendError::Disconnected(act)) = error;
            told(act, Err("the hub does not keep up; try again".to_owned()))
        })
    }
}

fn queue(hub: Hub, inputs: SyncSender<Message>) -> (SyncSender<Action>, JoinHandle<()>) {
    let (send, hub_thread): (_, Receiver<Action>) = sync_channel(REQUEST_QUEUE_SIZE);
    let worker = std::thread::spawn(move || {
        for act in hub_thread {
            // A connection for each: the hub may be another one than a moment ago.
            let input = told(act, hub.connect(Start::Never).map_err(|error| said(&error)));
            if inputs.send(input).is_err() {
                return;
            }
        }
    });
    (send, worker)
}

/// Does an act, where the hub can be reached, and returns what is told of it.
fn told(act: Action, client: Result<ControlClient, String>) -> Message {
    match act {
        Action::Send(order) => {
            let prompt = order.start.prompt.clone();
            Message::Sent { prompt, sent: with(client, |client| client.send_codex(*order)) }
        }
        Action::Steer { thread, text } => {
            let done = with(client, |client| client.steer_codex(&thread, text.clone()));
            Message::Done { typed: Some(text), done: done.map(|()| "Codex took it into the turn") }
        }
        Action::Interrupt { thread } => {
            let done = with(client, |client| client.interrupt_codex(&thread));
            Message::Done {
                typed: None,
                done: done.map(|()| "interrupting the turn; Ctrl-C once more leaves"),
            }
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
        Action::Older { thread, before, limit } => {
            let items = with(client, |client| client.codex_items(&thread, before, limit));
            Message::Older { thread, items }
        }
    }
}

fn with<T>(
    client: Result<ControlClient, String>,
    does: impl FnOnce(&mut ControlClient) -> Result<T, Error>,
) -> Result<T, String> {
    does(&mut client?).map_err(|error| said(&error))
}

/// A refusal with what to do about it.
fn said(error: &Error) -> String {
    match error {
        Error::Refused(refusal) if !refusal.hints.is_empty() => {
            format!("{}; {}", refusal.message, refusal.hints.join("; "))
        }
        other => other.to_string(),
    }
}

/// A line on which the hub tells something, for as long as the value is kept.
pub(super) struct HubStream {
    over: Arc<AtomicBool>,
    hang_up: Arc<Mutex<Option<HangUp>>>,
}

impl Drop for HubStream {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(hang_up) = &*self.hang_up.lock().unwrap_or_else(PoisonError::into_inner) {
            hang_up.now();
        }
    }
}

/// Tells the threads that hold a text, under `number`.
pub(super) fn watch(hub: Hub, text: String, number: u64, inputs: SyncSender<Message>) -> HubStream {
    let send = inputs.clone();
    keep(hub, inputs, move |client| {
        client.watch_codex(&text, MAX_THREADS, |threads| {
            // The one who draws has ended when nobody listens.
            let _ = send.send(Message::Threads { number, threads });
        })
    })
}

/// Tells what becomes of a thread, under `number`.
pub(super) fn follow(hub: Hub, thread: String, number: u64, inputs: SyncSender<Message>) -> HubStream {
    let send = inputs.clone();
    keep(hub, inputs, move |client| {
        client.follow_codex(&thread, MAX_ITEMS, |update| {
            let _ = send.send(Message::Updated { number, update });
        })
    })
}

/// Talks with the hub that is there, and with the next one when it ends.
fn keep(
    hub: Hub,
    inputs: SyncSender<Message>,
    talk: impl Fn(&mut ControlClient) -> Result<(), Error> + Send + 'static,
) -> HubStream {
    let line = HubStream { over: Arc::default(), hang_up: Arc::default() };
    let (over, hang_up) = (line.over.clone(), line.hang_up.clone());
    std::thread::spawn(move || {
        loop {
            let ended = hub.connect(Start::Never).and_then(|mut client| {
                *hang_up.lock().unwrap_or_else(PoisonError::into_inner) = Some(client.hang_up()?);
                if over.load(Ordering::SeqCst) || inputs.send(Message::Reached(Ok(()))).is_err() {
                    return Ok(());
                }
                talk(&mut client)
            });
            if over.load(Ordering::SeqCst) {
                return;
            }
            let reason = match ended {
                Ok(()) => "the hub stopped; looking for the next".to_owned(),
                Err(error) => said(&error),
            };
            if inputs.send(Message::Reached(Err(reason))).is_err() {
                return;
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
    });
    line
}
