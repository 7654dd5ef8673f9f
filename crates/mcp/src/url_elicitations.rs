//! URL elicitations that a client of 2025-11-25 was sent.
//!
//! The client gets `notifications/elicitation/complete` when the question of a link is decided, so that it need not poll.

use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::sync::Notify;

use adjutant_app::App;
use adjutant_base::events::{Event, wait_for};
use adjutant_base::mutex::lock;
use adjutant_questions::Ticket;

/// Maximum URL elicitations that one connection remembers; the oldest are dropped first.
const MAX_OPEN: usize = 64;

/// The open links of one connection. Each is about a question.
#[derive(Debug, Default)]
pub struct UrlElicitations {
    open: Mutex<Open>,
    offered: Notify,
}

#[derive(Debug, Default)]
struct Open {
    /// The number of the last link.
    number: u64,
    links: VecDeque<(String, Ticket)>,
}

impl UrlElicitations {
    /// Registers a link, and returns its name on the wire (`elicitationId`).
    pub fn offer(&self, ticket: &Ticket) -> String {
        let mut open = lock(&self.open);
        open.number += 1;
        let id = format!("{ticket}-{}", open.number);
        if open.links.len() >= MAX_OPEN {
            open.links.pop_front();
        }
        open.links.push_back((id.clone(), ticket.clone()));
        drop(open);
        self.offered.notify_one();
        id
    }

    /// Waits until the question of a link is decided, and returns the link's name. Cancel safe.
    pub async fn completed(&self, app: &App) -> String {
        let mut events = app.events.subscribe();
        loop {
            let links: Vec<_> = lock(&self.open).links.iter().cloned().collect();
            if links.is_empty() {
                self.offered.notified().await;
                continue;
            }
            for (id, ticket) in links {
                let question = app.questions.get(&ticket).await;
                // A question that is no longer in the store counts as decided.
                if question.is_ok_and(|question| question.state.outcome().is_none()) {
                    continue;
                }
                let mut open = lock(&self.open);
                let before = open.links.len();
                open.links.retain(|(one, _)| *one != id);
                if open.links.len() < before {
                    return id;
                }
            }
            tokio::select! {
                () = self.offered.notified() => {}
                true = wait_for(&mut events, Event::QuestionsChanged) => {}
            }
        }
    }
}
