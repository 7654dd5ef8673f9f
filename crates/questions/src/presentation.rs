//! Records of where a question was shown: the first view, the time on screens, notifications and forms of clients.

use super::decisions::who;
use super::error::Error;
use super::outcome::Channel;
use super::question::{ElicitationFailure, Ticket};
use super::{Questions, Viewer};
use adjutant_store::questions;

/// Longest time between two calls of [`Questions::mark_seen`] that counts as time on a screen, in milliseconds.
const SEEN_GAP: adjutant_store::Millis = 15_000;

impl Questions {
    /// Records that a channel shows the question at this moment. Call it when the question appears and every few
    /// seconds while it stays visible: the time between two calls counts as seen if it is at most [`SEEN_GAP`].
    pub async fn mark_seen(&self, ticket: &Ticket, channel: Channel) -> Result<(), Error> {
        // Only the view of somebody who may decide makes a default count.
        if self.viewer != Viewer::OWNER {
            match self.decidable(ticket).await {
                Err(Error::NotYours { .. }) => return Ok(()),
                found => drop(found?),
            }
        }
        let now = self.core.clock.now();
        let who = who(channel, self.viewer.user());
        let seen = questions::View { id: ticket.to_string(), now, gap: SEEN_GAP, who };
        let first = questions::mark_seen(&self.core.store, seen).await?;
        if first {
            self.notify_changed(ticket.as_str());
        }
        // This view may make the default due.
        self.core.wake.notify_one();
        Ok(())
    }

    /// Records that a channel rings for a question, of one user if `user` names one; false when it rang before, also before a
    /// restart or on another hub, and the question was not snoozed since.
    pub async fn claim_ring(
        &self,
        ticket: &Ticket,
        channel: &str,
        user: Option<&str>,
    ) -> Result<bool, Error> {
        let now = self.core.clock.now();
        let who = user.map_or_else(|| channel.to_owned(), |user| format!("{channel} {user}"));
        Ok(questions::append_ring(&self.core.store, ticket.as_str(), &who, now).await?)
    }

    /// Records that a form in the client itself ended without an answer, for the audit.
    pub async fn record_elicitation_failure(
        &self,
        ticket: &Ticket,
        how: ElicitationFailure,
    ) -> Result<(), Error> {
        let who = Channel::Client.name();
        questions::append_event(&self.core.store, ticket.as_str(), how.name(), who, self.core.clock.now())
            .await?;
        self.notify_changed(ticket.as_str());
        Ok(())
    }
}
