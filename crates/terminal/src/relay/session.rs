//! The session of a relay's client: the open calls of both sides, and the handshake.

use std::collections::{BTreeMap, BTreeSet};

use super::envelope::{Id, Message, Request, announced_changes, messages, resource, revision};

/// Maximum subscriptions of resources that are repeated to the next hub.
const MAX_SUBSCRIPTIONS: usize = 256;

/// The open calls of both sides, and the handshake.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The client's requests that the hub has yet to answer. Counted: a client may use an id twice, and the hub
    /// then answers twice.
    calls: BTreeMap<Id, u32>,
    /// Those of them that may be sent to another hub again, as the client wrote them.
    repeatable: BTreeMap<Id, Vec<u8>>,
    /// The hub's requests that the client has yet to answer.
    asked: BTreeSet<Id>,
    /// An `initialize` that is not answered yet.
    opening: Option<(Id, Vec<u8>)>,
    /// Requests that begin or end subscriptions and are not answered yet.
    subscribing: BTreeMap<Id, (Request, Vec<u8>)>,
    pub(super) handshake: Handshake,
}

/// The client's handshake as the hub accepted it, to be repeated to the next hub.
#[derive(Clone, Debug, Default)]
pub(super) struct Handshake {
    pub(super) initialize: Option<(Id, Vec<u8>)>,
    /// The revision that was agreed on.
    pub(super) revision: Option<String>,
    pub(super) initialized: Option<Vec<u8>>,
    /// The notifications of changed lists that the hub announced.
    pub(super) changes: Vec<&'static str>,
    /// The requests by which the client subscribed to resources, by the names of those.
    pub(super) subscriptions: BTreeMap<String, (Id, Vec<u8>)>,
}

/// The open calls of a connection that ended.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    /// Calls that nobody will answer.
    pub(super) lost: Vec<Id>,
    /// Calls that another hub may answer, with their lines.
    pub(super) repeatable: Vec<(Id, Vec<u8>)>,
}

impl Handshake {
    /// Notes a request that the hub has accepted.
    fn note_subscription(&mut self, what: Request, id: &Id, request: Vec<u8>) {
        let Some(resource) = resource(&request) else { return };
        if what == Request::Unsubscribe {
            self.subscriptions.remove(&resource);
        } else if self.subscriptions.len() < MAX_SUBSCRIPTIONS {
            self.subscriptions.insert(resource, (id.clone(), request));
        }
    }
}

impl Session {
    /// Notes a line of the client. Returns whether the hub should get it: an answer to a request of a hub that has
    /// ended is not sent to the next one.
    pub(super) fn note_client(&mut self, messages: &[Message], line: &[u8]) -> bool {
        let mut wanted = messages.is_empty();
        // Only this revision has batches; in others the hub refuses the line, without an id.
        let is_refused = line.trim_ascii_start().starts_with(b"[")
            && self.handshake.revision.as_deref() != Some("2025-03-26");
        for message in messages {
            wanted |= match message {
                Message::Request { .. } if is_refused => true,
                Message::Request { id, what } => {
                    if *what == Request::Initialize {
                        self.opening = Some((id.clone(), line.to_vec()));
                        self.handshake.initialized = None;
                        self.handshake.subscriptions.clear();
                    }
                    if messages.len() == 1 && matches!(what, Request::Subscribe | Request::Unsubscribe) {
                        self.subscribing.insert(id.clone(), (*what, line.to_vec()));
                    }
                    if messages.len() == 1 && matches!(what, Request::Initialize | Request::Read) {
                        self.repeatable.insert(id.clone(), line.to_vec());
                    }
                    *self.calls.entry(id.clone()).or_default() += 1;
                    true
                }
                Message::Answer { id, .. } => self.asked.remove(id),
                Message::Initialized => {
                    self.handshake.initialized = Some(line.to_vec());
                    true
                }
                Message::Cancelled { id } => {
                    self.calls.remove(id);
                    self.repeatable.remove(id);
                    true
                }
                Message::Delivery { .. } | Message::Other => true,
            };
        }
        wanted
    }

    /// Notes a line of the hub.
    pub(super) fn note_hub(&mut self, messages: &[Message], line: &[u8]) {
        for message in messages {
            match message {
                Message::Request { id, .. } => {
                    self.asked.insert(id.clone());
                }
                Message::Answer { id, result } => {
                    self.answered(id);
                    if let Some((what, request)) = self.subscribing.remove(id).filter(|_| *result) {
                        self.handshake.note_subscription(what, id, request);
                    }
                    if let Some((_, initialize)) = self.opening.take_if(|(opening, _)| opening == id)
                        && *result
                    {
                        self.handshake.initialize = Some((id.clone(), initialize));
                        self.handshake.revision = revision(line);
                        self.handshake.changes = announced_changes(line);
                    }
                }
                Message::Initialized
                | Message::Cancelled { .. }
                | Message::Delivery { .. }
                | Message::Other => {}
            }
        }
    }

    /// Removes a call that was answered, or that was never sent. Returns whether it was open.
    pub(super) fn answered(&mut self, id: &Id) -> bool {
        let Some(count) = self.calls.get_mut(id) else { return false };
        *count -= 1;
        if *count == 0 {
            self.calls.remove(id);
            self.repeatable.remove(id);
        }
        true
    }

    /// Forgets the connection, and returns the calls that nobody will answer.
    pub(super) fn cut(&mut self) -> Vec<Id> {
        self.asked.clear();
        self.opening = None;
        self.subscribing.clear();
        self.repeatable.clear();
        let calls = std::mem::take(&mut self.calls);
        calls.into_iter().flat_map(|(id, count)| std::iter::repeat_n(id, count as usize)).collect()
    }

    /// Forgets the connection where another hub continues. `unaccepted` are lines that the last one has not taken.
    pub(super) fn cut_to_continue(&mut self, unaccepted: &[Vec<u8>]) -> OpenCalls {
        let mut repeatable = std::mem::take(&mut self.repeatable);
        for line in unaccepted {
            if let [Message::Request { id, .. }] = messages(line).as_slice() {
                repeatable.insert(id.clone(), line.clone());
            }
        }
        let mut calls = OpenCalls::default();
        for id in self.cut() {
            match repeatable.remove(&id) {
                Some(line) => calls.repeatable.push((id, line)),
                None => calls.lost.push(id),
            }
        }
        calls
    }
}
