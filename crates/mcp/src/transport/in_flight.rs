//! Requests in flight of one connection, and the batches that they belong to.

use std::collections::HashMap;

use rmcp::model::RequestId;
use serde_json::Value;

/// Maximum requests in flight; a further request gets a busy error.
pub(crate) const MAX_IN_FLIGHT: usize = 512;
/// From this number, or this many bytes, of requests in flight the reader pauses for the handlers.
const CROWDED_REQUESTS: usize = 64;
const CROWDED_BYTES: usize = 4 * 1024 * 1024;

/// The kind of a request, as far as the transport treats it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Nothing else is dispatched until it is answered.
    Initialize,
    /// Open until the client ends it, so the end of the input ends it.
    Listen,
    /// The request of the questions' contract, whose response has the members in the contract's order.
    TriggerPopup,
    Plain,
}

#[derive(Debug)]
struct Entry {
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

/// The destination of the answer to a removed request.
#[derive(Debug)]
pub(crate) enum Completion {
    /// Nowhere, because the request is not in flight.
    Nowhere,
    /// To a separate line. With `result_first` the result precedes the id.
    Line { result_first: bool },
    /// To its batch, see [`InFlight::answer_in_batch`].
    Batch(u64),
}

/// The requests in flight.
#[derive(Debug, Default)]
pub struct InFlight {
    entries: HashMap<RequestId, Entry>,
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
        if self.entries.contains_key(id) {
            return Err(Rejection::Duplicate);
        }
        if self.entries.len() >= MAX_IN_FLIGHT {
            return Err(Rejection::Full);
        }
        self.entries.insert(id.clone(), Entry { kind, bytes, batch });
        self.bytes += bytes;
        self.initializing |= kind == RequestKind::Initialize;
        if let Some(batch) = batch.and_then(|number| self.batches.get_mut(&number)) {
            batch.open += 1;
        }
        Ok(())
    }

    /// Removes a request before its response is written.
    pub(crate) fn complete(&mut self, id: &RequestId) -> Completion {
        let Some(entry) = self.entries.remove(id) else { return Completion::Nowhere };
        self.bytes -= entry.bytes;
        if entry.kind == RequestKind::Initialize {
            self.initializing = false;
        }
        let result_first = entry.kind == RequestKind::TriggerPopup;
        entry.batch.map_or(Completion::Line { result_first }, Completion::Batch)
    }

    /// Removes a request that the client cancelled. An `initialize` cannot be cancelled.
    /// Returns the answers of its batch if it was the last open request of the batch.
    pub fn cancel(&mut self, id: &RequestId) -> Option<Vec<Value>> {
        if self.entries.get(id)?.kind == RequestKind::Initialize {
            return None;
        }
        match self.complete(id) {
            Completion::Batch(number) => {
                self.batches.get_mut(&number)?.open -= 1;
                self.finished(number)
            }
            Completion::Line { .. } | Completion::Nowhere => None,
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

    /// Adds an error to a batch for a request that was not admitted.
    pub(crate) fn refuse_in_batch(&mut self, number: u64, answer: Value) {
        if let Some(batch) = self.batches.get_mut(&number) {
            batch.answers.push(answer);
        }
    }

    /// Adds the answer of a completed request to its batch. Returns all answers if this was the last one.
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

    /// Returns whether an `initialize` waits for its answer.
    pub(crate) fn initializing(&self) -> bool {
        self.initializing
    }

    /// Returns whether so many requests are in flight that the reader should pause.
    pub(crate) fn crowded(&self) -> bool {
        self.entries.len() >= CROWDED_REQUESTS || self.bytes >= CROWDED_BYTES
    }

    /// Returns whether every accepted request has its answer.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns whether a request has no answer yet.
    pub fn has(&self, id: &RequestId) -> bool {
        self.entries.contains_key(id)
    }

    /// Returns the ids in flight, of all requests or of one kind.
    pub fn ids(&self, kind: Option<RequestKind>) -> Vec<RequestId> {
        let wanted = |entry: &Entry| kind.is_none_or(|kind| entry.kind == kind);
        self.entries.iter().filter(|(_, entry)| wanted(entry)).map(|(id, _)| id.clone()).collect()
    }
}
