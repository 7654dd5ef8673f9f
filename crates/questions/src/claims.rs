//! Claims of outcomes that are on their way to an asker, so that no other call delivers the same outcome meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Questions;
use super::question::Ticket;

/// The claims of a process, counted, by asker and ticket: two calls of an asker may wait for one question.
#[derive(Debug, Default)]
pub(super) struct Claims(Mutex<HashMap<(String, String), usize>>);

impl Claims {
    /// Returns whether an outcome is on its way to some asker.
    pub(super) fn has(&self, ticket: &str) -> bool {
        self.counts().keys().any(|(_, claimed)| claimed == ticket)
    }

    /// Returns the tickets of all claims.
    pub(super) fn tickets(&self) -> Vec<String> {
        self.counts().keys().map(|(_, ticket)| ticket.clone()).collect()
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<(String, String), usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An outcome on its way to its asker. Dropped without [`Self::confirm`], the outcome stays undelivered.
#[derive(Debug)]
pub struct DeliveryClaim {
    questions: Arc<Questions>,
    asker: String,
    ticket: Ticket,
}

impl Questions {
    /// Claims the outcome of a question for `asker` (by its key), until the asker's side has the bytes.
    pub fn claim_delivery(self: &Arc<Self>, asker: &str, ticket: &Ticket) -> DeliveryClaim {
        *self.core.claims.counts().entry((asker.to_owned(), ticket.to_string())).or_default() += 1;
        DeliveryClaim { questions: self.clone(), asker: asker.to_owned(), ticket: ticket.clone() }
    }
}

impl DeliveryClaim {
    /// Returns the key of the asker.
    pub fn asker(&self) -> &str {
        &self.asker
    }

    /// Returns the ticket of the question.
    pub fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// Marks the outcome as delivered: the asker's side has it.
    pub async fn confirm(&self) {
        self.questions.mark_delivered(&self.asker, &self.ticket).await;
    }
}

impl Drop for DeliveryClaim {
    fn drop(&mut self) {
        let mut counts = self.questions.core.claims.counts();
        let key = (self.asker.clone(), self.ticket.to_string());
        if let Some(count) = counts.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&key);
            }
        }
        drop(counts);
        // An outcome that did not arrive is found again by the asker's next call.
        self.questions.expect_undelivered(&self.asker);
        self.questions.notify_waiters(self.ticket.as_str());
    }
}
