//! What the two halves of one stdio or socket connection share: the edge that reads and writes, and the
//! service that answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::ErrorData;
use rmcp::model::RequestId;
use tokio::sync::Notify;

use crate::mcp::dialect::Revision;
use crate::mcp::edge::flight::Flight;
use crate::mcp::edge::output::Output;
use crate::mcp::edge::prepared::Prepared;
use crate::mcp::{Server, error};

/// The shared state of one connection.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    pub(crate) output: Output,
    /// A request landed.
    pub(crate) landed: Notify,
    flight: Mutex<Flight>,
    revision: Mutex<Option<Revision>>,
    prepared: Mutex<HashMap<RequestId, Prepared>>,
    ended: AtomicBool,
    /// Whose contract is kept to a client of 2024-11-05.
    server: Option<Server>,
}

impl Connection {
    /// The state of a connection to `server`.
    pub(crate) fn of(server: Server) -> Self {
        Self { server: Some(server), ..Self::default() }
    }

    pub(crate) fn server(&self) -> Option<Server> {
        self.server
    }

    /// Whether a request that its client cancelled is answered all the same, as the assistant's contract has it.
    pub(crate) fn tells_cancelled(&self) -> bool {
        self.server == Some(Server::Assistant)
            && self.revision().is_none_or(|revision| revision == Revision::V2024_11_05)
    }

    /// What becomes of an error by the contract of the server.
    pub(crate) fn in_contract(&self, error: ErrorData) -> ErrorData {
        let revision = self.revision().unwrap_or(Revision::V2024_11_05);
        match self.server {
            Some(server) => error::in_contract(server, revision, error),
            None => error,
        }
    }

    /// The revision that `initialize` agreed on.
    pub(crate) fn revision(&self) -> Option<Revision> {
        *self.revision.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn negotiated(&self, revision: Revision) {
        *self.revision.lock().unwrap_or_else(PoisonError::into_inner) = Some(revision);
    }

    /// Keeps what a tool answers for the moment it is written; rmcp sees an empty result in its place. What was
    /// cancelled meanwhile is never written, and would wait for another request of the same id.
    pub(crate) fn prepare(&self, id: RequestId, answer: Prepared) {
        let flight = self.flight();
        if flight.has(&id) {
            self.prepared().insert(id, answer);
        }
    }

    /// Takes what was prepared for an answer.
    pub(crate) fn take_prepared(&self, id: &RequestId) -> Option<Prepared> {
        self.prepared().remove(id)
    }

    /// Whether the client has ended its input, or the process stops: what is cancelled from here on is given up by
    /// us and not taken back by the client.
    pub(crate) fn input_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub(crate) fn end_input(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Whether an `initialize` waits for its answer, and whether the handlers have much to do.
    pub(crate) fn load(&self) -> (bool, bool) {
        let flight = self.flight();
        (flight.initializing(), flight.crowded())
    }

    pub(crate) fn flight(&self) -> MutexGuard<'_, Flight> {
        self.flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prepared(&self) -> MutexGuard<'_, HashMap<RequestId, Prepared>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
