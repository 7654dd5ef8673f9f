//! Outcomes of questions and tasks on their way over one connection: delivered once the client's side has the bytes.
//!
//! A relay acknowledges each outcome that it has written to its client. Without a relay, the write to the client counts.
//! Over HTTP the interface takes the outcomes of each response, and confirms them when the client has acknowledged it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rmcp::model::RequestId;
use serde_json::{Value, json};

use adjutant_agents::TaskId;
use adjutant_app::App;
use adjutant_app::waiters::WaiterGuard;
use adjutant_base::mutex::lock;
use adjutant_questions::{DeliveryClaim, Questions, Ticket};

/// The notification after a response with an outcome. A relay answers it with [`DELIVERED`] and keeps it from its client.
pub const DELIVERY: &str = "adjutant/delivery";

/// The notification of a relay that the client has the outcome.
pub const DELIVERED: &str = "adjutant/delivered";

/// The notification of a relay that its client has ended its input. The relay keeps its side open to acknowledge what
/// is still on its way.
pub const INPUT_ENDED: &str = "adjutant/input_ended";

/// An outcome in a response.
#[derive(Clone, Debug)]
pub enum Outcome {
    Answer {
        /// The key of the asker.
        asker: String,
        ticket: Ticket,
    },
    Task(TaskId),
}

/// An outcome on its way to its client. Dropped without [`Self::confirm`], the outcome stays undelivered.
#[derive(Debug)]
pub enum Claim {
    Answer(DeliveryClaim),
    /// The guard keeps the outcome out of other responses.
    Task(Arc<App>, TaskId, WaiterGuard),
}

impl Outcome {
    /// Claims the outcome for a response.
    pub fn claim(self, app: &Arc<App>) -> Claim {
        match self {
            Self::Answer { asker, ticket } => Claim::Answer(app.questions.claim_delivery(&asker, &ticket)),
            Self::Task(id) => {
                let guard = app.waiters.register([id.to_string()]);
                Claim::Task(app.clone(), id, guard)
            }
        }
    }
}

impl Claim {
    /// Returns the claimed outcome.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Answer(claim) => {
                Outcome::Answer { asker: claim.asker().to_owned(), ticket: claim.ticket().clone() }
            }
            Self::Task(_, id, _) => Outcome::Task(id.clone()),
        }
    }

    /// Marks the outcome as delivered: the client's side has it.
    pub async fn confirm(&self) {
        match self {
            Self::Answer(claim) => claim.confirm().await,
            Self::Task(app, id, _) => {
                app.agents.mark_delivered(id).await;
            }
        }
    }

    fn ticket(&self) -> Option<&Ticket> {
        match self {
            Self::Answer(claim) => Some(claim.ticket()),
            Self::Task(..) => None,
        }
    }
}

/// The outcomes on their way over one connection.
#[derive(Debug, Default)]
pub struct Deliveries {
    /// The id of the session, if a relay acknowledges.
    relay: Option<String>,
    questions: Option<Arc<Questions>>,
    claims: Mutex<Claims>,
}

#[derive(Debug, Default)]
struct Claims {
    /// Outcomes in responses that are not written yet.
    unwritten: HashMap<RequestId, Vec<Claim>>,
    /// Outcomes in answers of a batch that is not complete.
    batched: Vec<Claim>,
    /// Outcomes that were put into the output, up to this line.
    written: Vec<(u64, Claim)>,
}

impl Deliveries {
    /// Creates the deliveries of a connection; `relay` is the id of a session that acknowledges.
    pub(crate) fn new(questions: Arc<Questions>, relay: Option<String>) -> Self {
        Self { relay, questions: Some(questions), claims: Mutex::default() }
    }

    /// Adds an outcome to the response to a request that is in flight.
    pub fn attach(&self, id: RequestId, claim: Claim) {
        lock(&self.claims).unwritten.entry(id).or_default().push(claim);
    }

    /// Takes the outcomes out of the response to a request.
    pub fn take(&self, id: &RequestId) -> Vec<Claim> {
        lock(&self.claims).unwritten.remove(id).unwrap_or_default()
    }

    /// Takes the outcomes out of all responses.
    pub fn take_all(&self) -> Vec<Claim> {
        lock(&self.claims).unwritten.drain().flat_map(|(_, claims)| claims).collect()
    }

    /// Returns whether the response to a request holds an outcome.
    pub fn has(&self, id: &RequestId) -> bool {
        lock(&self.claims).unwritten.contains_key(id)
    }

    /// Returns whether no response holds an outcome.
    pub fn is_empty(&self) -> bool {
        lock(&self.claims).unwritten.is_empty()
    }

    /// Drops the outcomes in the response to a request: it is not written.
    pub(crate) fn release(&self, id: &RequestId) {
        drop(self.take(id));
    }

    /// Moves the outcomes in the response to a request, which is an answer of a batch, to those of the batch.
    pub(crate) fn batch(&self, id: &RequestId) {
        let batched = self.take(id);
        lock(&self.claims).batched.extend(batched);
    }

    /// Notes that the response to a request, or the batch without one, was put into the output as line `line`. Returns
    /// the notifications that belong after it.
    pub(crate) fn written(&self, id: Option<&RequestId>, line: u64) -> Vec<Value> {
        let mut claims = lock(&self.claims);
        let written = match id {
            Some(id) => claims.unwritten.remove(id).unwrap_or_default(),
            None => std::mem::take(&mut claims.batched),
        };
        let notification = |ticket: &Ticket| json!({"jsonrpc": "2.0", "method": DELIVERY, "params": {"ticket": ticket.as_str()}});
        let tickets = written.iter().filter_map(Claim::ticket);
        let notifications =
            if self.relay.is_some() { tickets.map(notification).collect() } else { Vec::new() };
        claims.written.extend(written.into_iter().map(|claim| (line, claim)));
        notifications
    }

    /// Returns whether a relay acknowledges.
    pub(crate) fn are_acknowledged(&self) -> bool {
        self.relay.is_some()
    }

    /// Drops all claims at the end of the connection: what was not acknowledged is undelivered.
    pub(crate) fn clear(&self) {
        let claims = std::mem::take(&mut *lock(&self.claims));
        drop(claims);
    }

    /// Returns whether a relay has yet to acknowledge an outcome.
    pub(crate) fn are_unacknowledged(&self) -> bool {
        self.relay.is_some() && !lock(&self.claims).written.is_empty()
    }

    /// Marks an outcome as delivered that the relay passed on, maybe one of an earlier hub.
    pub(crate) async fn acknowledge(&self, ticket: &str) {
        let (Some(relay), Some(questions)) = (&self.relay, &self.questions) else { return };
        let Some(ticket) = Ticket::parse(ticket) else { return };
        questions.mark_acknowledged(relay, &ticket).await;
        lock(&self.claims).written.retain(|(_, claim)| claim.ticket() != Some(&ticket));
    }

    /// Marks outcomes as delivered whose lines, up to `line`, the client has.
    pub(crate) async fn flushed(&self, line: u64) {
        if self.relay.is_some() {
            return;
        }
        let flushed: Vec<_> = {
            let mut claims = lock(&self.claims);
            let all = std::mem::take(&mut claims.written);
            let (flushed, waiting) = all.into_iter().partition(|(written, _)| *written <= line);
            claims.written = waiting;
            flushed
        };
        for (_, claim) in flushed {
            claim.confirm().await;
        }
    }
}
