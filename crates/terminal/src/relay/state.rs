//! The shared state of a relay's two threads: the link to the hub, the session, and the client's output.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::envelope::{Id, Message};
use super::session::Session;
use adjutant_base::mutex::lock;
use adjutant_mcp::deliveries::{DELIVERED, INPUT_ENDED};
use adjutant_mcp::error;

/// Time that a call waits for the next hub before it is answered with an error.
pub(super) const HUB_TIMEOUT: Duration = Duration::from_secs(12);

/// Acknowledgements that are repeated to the next hub.
const MAX_REPEATED: usize = 16;

/// Time in addition to a call's grace in which the hub answers the calls that it abandons.
const RESPONSE_MARGIN: Duration = Duration::from_secs(1);

/// The hub as the relay sees it.
#[derive(Clone, Debug)]
pub(super) enum Link {
    Up(Arc<UnixStream>),
    /// The hub has ended, and the relay searches for the next one. `failed` is the reason why the last search for a
    /// call failed.
    Down {
        failed: Option<String>,
    },
    /// The relay ends.
    Over,
}

/// Everything behind the one lock.
#[derive(Debug)]
pub(super) struct State {
    pub(super) link: Link,
    pub(super) session: Session,
    /// A call waits for a hub, so one may be started.
    pub(super) wanted: bool,
    /// The client has closed its end.
    pub(super) ending: bool,
    /// A call of a client that closed its end had no answer of the hub.
    pub(super) unanswered: bool,
    /// Tickets of the questions of which the client got the outcomes last.
    pub(super) acknowledged: VecDeque<String>,
}

/// The shared part of a relay.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    output: Mutex<File>,
    /// Held while a line is written to the hub.
    writing: Mutex<()>,
    init_logging: fn(),
}

impl Shared {
    /// Makes the state of a relay that is connected to `hub`.
    pub(super) fn new(output: File, hub: UnixStream, init_logging: fn()) -> Self {
        let link = Link::Up(Arc::new(hub));
        let state = State {
            link,
            session: Session::default(),
            wanted: false,
            ending: false,
            unanswered: false,
            acknowledged: VecDeque::new(),
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            output: Mutex::new(output),
            writing: Mutex::default(),
            init_logging,
        }
    }

    /// Makes the log ready for a line.
    pub(super) fn init_logging(&self) {
        (self.init_logging)();
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Changes the state and wakes the threads that wait for a change.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        self.changed.notify_all();
        changed
    }

    /// Waits up to `pause` for a change.
    pub(super) fn pause<'a>(&self, state: MutexGuard<'a, State>, pause: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits for the relay's end: the hub has answered everything after the client closed its end, or did not within
    /// `grace` and [`RESPONSE_MARGIN`], or the client no longer listens. Returns whether the hub answered every call.
    pub(super) fn wait(&self, grace: impl FnOnce() -> Duration) -> bool {
        let over = |state: &mut State| matches!(state.link, Link::Over);
        let ending = self.changed.wait_while(self.state(), |state| !over(state) && !state.ending);
        drop(ending);
        let longest = grace().saturating_add(RESPONSE_MARGIN);
        let waited = self.changed.wait_timeout_while(self.state(), longest, |state| !over(state));
        let (mut state, late) = waited.unwrap_or_else(PoisonError::into_inner);
        if late.timed_out() {
            let calls = state.session.cut();
            state.unanswered |= !calls.is_empty();
            drop(state);
            let _ = self.refuse(
                &calls,
                "the input ended, and the hub did not finish this call in time; call again: a question asked in the same \
                 words is found, not asked twice",
            );
            state = self.state();
        }
        !state.unanswered
    }

    /// Writes a line to the client.
    pub(super) fn to_client(&self, line: &[u8]) -> io::Result<()> {
        lock(&self.output).write_all(line)
    }

    /// Acknowledges the outcome of a question, which the client has. A thread does it, because the one that reads the hub
    /// must never wait for the hub to read.
    pub(super) fn acknowledge(self: &Arc<Self>, ticket: String) {
        let link = self.change(|state| {
            state.acknowledged.push_back(ticket.clone());
            if state.acknowledged.len() > MAX_REPEATED {
                state.acknowledged.pop_front();
            }
            state.link.clone()
        });
        if let Link::Up(hub) = link {
            let shared = self.clone();
            std::thread::spawn(move || shared.send(&hub, &delivered(&ticket)));
        }
    }

    /// Lets the hub know that the client sends nothing more. The connection stays open for acknowledgements.
    pub(super) fn end_input(&self, hub: &UnixStream) {
        self.send(hub, format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{INPUT_ENDED}\"}}\n").as_bytes());
    }

    /// Sends a line to the hub as a whole: lines of two threads never mix.
    fn send(&self, hub: &UnixStream, line: &[u8]) -> Sent {
        let _writing = lock(&self.writing);
        send(hub, line)
    }

    /// Answers calls with an error.
    pub(super) fn refuse<'a>(&self, ids: impl IntoIterator<Item = &'a Id>, message: &str) -> io::Result<()> {
        for id in ids {
            let mut line = error::hub_gone(id.json(), message);
            line.push('\n');
            self.to_client(line.as_bytes())?;
        }
        Ok(())
    }

    /// Sends a client's line to the hub, waiting for one while there is none.
    pub(super) fn to_hub(&self, messages: &[Message], line: &[u8]) -> io::Result<()> {
        let calls = || {
            messages.iter().filter_map(|message| match message {
                Message::Request { id, .. } => Some(id),
                Message::Answer { .. }
                | Message::Initialized
                | Message::Cancelled { .. }
                | Message::Delivery { .. }
                | Message::Other => None,
            })
        };
        let end = Instant::now() + HUB_TIMEOUT;
        loop {
            let mut state = self.state();
            let hub = match &mut state.link {
                Link::Up(hub) => hub.clone(),
                Link::Over => return Ok(()),
                // Everything else concerns the session that has just ended.
                Link::Down { .. } if calls().next().is_none() => {
                    state.session.note_client(messages, line);
                    return Ok(());
                }
                Link::Down { failed: Some(reason) } => {
                    let reason = std::mem::take(reason);
                    state.link = Link::Down { failed: None };
                    drop(state);
                    return self.refuse(calls(), &reason);
                }
                Link::Down { failed: None } => {
                    let Some(left) = end.checked_duration_since(Instant::now()) else {
                        drop(state);
                        return self.refuse(calls(), "the hub ended, and no hub was found in time");
                    };
                    state.wanted = true;
                    self.changed.notify_all();
                    drop(self.pause(state, left));
                    continue;
                }
            };
            if !state.session.note_client(messages, line) {
                return Ok(());
            }
            drop(state);
            match self.send(&hub, line) {
                Sent::All => return Ok(()),
                // The hub may have read a part. The other thread sees the end and answers the calls.
                Sent::Part => {
                    let _ = hub.shutdown(Shutdown::Both);
                    return Ok(());
                }
                Sent::Nothing => {
                    let _ = hub.shutdown(Shutdown::Both);
                    // The hub never saw it: the next one may. Unless the other thread was quicker, and the
                    // calls are answered with an error already.
                    let mut state = self.state();
                    if matches!(&state.link, Link::Up(up) if Arc::ptr_eq(up, &hub)) {
                        state.link = Link::Down { failed: None };
                    }
                    if !calls().fold(false, |open, id| state.session.answered(id) | open) {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Returns the line that acknowledges the outcome of a question.
pub(super) fn delivered(ticket: &str) -> Vec<u8> {
    let params = serde_json::json!({"ticket": ticket});
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{DELIVERED}\",\"params\":{params}}}\n").into_bytes()
}

enum Sent {
    All,
    Part,
    Nothing,
}

fn send(mut hub: &UnixStream, line: &[u8]) -> Sent {
    let mut sent = 0;
    while sent < line.len() {
        match hub.write(&line[sent..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) if sent == 0 => return Sent::Nothing,
            Ok(0) | Err(_) => return Sent::Part,
            Ok(more) => sent += more,
        }
    }
    Sent::All
}
