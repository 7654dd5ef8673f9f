//! Delivery of outcomes to askers, and the presence of askers.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::claims::DeliveryClaim;
use super::error::Error;
use super::question::{Asker, Delivery, Question, Ticket};
use super::rows;
use super::{Questions, Recovery};
use adjutant_store::questions;

impl Questions {
    /// Records that `asker` waits again for its question, in its present session. An asker without a session is
    /// expected again within `lease`; `None` lasts as long as its call.
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
            now: self.core.clock.now(),
            lease: lease.map(rows::millis),
        };
        if questions::mark_waiting(&self.core.store, here).await? {
            self.announce();
        }
        if let Some(lease) = lease {
            self.wake_before(self.core.clock.now().saturating_add(rows::millis(lease)));
        }
        Ok(())
    }

    /// Records that an asker without a session has ended its call, or has no open stream, and is expected again within
    /// `lease`. If it stays silent, the user is shown that and the question stays.
    pub async fn start_lease(&self, asker: &Asker, ticket: &Ticket, lease: Duration) {
        let until = self.core.clock.now().saturating_add(rows::millis(lease));
        match questions::start_lease(
            &self.core.store,
            ticket.as_str(),
            &asker.key,
            &asker.route.stream,
            until,
        )
        .await
        {
            Ok(()) => self.wake_before(until),
            Err(error) => {
                tracing::warn!(%error, %ticket, "when a caller is expected again could not be noted");
            }
        }
    }

    /// Records that `asker` (by its key) cancelled the waiting call. The question stays for a grace period, as after
    /// [`Self::session_closed`], because clients cancel calls on a timeout and call again.
    pub async fn abandon(&self, asker: &str, ticket: &Ticket) {
        match questions::abandon(&self.core.store, ticket.as_str(), asker, self.core.clock.now()).await {
            Ok(()) => {
                self.announce();
                self.core.wake.notify_one();
            }
            Err(error) => tracing::warn!(%error, %ticket, "that a caller gave up waiting could not be noted"),
        }
    }

    /// Remembers the askers of a decided question, which have an outcome to fetch.
    pub(super) async fn record_decided(&self, id: &str) -> Result<(), Error> {
        for (asker, stream) in questions::askers(&self.core.store, id).await? {
            if stream.is_empty() {
                self.expect_undelivered(&asker);
            } else {
                self.core.waiters.notify(&stream);
            }
        }
        Ok(())
    }

    /// Makes the next call of `asker` (by its key) read the store for undelivered outcomes.
    pub(super) fn expect_undelivered(&self, asker: &str) {
        self.core.undelivered_askers.lock().unwrap_or_else(PoisonError::into_inner).insert(asker.to_owned());
    }

    /// Records that a client's session has ended. Its questions stay for the grace of the settings, so that the client
    /// may ask again; then they end as [`ClientGone`](super::outcome::OutcomeKind::ClientGone).
    pub async fn session_closed(&self, session: &str) {
        if session.is_empty() {
            return;
        }
        match questions::session_closed(&self.core.store, session, self.core.clock.now()).await {
            Ok(0) => {}
            Ok(_) => {
                self.announce();
                self.core.wake.notify_one();
            }
            Err(error) => tracing::warn!(%error, "a client's end could not be recorded for its questions"),
        }
    }

    /// Withdraws the undelivered questions of a session to which no client returns.
    pub async fn withdraw(&self, session: &str) {
        let withdrawn = async {
            for (ticket, asker) in questions::questions_of_session(&self.core.store, session).await? {
                if let Some(ticket) = Ticket::parse(&ticket) {
                    self.cancel(&asker, &ticket).await?;
                }
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = withdrawn.await {
            tracing::warn!(%error, "what a script asked could not be withdrawn");
        }
        // An undelivered answer is found by the next script that asks in the same words.
        self.session_closed(session).await;
    }

    /// Withdraws the questions without a delivered outcome of all askers with keys that begin with `prefix`: their sessions
    /// have ended. Their answers are recorded as not applied, for this reason. After an error it can be called again.
    pub async fn withdraw_asked_by(&self, prefix: &str, reason: &str) -> Result<(), Error> {
        for (ticket, asker) in questions::asked_by(&self.core.store, prefix).await? {
            if let Some(ticket) = Ticket::parse(&ticket) {
                self.withdraw_unapplied(&asker, &ticket, reason).await?;
            }
        }
        Ok(())
    }

    /// Records that a client is back under the name of its earlier session.
    pub async fn session_resumed(&self, session: &str) {
        match questions::session_resumed(&self.core.store, session).await {
            Ok(0) => {}
            Ok(_) => self.announce(),
            Err(error) => tracing::warn!(%error, "a client's return could not be recorded for its questions"),
        }
    }

    /// Returns decided questions with an outcome that `asker` (by its key) has not received and no call waits for,
    /// oldest first; of tool calls only.
    pub async fn undelivered(&self, asker: &str, limit: u32) -> Result<Vec<Question>, Error> {
        self.undelivered_about(asker, None, limit).await
    }

    async fn undelivered_about(
        &self,
        asker: &str,
        workspace: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Question>, Error> {
        // Removed before the query, so that a decision made meanwhile enters the asker again.
        let late = self.core.undelivered_askers.lock().unwrap_or_else(PoisonError::into_inner).remove(asker);
        if !late && *self.core.recovery.borrow() == Recovery::Done && !self.core.store.is_shared() {
            return Ok(Vec::new());
        }
        let rows = questions::undelivered(&self.core.store, asker, workspace, limit).await?;
        // There may be outcomes about other workspaces.
        if !rows.is_empty() || workspace.is_some() {
            self.expect_undelivered(asker);
        }
        let questions = rows.into_iter().map(|row| rows::question(row, self.core.store.machine()));
        let questions = questions.collect::<Result<Vec<_>, _>>()?;
        Ok(questions
            .into_iter()
            .filter(|question| !self.core.waiters.has_subscriber(question.ticket.as_str()))
            .collect())
    }

    /// Claims decided questions that `wanted` accepts and with an outcome that `asker` (by its key) has not received,
    /// that no call waits for, and that is not on its way; of one workspace, if `workspace` names it. Also returns whether
    /// there was nothing at all.
    pub async fn claim_undelivered(
        self: &Arc<Self>,
        asker: &str,
        workspace: Option<&str>,
        limit: u32,
        wanted: impl Fn(&Question) -> bool,
    ) -> Result<(Vec<(Question, DeliveryClaim)>, bool), Error> {
        let _claiming = self.core.claiming.lock().await;
        // Read before the store: an outcome that was delivered in between is in neither.
        let claimed = self.core.claims.tickets();
        let undelivered = self.undelivered_about(asker, workspace, limit).await?;
        let none = undelivered.is_empty();
        let fresh = undelivered.into_iter().filter(|question| {
            let ticket = question.ticket.as_str();
            !claimed.iter().any(|claimed| claimed == ticket)
                && !self.core.claims.has(ticket)
                && wanted(question)
        });
        let claim = |question: Question| {
            let claim = self.claim_delivery(asker, &question.ticket);
            (question, claim)
        };
        Ok((fresh.map(claim).collect(), none))
    }

    /// Records that the relay of `session` passed an outcome on to its client, also an outcome of an earlier hub.
    pub async fn mark_acknowledged(&self, session: &str, ticket: &Ticket) {
        let askers =
            questions::questions_of_session(&self.core.store, session).await.unwrap_or_else(|error| {
                tracing::warn!(%error, %ticket, "a delivered outcome could not be looked up");
                Vec::new()
            });
        for (_, asker) in askers.into_iter().filter(|(question, _)| question == ticket.as_str()) {
            self.mark_delivered(&asker, ticket).await;
        }
    }

    /// Records that the outcome reached `asker`. False when it was delivered before.
    pub async fn mark_delivered(&self, asker: &str, ticket: &Ticket) -> bool {
        match questions::mark_delivered(&self.core.store, ticket.as_str(), asker, self.core.clock.now()).await
        {
            Ok(first) => first,
            Err(error) => {
                tracing::warn!(%error, %ticket, "a fetched outcome could not be noted as fetched");
                false
            }
        }
    }

    /// Returns the deliveries of an event stream in order: with `after`, all after that event, sent ones too; without,
    /// the unsent ones.
    pub async fn stream_deliveries(&self, stream: &str, after: Option<i64>) -> Result<Vec<Delivery>, Error> {
        let due = questions::due_events(&self.core.store, stream, after).await?;
        due.into_iter()
            .map(|(event, request, row)| {
                Ok(Delivery { event, request, question: rows::question(row, self.core.store.machine())? })
            })
            .collect()
    }

    /// Records that an event of a stream was sent to its client. It is sent again as the event `repeated` to a client that
    /// resumes the stream; `None` if the client has it from another response.
    pub async fn mark_sent(&self, stream: &str, event: i64, repeated: Option<i64>) {
        let sent = questions::mark_sent(&self.core.store, stream, event, repeated, self.core.clock.now());
        if let Err(error) = sent.await {
            tracing::warn!(%error, "an event that was written could not be noted as written");
        }
    }
}
