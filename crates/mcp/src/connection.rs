//! State of one stdio or socket connection, which its transport and its service share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use rmcp::ErrorData;
use rmcp::model::RequestId;
use tokio::sync::Notify;

use crate::deliveries::{Claim, Deliveries};
use crate::error;
use crate::protocol_version::Revision;
use crate::toolset::ToolsetSelection;
use crate::transport::in_flight::InFlight;
use crate::transport::preserialized::RawResult;
use crate::transport::writer::Output;
use adjutant_base::mutex::lock;
use adjutant_questions::DeliveryClaim;

/// The shared state of one connection.
#[derive(Debug, Default)]
pub struct Connection {
    pub output: Output,
    /// A request completed.
    pub(crate) completed: Notify,
    in_flight: Mutex<InFlight>,
    revision: Mutex<Option<Revision>>,
    prepared: Mutex<HashMap<RequestId, RawResult>>,
    /// Outcomes of questions that the client's side does not have yet.
    pub(crate) deliveries: Deliveries,
    ended: AtomicBool,
    /// The toolsets that the connection serves; they decide the contract for a client of 2024-11-05.
    selection: Option<ToolsetSelection>,
}

impl Connection {
    /// Creates the state of a connection that serves `selection`.
    pub fn new(selection: ToolsetSelection) -> Self {
        Self { selection: Some(selection), ..Self::default() }
    }

    /// Adds the way in which outcomes of questions count as delivered.
    pub(crate) fn with_deliveries(mut self, deliveries: Deliveries) -> Self {
        self.deliveries = deliveries;
        self
    }

    /// Delivers a claimed outcome with the response to a request; the claim is dropped if the request was cancelled.
    pub(crate) fn deliver(&self, id: &RequestId, claim: DeliveryClaim) {
        let flight = self.in_flight();
        if flight.has(id) {
            self.deliveries.attach(id.clone(), Claim::Answer(claim));
        }
    }

    /// Marks outcomes as delivered when the lines that carry them are written, for as long as it runs.
    pub(crate) async fn confirm_written(&self) {
        loop {
            let drained = self.output.drained();
            self.deliveries.flushed(self.output.flushed()).await;
            drained.await;
        }
    }

    /// Returns the toolsets that the connection serves, once they are known.
    pub fn selection(&self) -> Option<ToolsetSelection> {
        self.selection
    }

    /// Returns whether a cancelled request gets a response, as in the assistant's contract.
    pub(crate) fn answers_cancelled(&self) -> bool {
        self.selection == Some(ToolsetSelection::Assistant)
            && self.revision().is_none_or(|revision| revision == Revision::V2024_11_05)
    }

    /// Returns an error in the form of the toolset's contract.
    pub fn in_contract(&self, error: ErrorData) -> ErrorData {
        let revision = self.revision().unwrap_or(Revision::V2024_11_05);
        match self.selection {
            Some(selection) => error::in_contract(selection, revision, error),
            None => error,
        }
    }

    /// The revision that `initialize` negotiated.
    pub fn revision(&self) -> Option<Revision> {
        *lock(&self.revision)
    }

    pub(crate) fn set_revision(&self, revision: Revision) {
        *lock(&self.revision) = Some(revision);
    }

    /// Keeps a tool's result until it is written; rmcp gets an empty result instead.
    ///
    /// The bytes do not go up through the handler, because rmcp's model would hold a large result as a tree of values
    /// and copy it several times. They are stored here under the request's id, and the transport's writer splices them
    /// into the response as it is written. A result of a cancelled request is dropped, because it would never be
    /// written and would be taken for that of a later request with the same id.
    pub fn prepare(&self, id: RequestId, answer: RawResult) {
        let flight = self.in_flight();
        if flight.has(&id) {
            lock(&self.prepared).insert(id, answer);
        }
    }

    /// Takes the result that [`Self::prepare`] kept for a request.
    pub(crate) fn take_raw_result(&self, id: &RequestId) -> Option<RawResult> {
        lock(&self.prepared).remove(id)
    }

    /// Returns whether the client has ended its input, or the process stops. A request that is cancelled after that is
    /// abandoned by the hub and not cancelled by the client.
    pub(crate) fn input_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub(crate) fn end_input(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Returns whether an `initialize` has no answer yet, and whether many requests are in flight.
    pub fn load(&self) -> (bool, bool) {
        let flight = self.in_flight();
        (flight.initializing(), flight.crowded())
    }

    /// Locks the requests of this connection that have no answer yet.
    pub fn in_flight(&self) -> MutexGuard<'_, InFlight> {
        lock(&self.in_flight)
    }
}
