//! Popups: questions of agents to the person, each with exactly one outcome that nothing can lose.
//!
//! [`Popups`] is the room's face. A question is a row before it is acknowledged; its outcome is decided by a compare
//! and set of that row, so of a person's answer, the deadline, a cancel and a second presenter exactly one counts.
//! [`Popups::work`] is what happens with time: answers become final, defaults and deadlines fall due.

mod answer;
mod availability;
mod check;
mod clock;
mod decide;
mod deliver;
mod desk;
mod error;
mod fingerprint;
mod outcome;
mod passphrase;
mod question;
mod rows;
mod time;

use std::time::Duration;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::config::popups::PopupsConfig;
use crate::events::Events;
use crate::store::Store;
use crate::trace::Trace;
pub(crate) use answer::{Answer, Given};
pub(crate) use availability::Availability;
pub(crate) use desk::Changes;
use desk::Desk;
pub(crate) use error::Error;
pub(crate) use outcome::{By, Kind, Outcome, Presenter, Proof, State};
pub(crate) use question::{
    Asked, Asker, Choice, Default, Delivery, Draft, Field, Filter, Format, Happened, Input, Level, Page,
    Question, Queue, Route, Ticket, Unanswered, Waits,
};

/// The room. Cheap to clone; all clones share one desk.
#[derive(Clone, Debug)]
pub(crate) struct Popups(Arc<Desk>);

impl Popups {
    /// Does no I/O: the store is opened by the first question, or by [`Self::work`].
    pub(crate) fn new(settings: PopupsConfig, store: Store, events: Events) -> Self {
        Self(Arc::new(Desk::new(settings, store, events)))
    }

    /// Returns the limits and patience that the desk was configured with.
    pub(crate) fn settings(&self) -> &PopupsConfig {
        &self.0.settings
    }

    /// Enters a question: when this returns it is on disk and shown. An identical pending question (same agent,
    /// workspace and words) is joined; so is the undelivered answer to one, which its asker gets once.
    pub(crate) async fn ask(&self, asker: Asker, draft: Draft) -> Result<Asked, Error> {
        self.0.ask(asker, draft).await
    }

    /// Waits until a question is decided, `patience` is over or the caller drops this, which loses nothing; returns
    /// how it stands then.
    pub(crate) async fn wait(&self, ticket: &Ticket, patience: Duration) -> Result<State, Error> {
        self.0.wait(ticket, patience).await
    }

    /// Returns what tells of changes of a question from now on.
    pub(crate) fn changes(&self, ticket: &Ticket) -> Changes {
        self.0.changes_of(ticket)
    }

    /// Returns one question with its message and fields.
    pub(crate) async fn get(&self, ticket: &Ticket) -> Result<Question, Error> {
        self.0.get(ticket).await
    }

    /// Returns a question if `asker` (by its key) is among those who get the outcome.
    pub(crate) async fn get_as(&self, asker: &str, ticket: &Ticket) -> Result<Question, Error> {
        self.0.get_as(asker, ticket).await
    }

    /// Returns pending questions, oldest first: at most `limit` after the one with the `seq` of `after`.
    pub(crate) async fn pending(&self, after: Option<i64>, limit: u32) -> Result<Page, Error> {
        self.0.pending(after, limit).await
    }

    /// Returns how many questions are pending.
    pub(crate) async fn count_pending(&self) -> Result<u64, Error> {
        self.0.count_pending().await
    }

    /// Returns the queue as it is seen from the question with this `seq`.
    pub(crate) async fn queue(&self, seq: i64) -> Result<Queue, Error> {
        self.0.queue(seq).await
    }

    /// Returns decided questions, newest first: at most `limit` before the one with the `seq` of `before`.
    pub(crate) async fn history(
        &self,
        filter: &Filter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Page, Error> {
        self.0.history(filter, before, limit).await
    }

    /// Returns what happened to a question, in order: the audit.
    pub(crate) async fn happened(&self, ticket: &Ticket) -> Result<Vec<Happened>, Error> {
        self.0.happened(ticket).await
    }

    /// Notes that a presenter shows the question at this moment. Call it when the question appears and every few
    /// seconds while it stays visible: the time between two calls counts as seen if it is at most [`SEEN_GAP`].
    pub(crate) async fn seen(&self, ticket: &Ticket, presenter: Presenter) -> Result<(), Error> {
        self.0.seen(ticket, presenter).await
    }

    /// Answers a pending question. The outcome is on disk when this returns; it becomes final, and reaches who asked,
    /// when the undo window of the settings is over (see [`State::Held`]).
    pub(crate) async fn answer(
        &self,
        ticket: &Ticket,
        proof: Proof,
        answer: Answer,
        note: Option<String>,
        presenter: Presenter,
    ) -> Result<Outcome, Error> {
        self.0.answer(ticket, proof, answer, note, presenter).await
    }

    /// Notes that a presenter rings for a question; false when it did before, also before a restart, and the question was
    /// not put off since.
    pub(crate) async fn rings(&self, ticket: &Ticket, presenter: Presenter) -> Result<bool, Error> {
        self.0.rings(ticket, presenter).await
    }

    /// Returns the secret that the buttons on phones are made of: made once, and kept in the store.
    pub(crate) async fn phone_key(&self) -> Result<String, Error> {
        self.0.key("phone_key").await
    }

    /// Returns the secret that seals what clients carry between the rounds of a call: kept in the store, because a
    /// question outlives its hub.
    pub(crate) async fn state_key(&self) -> Result<String, Error> {
        self.0.key("state_key").await
    }

    /// Returns the trace of the call that a question came of, if it came to this process and said one.
    pub(crate) fn trace_of(&self, ticket: &Ticket) -> Option<Trace> {
        self.0.traces.of(ticket.as_str())
    }

    /// Notes that a form in the client itself ended without an answer, for the audit.
    pub(crate) async fn unanswered(&self, ticket: &Ticket, how: Unanswered) -> Result<(), Error> {
        self.0.unanswered(ticket, how).await
    }

    /// Takes an answer back within its undo window; the question is pending again.
    pub(crate) async fn take_back(&self, ticket: &Ticket, presenter: Presenter) -> Result<(), Error> {
        self.0.take_back(ticket, presenter).await
    }

    /// Refuses: the person says no to the question as a whole.
    pub(crate) async fn decline(
        &self,
        ticket: &Ticket,
        note: Option<String>,
        presenter: Presenter,
    ) -> Result<Outcome, Error> {
        self.0.refuse(ticket, Kind::Declined, false, note, presenter).await
    }

    /// Closes the question without a word about it.
    pub(crate) async fn dismiss(
        &self,
        ticket: &Ticket,
        note: Option<String>,
        presenter: Presenter,
    ) -> Result<Outcome, Error> {
        self.0.refuse(ticket, Kind::Dismissed, false, note, presenter).await
    }

    /// Asks the agent to ask differently: declined, with a note of how.
    pub(crate) async fn redirect(
        &self,
        ticket: &Ticket,
        note: String,
        presenter: Presenter,
    ) -> Result<Outcome, Error> {
        self.0.refuse(ticket, Kind::Declined, true, Some(note), presenter).await
    }

    /// Puts the question off for 1 to 60 minutes; its deadline moves by as much. Returns when it comes back.
    pub(crate) async fn snooze(
        &self,
        ticket: &Ticket,
        minutes: u32,
        presenter: Presenter,
    ) -> Result<crate::store::Millis, Error> {
        self.0.snooze(ticket, minutes, presenter).await
    }

    /// Withdraws what `asker` (by its key) asked; the question goes when nobody else waits for it.
    pub(crate) async fn cancel(&self, asker: &str, ticket: &Ticket) -> Result<State, Error> {
        self.0.cancel(asker, ticket).await
    }

    /// Notes that `asker` is back at a question that it asked before, in its present session. One that has none is
    /// expected again within `lease`; `None` stands for as long as its call lasts.
    pub(crate) async fn here(
        &self,
        asker: &Asker,
        ticket: &Ticket,
        lease: Option<Duration>,
    ) -> Result<(), Error> {
        self.0.here(asker, ticket, lease).await
    }

    /// Notes that an asker whose end nobody can see has ended its call, or has no stream open, and is expected again
    /// within `lease`. When it stays silent the person is shown that; the question stays.
    pub(crate) async fn lets_go(&self, asker: &Asker, ticket: &Ticket, lease: Duration) {
        self.0.lets_go(asker, ticket, lease).await;
    }

    /// Notes that `asker` (by its key) took back the call that waited. The question stays for a grace, as after
    /// [`Self::gone`]: clients take calls back because of their own clocks, and come again.
    pub(crate) async fn left(&self, asker: &str, ticket: &Ticket) {
        self.0.left(asker, ticket).await;
    }

    /// Notes that a client's session has ended. Its questions stay for the grace of the settings, so that it may come
    /// back and ask again; then they end as [`Kind::ClientGone`].
    pub(crate) async fn gone(&self, session: &str) {
        self.0.gone(session).await;
    }

    /// Withdraws everything that a session asked and was not told, for one that nobody comes back for.
    pub(crate) async fn withdraw(&self, session: &str) {
        self.0.withdraw(session).await;
    }

    /// Notes that a client is there again, under the name that its session had when it went.
    pub(crate) async fn back(&self, session: &str) {
        self.0.back(session).await;
    }

    /// Returns decided questions whose outcome `asker` (by its key) did not get and nobody waits for now, oldest
    /// first; of a tool's calls only.
    pub(crate) async fn undelivered(&self, asker: &str, limit: u32) -> Result<Vec<Question>, Error> {
        self.0.undelivered(asker, limit).await
    }

    /// Notes that the outcome reached `asker`; call it once the answer is on its way. False when it had before.
    pub(crate) async fn delivered(&self, asker: &str, ticket: &Ticket) -> bool {
        self.0.delivered(asker, ticket).await
    }

    /// Returns the deliveries of an event stream in their order. With `after`, all behind that event, also those that
    /// were sent before; without, those that were not.
    pub(crate) async fn due(&self, stream: &str, after: Option<i64>) -> Result<Vec<Delivery>, Error> {
        self.0.due(stream, after).await
    }

    /// Returns what changes whenever there may be something new for a stream.
    pub(crate) fn stream_changes(&self, stream: &str) -> tokio::sync::watch::Receiver<u64> {
        self.0.watch(stream)
    }

    /// Says that a stream should look again.
    pub(crate) fn stream_changed(&self, stream: &str) {
        self.0.wake_waiters(stream);
    }

    /// Notes that an event of a stream was written to its client.
    pub(crate) async fn sent(&self, stream: &str, event: i64) {
        self.0.sent(stream, event).await;
    }

    /// Returns whether the person takes questions now.
    pub(crate) async fn availability(&self) -> Result<Availability, Error> {
        self.0.availability().await
    }

    /// Sets whether the person takes questions.
    pub(crate) async fn set_availability(&self, availability: Availability) -> Result<(), Error> {
        self.0.set_availability(availability).await
    }

    /// Sets the desk passphrase, or changes it where `current` proves the old one. Takes a moment of one core.
    pub(crate) async fn set_passphrase(&self, current: Option<String>, new: String) -> Result<(), Error> {
        self.0.set_passphrase(current, new).await
    }

    /// Tells whether a desk passphrase is set.
    pub(crate) fn has_passphrase(&self) -> bool {
        self.0.has_passphrase()
    }

    /// Does what time does until `stop`: makes answers final, lets defaults, deadlines and graces fall due.
    pub(crate) async fn work(&self, stop: CancellationToken) {
        self.0.work(stop).await;
    }
}

/// Longest time between two notes of [`Popups::seen`] that counts as seen, in milliseconds.
pub(crate) const SEEN_GAP: crate::store::Millis = 15_000;

#[cfg(test)]
mod tests;
