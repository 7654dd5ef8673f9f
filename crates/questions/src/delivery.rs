//! How outcomes reach who asked, and who of them is still there.

use std::sync::PoisonError;
use std::time::Duration;

use super::desk::Desk;
use super::error::Error;
use super::question::{Asker, Delivery, Question, Ticket};
use super::rows;
use crate::events::Event;
use crate::store::popups;

impl Desk {
    pub(super) async fn here(
        &self,
        asker: &Asker,
        ticket: &Ticket,
        lease: Option<Duration>,
    ) -> Result<(), Error> {
        let here = popups::Here {
            question: ticket.to_string(),
            asker: asker.key.clone(),
            session: asker.session.clone(),
            now: self.clock.now(),
            lease: lease.map(rows::millis),
        };
        if popups::here(&self.store, here).await? {
            self.events.send(Event::QuestionsChanged);
        }
        if lease.is_some() {
            self.wake.notify_one();
        }
        Ok(())
    }

    pub(super) async fn lets_go(&self, asker: &Asker, ticket: &Ticket, lease: Duration) {
        let until = self.clock.now().saturating_add(rows::millis(lease));
        match popups::lets_go(&self.store, ticket.as_str(), &asker.key, &asker.route.stream, until).await {
            Ok(()) => self.wake.notify_one(),
            Err(error) => {
                tracing::warn!(%error, %ticket, "when a caller is expected again could not be noted");
            }
        }
    }

    pub(super) async fn left(&self, asker: &str, ticket: &Ticket) {
        match popups::left(&self.store, ticket.as_str(), asker, self.clock.now()).await {
            Ok(()) => {
                self.events.send(Event::QuestionsChanged);
                self.wake.notify_one();
            }
            Err(error) => tracing::warn!(%error, %ticket, "that a caller gave up waiting could not be noted"),
        }
    }

    /// Remembers who has an outcome to fetch.
    pub(super) async fn decided_now(&self, id: &str) -> Result<(), Error> {
        for (asker, stream) in popups::askers(&self.store, id).await? {
            if stream.is_empty() {
                self.late.lock().unwrap_or_else(PoisonError::into_inner).insert(asker);
            } else {
                self.wake_waiters(&stream);
            }
        }
        Ok(())
    }

    pub(super) async fn gone(&self, session: &str) {
        if session.is_empty() {
            return;
        }
        match popups::gone(&self.store, session, self.clock.now()).await {
            Ok(0) => {}
            Ok(_) => {
                self.events.send(Event::QuestionsChanged);
                self.wake.notify_one();
            }
            Err(error) => tracing::warn!(%error, "a client's end could not be noted beside its questions"),
        }
    }

    pub(super) async fn withdraw(&self, session: &str) {
        let withdrawn = async {
            for (ticket, asker) in popups::asked_in(&self.store, session).await? {
                if let Some(ticket) = Ticket::parse(&ticket) {
                    self.cancel(&asker, &ticket).await?;
                }
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = withdrawn.await {
            tracing::warn!(%error, "what a script asked could not be withdrawn");
            self.gone(session).await;
        }
    }

    pub(super) async fn back(&self, session: &str) {
        match popups::back(&self.store, session).await {
            Ok(0) => {}
            Ok(_) => self.events.send(Event::QuestionsChanged),
            Err(error) => tracing::warn!(%error, "a client's return could not be noted beside its questions"),
        }
    }

    pub(super) async fn undelivered(&self, asker: &str, limit: u32) -> Result<Vec<Question>, Error> {
        // Forgotten before the look, so that what is decided meanwhile is remembered again.
        let late = self.late.lock().unwrap_or_else(PoisonError::into_inner).remove(asker);
        if !late && !self.store.is_shared() {
            return Ok(Vec::new());
        }
        let rows = popups::undelivered(&self.store, asker, limit).await?;
        if !rows.is_empty() {
            self.late.lock().unwrap_or_else(PoisonError::into_inner).insert(asker.to_owned());
        }
        let questions = rows.into_iter().map(rows::question).collect::<Result<Vec<_>, _>>()?;
        Ok(questions.into_iter().filter(|question| !self.is_watched(&question.ticket)).collect())
    }

    pub(super) async fn delivered(&self, asker: &str, ticket: &Ticket) -> bool {
        match popups::delivered(&self.store, ticket.as_str(), asker, self.clock.now()).await {
            Ok(first) => first,
            Err(error) => {
                tracing::warn!(%error, %ticket, "a fetched outcome could not be noted as fetched");
                false
            }
        }
    }

    pub(super) async fn due(&self, stream: &str, after: Option<i64>) -> Result<Vec<Delivery>, Error> {
        let due = popups::due(&self.store, stream, after).await?;
        due.into_iter()
            .map(|(event, request, row)| Ok(Delivery { event, request, question: rows::question(row)? }))
            .collect()
    }

    pub(super) async fn sent(&self, stream: &str, event: i64) {
        if let Err(error) = popups::sent(&self.store, stream, event, self.clock.now()).await {
            tracing::warn!(%error, "an event that was written could not be noted as written");
        }
    }

    fn is_watched(&self, ticket: &Ticket) -> bool {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.get(ticket.as_str()).is_some_and(|sender| !sender.is_closed())
    }
}
