//! The thread that reads the hub, and finds another hub when the connection ends.

use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::envelope::{self, Id, Message};
use super::lines::{self, LineRead};
use super::session::{Handshake, OpenCalls};
use super::state::{HUB_TIMEOUT, Link, Shared, delivered};
use super::{Error, Options, reach};
use crate::socket::{self, Start};

/// Bytes of one line. More than a client may send: an answer holds a text twice, once in quotes within quotes.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// Timeout of the repeated handshake with a new hub.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// The first and the maximum pause between two searches for a hub.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));

/// The error of a call after the home was deleted.
const HOME_IS_DELETED: &str =
    "the hub's home folder was deleted; restart this connection to begin with a new one";

/// The error of a call that was open when the hub ended.
const HUB_HAS_ENDED: &str = "the hub stopped before this call was finished; call again: a question asked in the same \
                             words is found, not asked twice";

/// The error of a call that was open when the hub on another machine was lost.
const REMOTE_HUB_IS_LOST: &str = "the connection to the hub was lost before this call was finished. It was not sent to another hub, because \
                                  the lost one may have carried it out. See what has happened, then call again";

/// The error of a call that no hub on another machine took in time.
const NO_REMOTE_HUB: &str =
    "the connection to the hub was lost, and no hub could be reached in time; call again later";

/// The error of a call that was open at `adjutant stop`.
const HUB_WAS_STOPPED: &str = "the user stopped the hub before this call was finished; `adjutant serve --background` \
                               starts it again, and a question asked in the same words is found then";

/// The error of a call after `adjutant stop`.
const HUB_IS_STOPPED: &str = "the user stopped the hub; `adjutant serve --background` starts it again";

/// Relays the hub's lines until the client's end.
pub(super) fn relay(shared: &Arc<Shared>, options: &Options, mut hub: BufReader<UnixStream>) {
    while pump(shared, &mut hub).is_ok() {
        let (calls, ending) = shared.change(|state| {
            let calls = match &options.hubs {
                Some(hubs) if !state.ending => state.session.cut_to_continue(&hubs.take_unaccepted()),
                _ => OpenCalls { lost: state.session.cut(), ..OpenCalls::default() },
            };
            if state.ending {
                // The process ends when the link is over, which is after these are answered.
                state.unanswered |= !calls.lost.is_empty();
            } else {
                state.link = Link::Down { failed: None };
                state.wanted |= !calls.repeatable.is_empty();
            }
            (calls, state.ending)
        });
        let OpenCalls { lost: calls, repeatable } = calls;
        if !ending {
            shared.init_logging();
            tracing::warn!(calls.open = calls.len(), "the hub has ended");
        }
        let message = match &options.hubs {
            Some(_) => REMOTE_HUB_IS_LOST,
            None if socket::is_stopped(&options.home) => HUB_WAS_STOPPED,
            None => HUB_HAS_ENDED,
        };
        if shared.refuse(&calls, message).is_err() {
            break;
        }
        match find(shared, options, repeatable) {
            Some(next) => hub = next,
            None => break,
        }
    }
    shared.change(|state| state.link = Link::Over);
}

/// Relays until the hub's end. Fails when the client no longer listens.
fn pump(shared: &Arc<Shared>, hub: &mut BufReader<UnixStream>) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        match lines::read(hub, &mut line, MAX_LINE_BYTES) {
            Ok(LineRead::Line) => {
                let messages = envelope::messages(&line);
                if let [Message::Delivery { ticket }] = messages.as_slice() {
                    shared.acknowledge(ticket.clone());
                    continue;
                }
                shared.state().session.note_hub(&messages, &line);
                shared.to_client(&line)?;
            }
            // Half a message of a hub that died is dropped.
            Ok(LineRead::End | LineRead::Unfinished) => return Ok(()),
            Ok(LineRead::TooLong) => {
                shared.init_logging();
                tracing::error!("the hub sent a line over {MAX_LINE_BYTES} bytes");
                return Ok(());
            }
            Err(error) => {
                tracing::debug!(error = %error, "cannot read the hub");
                return Ok(());
            }
        }
    }
}

/// Searches for a hub until there is one; `None` when the client has ended. A hub is started only for a call that
/// waits, and not after `adjutant stop`: a new client or the user starts the next one then.
///
/// Calls of `repeatable` are sent to that hub, or answered with an error when there is none in time.
fn find(
    shared: &Arc<Shared>,
    options: &Options,
    mut repeatable: Vec<(Id, Vec<u8>)>,
) -> Option<BufReader<UnixStream>> {
    let is_remote = options.hubs.is_some();
    let end = Instant::now() + HUB_TIMEOUT;
    let mut pause = BACKOFF.0;
    loop {
        let (wanted, handshake, acknowledged) = {
            let state = shared.state();
            if state.ending || matches!(state.link, Link::Over) {
                return None;
            }
            (state.wanted, state.session.handshake.clone(), state.acknowledged.clone())
        };
        // A home that was deleted is not made again by a call of an older connection.
        let is_deleted = !is_remote && !options.home.is_dir();
        // Not even a connection: a service manager would start a hub for it.
        let is_stopped = !is_remote && socket::is_stopped(&options.home);
        let start = if wanted && !is_deleted { options.start } else { Start::Never };
        let connect = || {
            let mut hub = reach(options, start, options.session.returning())?;
            repeat(shared, &handshake, &mut hub)?;
            // The last hub may have ended before it read these.
            for ticket in &acknowledged {
                hub.get_mut().write_all(&delivered(ticket))?;
            }
            Ok::<_, Error>((hub.get_ref().try_clone()?, hub))
        };
        let found = if is_stopped { Err(None) } else { connect().map_err(Some) };
        match found {
            Ok((writer, hub)) => {
                tracing::info!("the hub is back");
                shared.change(|state| {
                    state.link = Link::Up(Arc::new(writer));
                    state.wanted = false;
                });
                if is_remote {
                    continue_there(shared, &handshake, repeatable);
                }
                return Some(hub);
            }
            Err(error) if wanted && error.as_ref().is_none_or(|error| is_permanent(error, start)) => {
                shared.init_logging();
                let refusal = match &error {
                    None => HUB_IS_STOPPED.to_owned(),
                    Some(_) if is_deleted => HOME_IS_DELETED.to_owned(),
                    Some(error) => refusal(error),
                };
                tracing::warn!(
                    error = error.map(tracing::field::display),
                    "no hub to continue with: {refusal}"
                );
                let ids: Vec<Id> = repeatable.drain(..).map(|(id, _)| id).collect();
                let refused = shared.refuse(&ids, &refusal);
                shared.change(|state| {
                    state.wanted = false;
                    // A call that was just refused is not one that waits.
                    let failed = ids.is_empty().then_some(refusal);
                    state.link = if refused.is_ok() { Link::Down { failed } } else { Link::Over };
                });
            }
            Err(error) => {
                tracing::debug!(error = error.map(tracing::field::display), "no hub to continue with yet");
                if Instant::now() > end {
                    let ids: Vec<Id> = repeatable.drain(..).map(|(id, _)| id).collect();
                    shared.refuse(&ids, NO_REMOTE_HUB).ok()?;
                }
            }
        }
        let state = shared.state();
        // A call that came in the meantime wants its hub now; one that waited already lets the hub come up.
        if !state.ending && (wanted || !state.wanted) {
            drop(shared.pause(state, pause));
            pause = (pause * 2).min(BACKOFF.1);
        }
    }
}

/// Returns whether a further try would fail in the same way. After an I/O error it may not: the hub that was found
/// ended again.
fn is_permanent(error: &Error, start: Start) -> bool {
    match error {
        Error::Socket(socket::Error::NoHub { .. }) => start == Start::Never,
        Error::Remote(error) => error.is_permanent(),
        Error::Io(_) => false,
        Error::Socket(_) | Error::Settings(_) | Error::Unanswered => true,
    }
}

/// Returns the reason why a call cannot be served, for the client: it has no path and no other detail of this machine.
fn refusal(error: &Error) -> String {
    let text = match error {
        Error::Remote(error) => return error.to_string(),
        Error::Socket(socket::Error::Rejected { reason, .. }) => return reason.clone(),
        Error::Socket(socket::Error::Skew { hub_is_older: true, .. }) => {
            "the hub was replaced by an older version; restart the hub"
        }
        Error::Socket(socket::Error::Skew { hub_is_older: false, .. }) => {
            "the hub was replaced by a newer version; restart this connection"
        }
        Error::Socket(socket::Error::NotStarted { .. }) | Error::Settings(_) => {
            "there is no hub and none could be started; `adjutant serve` shows why"
        }
        Error::Socket(_) | Error::Io(_) | Error::Unanswered => {
            "there is no hub; start one with `adjutant serve`"
        }
    };
    text.to_owned()
}

/// Continues the session at a new hub: sends `repeatable` there, and lets the client read lists and subscribed resources again,
/// which may be others.
fn continue_there(shared: &Arc<Shared>, handshake: &Handshake, repeatable: Vec<(Id, Vec<u8>)>) {
    if handshake.initialized.is_some() {
        let lists = handshake.changes.iter().map(|method| json!({"jsonrpc": "2.0", "method": method}));
        let resources = handshake.subscriptions.keys().map(|uri| {
            json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
        });
        for notification in lists.chain(resources) {
            if shared.to_client(format!("{notification}\n").as_bytes()).is_err() {
                return;
            }
        }
    }
    if repeatable.is_empty() {
        return;
    }
    let shared = shared.clone();
    // The thread that reads the hub must never wait for the hub to read.
    std::thread::spawn(move || {
        for (_, line) in repeatable {
            let _ = shared.to_hub(&envelope::messages(&line), &line);
        }
    });
}

/// Repeats the client's handshake and its subscriptions to a new hub, and drops the answers.
fn repeat(shared: &Shared, handshake: &Handshake, hub: &mut BufReader<UnixStream>) -> Result<(), Error> {
    let Some((id, initialize)) = &handshake.initialize else { return Ok(()) };
    hub.get_ref().set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
    let (is_accepted, line) = ask(hub, id, initialize)?;
    if !is_accepted {
        return Err(io::Error::other("the new hub refuses the handshake").into());
    }
    if envelope::revision(&line) != handshake.revision {
        shared.init_logging();
        tracing::warn!("the new hub speaks another revision of the protocol; restart this connection");
    }
    if let Some(initialized) = &handshake.initialized {
        hub.get_mut().write_all(initialized)?;
    }
    for (id, request) in handshake.subscriptions.values() {
        // A hub without the resource refuses, and then has nothing to say of it.
        ask(hub, id, request)?;
    }
    hub.get_ref().set_read_timeout(None)?;
    Ok(())
}

/// Sends a request to a new hub. Returns whether it is accepted, and the answer. Lines before that are dropped.
fn ask(hub: &mut BufReader<UnixStream>, id: &Id, request: &[u8]) -> io::Result<(bool, Vec<u8>)> {
    hub.get_mut().write_all(request)?;
    let mut line = Vec::new();
    loop {
        if lines::read(hub, &mut line, MAX_LINE_BYTES)? != LineRead::Line {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let answer = envelope::messages(&line).into_iter().find_map(|message| match message {
            Message::Answer { id: answered, result } if answered == *id => Some(result),
            _ => None,
        });
        if let Some(is_accepted) = answer {
            return Ok((is_accepted, line));
        }
    }
}
