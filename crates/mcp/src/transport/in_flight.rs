//! Requests in flight of one connection, and the batches that they belong to.

use std::collections::HashMap;

use rmcp::model::RequestId;
use serde_json::Value;

/// Requests in flight; one more is answered with a busy error.
pub(crate) const MAX_IN_FLIGHT: usize = 512;
/// Above this number, or this many bytes, of requests in flight the reader gives the handlers a moment.
const CROWDED: usize = 64;
const CROWDED_BYTES: usize = 4 * 1024 * 1024;

/// The kind of a request, as far as the transport treats it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Nothing else is dispatched until it is answered.
    Initialize,
    /// Open until the client ends it, so the end of the input ends it.
    Listen,
    Plain,
}

#[derive(Debug)]
struct Ticket {
    kind: RequestKind,
    bytes: usize,
    batch: Option<u64>,
}

/// A batch of revision 2025-03-26: its answers go out together.
#[derive(Debug, Default)]
struct Batch {
    open: usize,
    answers: Vec<Value>,
    /// Whether all members have been dispatched.
    sealed: bool,
}

/// The reason for which a request is not admitted.
#[derive(Debug, PartialEq, Eq)]
pub enum Rejection {
    /// A request with this id has no answer yet.
    Duplicate,
    Full,
}

/// Where the answer to a removed request goes.
#[derive(Debug)]
pub(crate) enum Completion {
    /// Nowhere, because the request is not in flight (any longer).
    Nobody,
    /// It is written as a line of its own.
    Line,
    /// It belongs to a batch, see [`InFlight::answer_in_batch`].
    Batch(u64),
}

/// The requests in flight.
#[derive(Debug, Default)]
pub struct InFlight {
    tickets: HashMap<RequestId, Ticket>,
    bytes: usize,
    initializing: bool,
    next_batch: u64,
    batches: HashMap<u64, Batch>,
}

impl InFlight {
    /// Admits a request of `bytes` length, as part of `batch` if it came in one.
    pub fn admit(
        &mut self,
        id: &RequestId,
        kind: RequestKind,
        bytes: usize,
        batch: Option<u64>,
    ) -> Result<(), Rejection> {
        if self.tickets.contains_key(id) {
            return Err(Rejection::Duplicate);
        }
        if self.tickets.len() >= MAX_IN_FLIGHT {
            return Err(Rejection::Full);
        }
        self.tickets.insert(id.clone(), Ticket { kind, bytes, batch });
        self.bytes += bytes;
        self.initializing |= kind == RequestKind::Initialize;
        if let Some(batch) = batch.and_then(|number| self.batches.get_mut(&number)) {
            batch.open += 1;
        }
        Ok(())
    }

    /// Removes a request that is being answered.
    pub(crate) fn complete(&mut self, id: &RequestId) -> Completion {
        let Some(ticket) = self.tickets.remove(id) else { return Completion::Nobody };
        self.bytes -= ticket.bytes;
        if ticket.kind == RequestKind::Initialize {
            self.initializing = false;
        }
        ticket.batch.map_or(Completion::Line, Completion::Batch)
    }

    /// Removes a request that the client cancelled. An `initialize` cannot be cancelled.
    /// Returns the answers of its batch if it was the last one the batch waited for.
    pub fn cancel(&mut self, id: &RequestId) -> Option<Vec<Value>> {
        if self.tickets.get(id)?.kind == RequestKind::Initialize {
            return None;
        }
        match self.complete(id) {
            Completion::Batch(number) => {
                self.batches.get_mut(&number)?.open -= 1;
                self.finished(number)
            }
            Completion::Line | Completion::Nobody => None,
        }
    }

    /// Opens a batch and returns its number.
    pub(crate) fn open_batch(&mut self) -> u64 {
        self.next_batch += 1;
        self.batches.insert(self.next_batch, Batch::default());
        self.next_batch
    }

    /// Marks a batch as dispatched. Returns its answers if none is open.
    pub(crate) fn seal_batch(&mut self, number: u64) -> Option<Vec<Value>> {
        self.batches.get_mut(&number)?.sealed = true;
        self.finished(number)
    }

    /// Adds a refusal, which never was in flight, to a batch.
    pub(crate) fn refuse_in_batch(&mut self, number: u64, answer: Value) {
        if let Some(batch) = self.batches.get_mut(&number) {
            batch.answers.push(answer);
        }
    }

    /// Adds the answer of a completed request to its batch. Returns all answers if it was the last one.
    pub(crate) fn answer_in_batch(&mut self, number: u64, answer: Value) -> Option<Vec<Value>> {
        let batch = self.batches.get_mut(&number)?;
        batch.answers.push(answer);
        batch.open -= 1;
        self.finished(number)
    }

    fn finished(&mut self, number: u64) -> Option<Vec<Value>> {
        let batch = self.batches.get(&number)?;
        if !batch.sealed || batch.open > 0 {
            return None;
        }
        // A batch of notifications alone is not answered.
        self.batches.remove(&number).map(|batch| batch.answers).filter(|answers| !answers.is_empty())
    }

    /// Whether an `initialize` waits for its answer.
    pub(crate) fn initializing(&self) -> bool {
        self.initializing
    }

    /// Whether there is so much in flight that the handlers should get a moment first.
    pub(crate) fn crowded(&self) -> bool {
        self.tickets.len() >= CROWDED || self.bytes >= CROWDED_BYTES
    }

    /// Whether every accepted request has its answer.
    pub fn is_empty(&self) -> bool {
        self.tickets.is_empty()
    }

    /// Whether a request has no answer yet.
    pub fn has(&self, id: &RequestId) -> bool {
        self.tickets.contains_key(id)
    }

    /// The ids in flight, all or the open subscriptions alone.
    pub fn ids(&self, kind: Option<RequestKind>) -> Vec<RequestId> {
        let wanted = |ticket: &Ticket| kind.is_none_or(|kind| ticket.kind == kind);
        self.tickets.iter().filter(|(_, ticket)| wanted(ticket)).map(|(id, _)| id.clone()).collect()
    }
}
