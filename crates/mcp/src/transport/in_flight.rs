//! The requests of one connection that have no answer yet, and the batches that they belong to.

use std::collections::HashMap;

use rmcp::model::RequestId;
use serde_json::Value;

/// Requests in flight; one more is answered with a busy error.
pub(crate) const MAX_IN_FLIGHT: usize = 512;
/// Above this number, or this many bytes, of requests in flight the reader gives the handlers a moment.
const CROWDED: usize = 64;
const CROWDED_BYTES: usize = 4 * 1024 * 1024;

/// What a request in flight means for the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing else is dispatched until it is answered.
    Initialize,
    /// Open until the client ends it, so the end of the input ends it.
    Listen,
    Plain,
}

#[derive(Debug)]
struct Ticket {
    kind: Kind,
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

/// Why a request is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// A request with this id has no answer yet.
    Duplicate,
    Full,
}

/// What becomes of an answer.
#[derive(Debug)]
pub(crate) enum Landing {
    /// Nobody waits for it (any more).
    Nobody,
    /// It is written as a line of its own.
    Line,
    /// It belongs to a batch, see [`Flight::answer_in_batch`].
    Batch(u64),
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    tickets: HashMap<RequestId, Ticket>,
    bytes: usize,
    initializing: bool,
    next_batch: u64,
    batches: HashMap<u64, Batch>,
}

impl Flight {
    /// Takes a request of `bytes` length, as part of `batch` if it came in one.
    pub(crate) fn take(
        &mut self,
        id: &RequestId,
        kind: Kind,
        bytes: usize,
        batch: Option<u64>,
    ) -> Result<(), NotTaken> {
        if self.tickets.contains_key(id) {
            return Err(NotTaken::Duplicate);
        }
        if self.tickets.len() >= MAX_IN_FLIGHT {
            return Err(NotTaken::Full);
        }
        self.tickets.insert(id.clone(), Ticket { kind, bytes, batch });
        self.bytes += bytes;
        self.initializing |= kind == Kind::Initialize;
        if let Some(batch) = batch.and_then(|number| self.batches.get_mut(&number)) {
            batch.open += 1;
        }
        Ok(())
    }

    /// Takes out a request that is being answered.
    pub(crate) fn land(&mut self, id: &RequestId) -> Landing {
        let Some(ticket) = self.tickets.remove(id) else { return Landing::Nobody };
        self.bytes -= ticket.bytes;
        if ticket.kind == Kind::Initialize {
            self.initializing = false;
        }
        ticket.batch.map_or(Landing::Line, Landing::Batch)
    }

    /// Takes out a request that the client gave up. An `initialize` cannot be given up.
    /// Returns the answers of its batch if it was the last one the batch waited for.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> Option<Vec<Value>> {
        if self.tickets.get(id)?.kind == Kind::Initialize {
            return None;
        }
        match self.land(id) {
            Landing::Batch(number) => {
                self.batches.get_mut(&number)?.open -= 1;
                self.finished(number)
            }
            Landing::Line | Landing::Nobody => None,
        }
    }

    /// Opens a batch and returns its number.
    pub(crate) fn open_batch(&mut self) -> u64 {
        self.next_batch += 1;
        self.batches.insert(self.next_batch, Batch::default());
        self.next_batch
    }

    /// Says that all members of a batch are dispatched. Returns its answers if none is open.
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

    /// Adds the answer of a landed request to its batch. Returns all answers if it was the last one.
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

    pub(crate) fn is_empty(&self) -> bool {
        self.tickets.is_empty()
    }

    /// Whether a request has no answer yet.
    pub(crate) fn has(&self, id: &RequestId) -> bool {
        self.tickets.contains_key(id)
    }

    /// The ids in flight, all or the open subscriptions alone.
    pub(crate) fn ids(&self, kind: Option<Kind>) -> Vec<RequestId> {
        let wanted = |ticket: &Ticket| kind.is_none_or(|kind| ticket.kind == kind);
        self.tickets.iter().filter(|(_, ticket)| wanted(ticket)).map(|(id, _)| id.clone()).collect()
    }
}
