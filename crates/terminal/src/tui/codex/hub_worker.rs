//! The threads that speak with the hub, for the one that has the screen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::console::{ITEMS, Input};
use crate::codex::approval::Decision;
use crate::popups::Answer;
use crate::socket::Start;
use crate::socket::person::codex::Order;
use crate::socket::person::{Error, HangUp, Person};
use crate::tui::Hub;

/// Pause between two looks for a hub that is gone.
const PAUSE: Duration = Duration::from_secs(1);
/// Acts that wait their turn. A person is slower than the hub.
const ACTS: usize = 64;
/// How long leaving may take.
const LAST: Duration = Duration::from_secs(1);
/// Threads of the list.
const THREADS: u32 = 200;

/// What a person does.
#[derive(Debug)]
pub(super) enum Act {
    Send(Box<Order>),
    Steer {
        thread: String,
        text: String,
    },
    Interrupt {
        thread: String,
    },
    Decide {
        approval: String,
        decision: Decision,
    },
    Older {
        thread: String,
        before: i64,
        limit: u32,
    },
    /// What is to be filled in for an approval, and what was.
    Form {
        approval: String,
    },
    Fill {
        approval: String,
        answer: Answer,
    },
}

/// Does acts in their order. What must not wait behind a thread that begins has a queue of its own.
pub(super) struct Acts {
    orders: SyncSender<Act>,
    urgent: SyncSender<Act>,
    /// Does what is urgent.
    worker: JoinHandle<()>,
}

impl Acts {
    pub(super) fn start(hub: Hub, inputs: SyncSender<Input>) -> Self {
        let (orders, _) = queue(hub.clone(), inputs.clone());
        let (urgent, worker) = queue(hub, inputs);
        Self { orders, urgent, worker }
    }

    /// Waits a moment for what was asked last: who stops a turn and leaves at once has stopped it.
    pub(super) fn finish(self) {
        drop(self.urgent);
        let end = Instant::now() + LAST;
        while !self.worker.is_finished() && Instant::now() < end {
            std::thread::sleep(LAST / 100);
        }
    }

    /// Hands in an act; one that finds its queue full is told as failed.
    pub(super) fn ask(&self, act: Act) -> Result<(), Input> {
        let queue = match act {
            Act::Send(_) => &self.orders,
            Act::Steer { .. }
            | Act::Interrupt { .. }
            | Act::Decide { .. }
            | Act::Older { .. }
            | Act::Form { .. }
            | Act::Fill { .. } => &self.urgent,
        };
        queue.try_send(act).map_err(|error| {
            let (TrySendError::Full(act) | TrySendError::Disconnected(act)) = error;
            told(act, Err("the hub does not keep up; try again".to_owned()))
        })
    }
}

fn queue(hub: Hub, inputs: SyncSender<Input>) -> (SyncSender<Act>, JoinHandle<()>) {
    let (send, acts): (_, Receiver<Act>) = sync_channel(ACTS);
    let worker = std::thread::spawn(move || {
        for act in acts {
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
fn told(act: Act, person: Result<Person, String>) -> Input {
    match act {
        Act::Send(order) => {
            let prompt = order.start.prompt.clone();
            Input::Sent { prompt, sent: with(person, |person| person.send_codex(*order)) }
        }
        Act::Steer { thread, text } => {
            let done = with(person, |person| person.steer_codex(&thread, text.clone()));
            Input::Done { typed: Some(text), done: done.map(|()| "Codex took it into the turn") }
        }
        Act::Interrupt { thread } => {
            let done = with(person, |person| person.interrupt_codex(&thread));
            Input::Done { typed: None, done: done.map(|()| "interrupting the turn; Ctrl-C once more leaves") }
        }
        Act::Decide { approval, decision } => {
            let typed = if let Decision::Deny { note } = &decision { note.clone() } else { None };
            let done = with(person, |person| person.decide_codex(&approval, decision));
            Input::Done { typed, done: done.map(|()| "answered") }
        }
        Act::Form { approval } => {
            let fields = with(person, |person| person.codex_form(&approval));
            Input::Form { approval, fields }
        }
        Act::Fill { approval, answer } => {
            let done = with(person, |person| person.fill_codex(&approval, answer));
            Input::Done { typed: None, done: done.map(|()| "answered") }
        }
        Act::Older { thread, before, limit } => {
            let items = with(person, |person| person.codex_items(&thread, before, limit));
            Input::Older { thread, items }
        }
    }
}

fn with<T>(
    person: Result<Person, String>,
    does: impl FnOnce(&mut Person) -> Result<T, Error>,
) -> Result<T, String> {
    does(&mut person?).map_err(|error| said(&error))
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
pub(super) struct Line {
    over: Arc<AtomicBool>,
    hang_up: Arc<Mutex<Option<HangUp>>>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(hang_up) = &*self.hang_up.lock().unwrap_or_else(PoisonError::into_inner) {
            hang_up.now();
        }
    }
}

/// Tells the threads that hold a text, under `number`.
pub(super) fn watch(hub: Hub, text: String, number: u64, inputs: SyncSender<Input>) -> Line {
    let send = inputs.clone();
    keep(hub, inputs, move |person| {
        person.watch_codex(&text, THREADS, |threads| {
            // The one who draws has ended when nobody listens.
            let _ = send.send(Input::Threads { number, threads });
        })
    })
}

/// Tells what becomes of a thread, under `number`.
pub(super) fn follow(hub: Hub, thread: String, number: u64, inputs: SyncSender<Input>) -> Line {
    let send = inputs.clone();
    keep(hub, inputs, move |person| {
        person.follow_codex(&thread, ITEMS, |live| {
            let _ = send.send(Input::Live { number, live });
        })
    })
}

/// Talks with the hub that is there, and with the next one when it ends.
fn keep(
    hub: Hub,
    inputs: SyncSender<Input>,
    talk: impl Fn(&mut Person) -> Result<(), Error> + Send + 'static,
) -> Line {
    let line = Line { over: Arc::default(), hang_up: Arc::default() };
    let (over, hang_up) = (line.over.clone(), line.hang_up.clone());
    std::thread::spawn(move || {
        loop {
            let ended = hub.connect(Start::Never).and_then(|mut person| {
                *hang_up.lock().unwrap_or_else(PoisonError::into_inner) = Some(person.hang_up()?);
                if over.load(Ordering::SeqCst) || inputs.send(Input::Reached(Ok(()))).is_err() {
                    return Ok(());
                }
                talk(&mut person)
            });
            if over.load(Ordering::SeqCst) {
                return;
            }
            let reason = match ended {
                Ok(()) => "the hub stopped; looking for the next".to_owned(),
                Err(error) => said(&error),
            };
            if inputs.send(Input::Reached(Err(reason))).is_err() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    });
    line
}
