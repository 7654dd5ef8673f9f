//! Delivery of outcomes to askers, and the presence of askers.

use std::sync::PoisonError;
use std::time::Duration;

use super::Questions;
use super::error::Error;
use super::question::{Asker, Delivery, Question, Ticket};
use super::rows;
use adjutant_base::events::Event;
use adjutant_store::questions;

impl Questions {
    /// Notes that `asker` is back at a question that it asked before, in its present session. One that has none is
    /// expected again within `lease`; `None` stands for as long as its call lasts.
    pub async fn mark_waiting(
        &self,
        asker: &Asker,
        ticket: &Ticket,
        lease: Option<Duration>,
    ) -> Result<(), Error> {
        let here = questions::WaitingAsker {
            question: ticket.to_string(),
            asker: asker.key.clone(),
            session: asker.session.clone(),
            now: self.clock.now(),
            lease: lease.map(rows::millis),
        };
        if questions::mark_waiting(&self.store, here).await? {
            self.events.send(Event::QuestionsChanged);
        }
        if lease.is_some() {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Notes that an asker whose end nobody can see has ended its call, or has no stream open, and is expected again
    /// within `lease`. When it stays silent the person is shown that; the question stays.
    pub async fn start_lease(&self, asker: &Asker, ticket: &Ticket, lease: Duration) {
        let until = self.clock.now().saturating_add(rows::millis(lease));
        match questions::start_lease(&self.store, ticket.as_str(), &asker.key, &asker.route.stream, until)
            .await
        {
            Ok(()) => self.wake.notify_one(),
            Err(error) => {
                tracing::warn!(%error, %ticket, "when a caller is expected again could not be noted");
            }
        }
    }

    /// Notes that `asker` (by its key) took back the call that waited. The question stays for a grace, as after
    /// [`Self::session_closed`]: clients take calls back because of their own clocks, and come again.
    pub async fn abandon(&self, asker: &str, ticket: &Ticket) {
        match questions::abandon(&self.store, ticket.as_str(), asker, self.clock.now()).await {
            Ok(()) => {
                self.events.send(Event::QuestionsChanged);
                self.wake.notify_one();
            }
            Err(error) => tracing::warn!(%error, %ticket, "that a caller gave up waiting could not be noted"),
        }
    }

    /// Remembers who has an outcome to fetch.
    pub(super) async fn record_decided(&self, id: &str) -> Result<(), Error> {
        for (asker, stream) in questions::askers(&self.store, id).await? {
            if stream.is_empty() {
                self.undelivered_askers.lock().unwrap_or_else(PoisonError::into_inner).insert(asker);
            } else {
                self.waiters.notify(&stream);
            }
        }
        Ok(())
    }

    /// Notes that a client's session has ended. Its questions stay for the grace of the settings, so that it may come
    /// back and ask again; then they end as [`ClientGone`](super::outcome::OutcomeKind::ClientGone).
    pub async fn session_closed(&self, session: &str) {
        if session.is_empty() {
            return;
        }
        match questions::session_closed(&self.store, session, self.clock.now()).await {
            Ok(0) => {}
            Ok(_) => {
                self.events.send(Event::QuestionsChanged);
                self.wake.notify_one();
            }
            Err(error) => tracing::warn!(%error, "a client's end could not be noted beside its questions"),
        }
    }

    /// Withdraws everything that a session asked and was not told, for one that nobody comes back for.
    pub async fn withdraw(&self, session: &str) {
        let withdrawn = async {
            for (ticket, asker) in questions::questions_of_session(&self.store, session).await? {
                if let Some(ticket) = Ticket::parse(&ticket) {
                    self.cancel(&asker, &ticket).await?;
                }
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = withdrawn.await {
            tracing::warn!(%error, "what a script asked could not be withdrawn");
            self.session_closed(session).await;
        }
    }

    /// Notes that a client is there again, under the name that its session had when it went.
    pub async fn session_resumed(&self, session: &str) {
        match questions::session_resumed(&self.store, session).await {
            Ok(0) => {}
            Ok(_) => self.events.send(Event::QuestionsChanged),
            Err(error) => tracing::warn!(%error, "a client's return could not be noted beside its questions"),
        }
    }

    /// Returns decided questions whose outcome `asker` (by its key) did not get and nobody waits for now, oldest
    /// first; of a tool's calls only.
    pub async fn undelivered(&self, asker: &str, limit: u32) -> Result<Vec<Question>, Error> {
        // Forgotten before the look, so that what is decided meanwhile is remembered again.
        let late = self.undelivered_askers.lock().unwrap_or_else(PoisonError::into_inner).remove(asker);
        if !late && !self.store.is_shared() {
            return Ok(Vec::new());
        }
        let rows = questions::undelivered(&self.store, asker, limit).await?;
        if !rows.is_empty() {
            self.undelivered_askers.lock().unwrap_or_else(PoisonError::into_inner).insert(asker.to_owned());
        }
        let questions = rows.into_iter().map(rows::question).collect::<Result<Vec<_>, _>>()?;
        Ok(questions
            .into_iter()
            .filter(|question| !self.waiters.has_subscriber(question.ticket.as_str()))
            .collect())
    }

    /// Notes that the outcome reached `asker`; call it once the answer is on its way. False when it had before.
    pub async fn mark_delivered(&self, asker: &str, ticket: &Ticket) -> bool {
        match questions::mark_delivered(&self.store, ticket.as_str(), asker, self.clock.now()).await {
            Ok(first) => first,
            Err(error) => {
                tracing::warn!(%error, %ticket, "a fetched outcome could not be noted as fetched");
                false
            }
        }
    }

    /// Returns the deliveries of an event stream in their order. With `after`, all behind that event, also those that
    /// were sent before; without, those that were not.
    pub async fn stream_deliveries(&self, stream: &str, after: Option<i64>) -> Result<Vec<Delivery>, Error> {
        let due = questions::due_events(&self.store, stream, after).await?;
        due.into_iter()
            .map(|(event, request, row)| Ok(Delivery { event, request, question: rows::question(row)? }))
            .collect()
    }

    /// Notes that an event of a stream was written to its client.
    pub async fn mark_sent(&self, stream: &str, event: i64) {
        if let Err(error) = questions::mark_sent(&self.store, stream, event, self.clock.now()).await {
            tracing::warn!(%error, "an event that was written could not be noted as written");
        }
    }
}
