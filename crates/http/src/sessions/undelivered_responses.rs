//! Responses of a session that its client may not have received.
//!
//! rmcp drops a response once it has passed it on, also to a broken stream. Such a response is kept here, so that the
//! client gets it when it resumes the stream. One with an outcome is kept also after its bytes were acknowledged, because
//! that is done by the kernel: a client that names an earlier event has not read it.

use std::collections::{HashMap, VecDeque};

use rmcp::model::{RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;

use adjutant_mcp::deliveries::{Claim, Outcome};

/// Maximum number of responses that a session keeps, and of streams that it can resume.
const MAX_KEPT: usize = 32;
const MAX_STREAMS: usize = 512;

/// The responses of one session.
#[derive(Debug, Default)]
pub(super) struct UndeliveredResponses {
    /// The number of open connections for the response to each request: a stream may be resumed before its old
    /// connection is known to have ended.
    open: HashMap<RequestId, usize>,
    /// The numbers of the requests' streams, which are part of the ids of their events.
    streams: VecDeque<(String, RequestId)>,
    kept: VecDeque<KeptResponse>,
}

/// A response that its client may not have received.
#[derive(Clone, Debug)]
struct KeptResponse {
    id: RequestId,
    message: ServerJsonRpcMessage,
    outcomes: Vec<Outcome>,
}

impl UndeliveredResponses {
    pub(super) fn open(&mut self, id: &RequestId) {
        *self.open.entry(id.clone()).or_default() += 1;
    }

    /// Records the stream of a request by the id of its first event.
    pub(super) fn number(&mut self, event: &str, id: &RequestId) {
        if let Some(number) = stream_number(event) {
            if self.streams.len() >= MAX_STREAMS {
                self.streams.pop_front();
            }
            self.streams.push_back((number.to_owned(), id.clone()));
        }
    }

    /// Records that a response passes, with the outcomes in it. Returns whether a connection is open for it.
    pub(super) fn pass(&mut self, id: &RequestId, message: &ServerJsonRpcMessage, claims: &[Claim]) -> bool {
        let is_open = self.open.contains_key(id);
        if !is_open || !claims.is_empty() {
            self.kept.retain(|kept| kept.id != *id);
            if self.kept.len() >= MAX_KEPT {
                self.kept.pop_front();
            }
            let (message, outcomes) = (message.clone(), claims.iter().map(Claim::outcome).collect());
            self.kept.push_back(KeptResponse { id: id.clone(), message, outcomes });
        }
        is_open
    }

    /// Records that the client's side has received a response.
    pub(super) fn receive(&mut self, id: &RequestId) {
        self.open.remove(id);
        for kept in self.kept.iter_mut().filter(|kept| kept.id == *id) {
            kept.outcomes.clear();
        }
        if self.kept.iter().all(|kept| kept.id != *id) {
            self.streams.retain(|(_, other)| other != id);
        }
    }

    /// Records that a connection ended without its response. Returns whether no further connection is open for it.
    pub(super) fn lose(&mut self, id: &RequestId) -> bool {
        if let Some(open) = self.open.get_mut(id).filter(|open| **open > 1) {
            *open -= 1;
            return false;
        }
        self.open.remove(id);
        true
    }

    /// Returns the request of the stream that is resumed after `event`, with the outcomes in its response if that has
    /// passed.
    pub(super) fn resume(&mut self, event: &str) -> Option<(RequestId, Vec<Outcome>)> {
        let number = stream_number(event)?;
        let id = self.streams.iter().find(|(other, _)| other == number)?.1.clone();
        self.open(&id);
        let outcomes = self.kept.iter().find(|kept| kept.id == id).map(|kept| kept.outcomes.clone());
        Some((id, outcomes.unwrap_or_default()))
    }

    /// Returns the event with the response that has passed on the stream of `event`.
    pub(super) fn kept(&self, event: &str) -> Option<ServerSseMessage> {
        let (index, number) = event.split_once('/')?;
        let (_, id) = self.streams.iter().find(|(other, _)| other == number)?;
        let kept = self.kept.iter().find(|kept| kept.id == *id)?;
        let mut message = ServerSseMessage::from_message(kept.message.clone());
        message.event_id = Some(format!("{}/{number}", index.parse::<usize>().ok()?.saturating_add(1)));
        Some(message)
    }
}

/// Returns the number of the stream that an event's id names: the id is `INDEX/NUMBER`.
fn stream_number(event: &str) -> Option<&str> {
    event.split_once('/').map(|(_, number)| number)
}
