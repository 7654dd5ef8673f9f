//! Lookups: one question, the pending ones, the history and the audit of a question.

use super::Questions;
use super::error::Error;
use super::outcome::OutcomeKind;
use super::question::{Asker, AuditEntry, Filter, Page, PendingKind, Question, Queue, Ticket};
use super::rows;
use adjutant_base::trace_context::Trace;
use adjutant_store::questions;

impl Questions {
    /// Returns one question with its message and fields.
    pub async fn get(&self, ticket: &Ticket) -> Result<Question, Error> {
        let question = self.question(ticket.as_str()).await?;
        if !self.viewer.sees(&question.addressee) {
            return Err(Error::Unknown { ticket: ticket.to_string() });
        }
        Ok(question)
    }

    /// Returns a question if `asker` is one of its askers, or becomes one: then a session that ended in the same place
    /// asked it, and the outcome is undelivered.
    pub async fn resume(&self, asker: &Asker, ticket: &Ticket) -> Result<Question, Error> {
        match self.get_as(&asker.key, ticket).await {
            Err(Error::Unknown { .. }) if !asker.place.is_empty() => {}
            found => return found,
        }
        let (id, now) = (ticket.as_str(), self.core.clock.now());
        questions::adopt(&self.core.store, id, &asker.key, &asker.session, &asker.place, now).await?;
        self.get_as(&asker.key, ticket).await
    }

    /// Returns a question if `asker` (by its key) is one of its askers.
    pub async fn get_as(&self, asker: &str, ticket: &Ticket) -> Result<Question, Error> {
        if !questions::is_asker(&self.core.store, ticket.as_str(), asker).await? {
            return Err(Error::Unknown { ticket: ticket.to_string() });
        }
        self.get(ticket).await
    }

    /// Reads one question by the id of its row.
    pub(super) async fn question(&self, id: &str) -> Result<Question, Error> {
        let row = questions::get(&self.core.store, id).await?;
        rows::question(
            row.ok_or_else(|| Error::Unknown { ticket: id.to_owned() })?,
            self.core.store.machine(),
        )
    }

    /// Returns pending questions, oldest first: at most `limit` after the one with the `seq` of `after`.
    pub async fn pending(&self, after: Option<i64>, limit: u32) -> Result<Page, Error> {
        let found =
            questions::pending(&self.core.store, &self.viewer.addressees(), after, limit.saturating_add(1))
                .await?;
        let total = questions::count_pending(&self.core.store, &self.viewer.addressees()).await?;
        self.page(found, total, limit)
    }

    /// Returns the pending questions of a kind with `text` in their title, message, workspace or client, in any case (beyond
    /// ASCII, as written), oldest first; an empty text is in all of them. At most `limit` after the one with the `seq` of
    /// `after`.
    pub async fn find_pending(
        &self,
        text: &str,
        kind: Option<PendingKind>,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Page, Error> {
        let found = questions::find_pending(
            &self.core.store,
            &self.viewer.addressees(),
            text,
            kind,
            after,
            limit.saturating_add(1),
        )
        .await?;
        let is_all = after.is_none() && found.len() <= limit as usize;
        let total = if is_all {
            found.len() as u64
        } else {
            questions::count_found(&self.core.store, &self.viewer.addressees(), text, kind).await?
        };
        self.page(found, total, limit)
    }

    /// Returns at most `limit` pending questions and at most `limit` decided questions that contain a text. Unlike the pages of
    /// [`Self::find_pending`] and [`Self::history`] they are not counted, for which all questions would be read.
    pub async fn search(&self, text: &str, limit: u32) -> Result<[Vec<Question>; 2], Error> {
        let addressees = self.viewer.addressees();
        let pending = questions::find_pending(&self.core.store, &addressees, text, None, None, limit);
        let decided = questions::history(&self.core.store, &addressees, text, "", None, limit);
        let (pending, decided) = tokio::try_join!(pending, decided)?;
        Ok([self.page(pending, 0, limit)?.questions, self.page(decided, 0, limit)?.questions])
    }

    /// Returns the newest pending questions, at most `limit` and the oldest of them first.
    pub async fn newest(&self, limit: u32) -> Result<Page, Error> {
        let mut found = questions::newest(&self.core.store, &self.viewer.addressees(), limit).await?;
        found.reverse();
        self.page(found, questions::count_pending(&self.core.store, &self.viewer.addressees()).await?, limit)
    }

    /// Returns at most `limit` questions with a decision that can be undone.
    pub async fn held(&self, limit: u32) -> Result<Vec<Question>, Error> {
        let found = questions::held(&self.core.store, &self.viewer.addressees(), limit).await?;
        Ok(self.page(found, 0, limit)?.questions)
    }

    /// Returns the questions whose tickets begin with `prefix`, two at most.
    pub async fn find(&self, prefix: &str) -> Result<Vec<Ticket>, Error> {
        let found = questions::by_prefix(&self.core.store, &prefix.trim().to_ascii_lowercase()).await?;
        let tickets = found.iter().filter_map(|id| Ticket::parse(id));
        let mut seen = Vec::new();
        for ticket in tickets {
            if self.get(&ticket).await.is_ok() {
                seen.push(ticket);
            }
        }
        Ok(seen)
    }

    /// Returns the number of pending questions.
    pub async fn count_pending(&self) -> Result<u64, Error> {
        Ok(questions::count_pending(&self.core.store, &self.viewer.addressees()).await?)
    }

    /// Returns the queue as seen from the question with this `seq`.
    pub async fn queue(&self, seq: i64) -> Result<Queue, Error> {
        let next =
            questions::next(&self.core.store, &self.viewer.addressees(), seq, self.core.clock.now()).await?;
        Ok(Queue {
            place: questions::position(&self.core.store, &self.viewer.addressees(), seq).await?,
            total: questions::count_pending(&self.core.store, &self.viewer.addressees()).await?,
            next: next.and_then(|id| Ticket::parse(&id)),
        })
    }

    /// Returns decided questions, newest first: at most `limit` before the one with the `seq` of `before`.
    pub async fn history(&self, filter: &Filter, before: Option<i64>, limit: u32) -> Result<Page, Error> {
        let kind = filter.kind.map_or("", OutcomeKind::name);
        let text = filter.text.as_deref().unwrap_or_default();
        let found = questions::history(
            &self.core.store,
            &self.viewer.addressees(),
            text,
            kind,
            before,
            limit.saturating_add(1),
        )
        .await?;
        let total = questions::count_history(&self.core.store, &self.viewer.addressees(), text, kind).await?;
        self.page(found, total, limit)
    }

    /// Returns the audit log of a question, in order; empty for an unknown question.
    pub async fn audit(&self, ticket: &Ticket) -> Result<Vec<AuditEntry>, Error> {
        match self.get(ticket).await {
            Err(Error::Unknown { .. }) => return Ok(Vec::new()),
            found => drop(found?),
        }
        let events = questions::events(&self.core.store, ticket.as_str()).await?;
        Ok(events
            .into_iter()
            .map(|event| AuditEntry { at: event.at, kind: event.kind, who: event.who })
            .collect())
    }

    /// Returns the trace context of the call that asked a question, if this process handled that call and the call
    /// carried one.
    pub fn trace_of(&self, ticket: &Ticket) -> Option<Trace> {
        self.core.traces.get(ticket.as_str())
    }

    fn page(&self, found: Vec<questions::Question>, total: u64, limit: u32) -> Result<Page, Error> {
        let more = found.len() > limit as usize;
        let read = found.into_iter().take(limit as usize);
        let read = read.map(|row| rows::question(row, self.core.store.machine()));
        let questions =
            read.map(|question| Ok(self.redacted(question?))).collect::<Result<Vec<_>, Error>>()?;
        let next = questions.last().filter(|_| more).map(|question| question.seq);
        Ok(Page { questions, total, next })
    }
}
