//! Links to the console's pages that a client of 2025-11-25 was given for its person. The client is told when what a link
//! is about has come to an end (`notifications/elicitation/complete`), so that it need not ask.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, broadcast};

use crate::app::App;
use crate::events::Event;
use crate::popups::Ticket;

/// Links of one connection that are open; of more, the oldest are not told of.
const MOST: usize = 64;

/// The open links of one connection. Each is about a question.
#[derive(Debug, Default)]
pub(crate) struct Links {
    open: Mutex<Open>,
    offered: Notify,
}

#[derive(Debug, Default)]
struct Open {
    /// Of the last link.
    number: u64,
    links: VecDeque<(String, Ticket)>,
}

impl Links {
    /// Enters a link, and returns its name on the wire (`elicitationId`).
    pub(crate) fn offer(&self, ticket: &Ticket) -> String {
        let mut open = self.open();
        open.number += 1;
        let id = format!("{ticket}-{}", open.number);
        if open.links.len() >= MOST {
            open.links.pop_front();
        }
        open.links.push_back((id.clone(), ticket.clone()));
        drop(open);
        self.offered.notify_one();
        id
    }

    /// Waits until a question is decided that a link is about, and returns the link's name. Nothing is lost when it is
    /// dropped.
    pub(crate) async fn completed(&self, app: &App) -> String {
        let mut events = app.events.subscribe();
        loop {
            let links: Vec<_> = self.open().links.iter().cloned().collect();
            if links.is_empty() {
                self.offered.notified().await;
                continue;
            }
            for (id, ticket) in links {
                let question = app.popups.get(&ticket).await;
                // One that nobody knows any more is over, too.
                if question.is_ok_and(|question| question.state.outcome().is_none()) {
                    continue;
                }
                let mut open = self.open();
                let before = open.links.len();
                open.links.retain(|(one, _)| *one != id);
                if open.links.len() < before {
                    return id;
                }
            }
            tokio::select! {
                () = self.offered.notified() => {}
                () = questions_changed(&mut events) => {}
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn questions_changed(events: &mut broadcast::Receiver<Event>) {
    loop {
        match events.recv().await {
            Ok(Event::QuestionsChanged) | Err(broadcast::error::RecvError::Lagged(_)) => return,
            Ok(_) => {}
            // The application goes.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}
