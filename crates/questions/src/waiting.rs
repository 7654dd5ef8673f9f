//! Waiting for an outcome, and notifying the waiters.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Questions;
use super::changes::Changes;
use super::error::Error;
use super::outcome::{Outcome, State};
use super::question::Ticket;
use adjutant_base::events::Event;
use adjutant_store::questions;

/// Interval between two attempts to read a question while the store does not answer.
const STORE_RETRY_INTERVAL: Duration = Duration::from_secs(1);

impl Questions {
    /// Waits until a question is decided, `timeout` is over or the caller drops this, which loses nothing; returns
    /// the state at that time. The secret values of an answer are in it once, if it was given to this process. A store
    /// that does not answer is tried again until then.
    pub async fn wait(&self, ticket: &Ticket, timeout: Duration) -> Result<State, Error> {
        let end = Instant::now() + timeout;
        let mut changes = self.changes(ticket);
        loop {
            let mut state = match self.get(ticket).await {
                Err(error) if error.is_store_away() && Instant::now() < end => {
                    tokio::time::sleep(STORE_RETRY_INTERVAL).await;
                    continue;
                }
                question => question?.state,
            };
            if let State::Decided(Outcome { answer: Some(answer), .. }) = &mut state
                && answer.is_withheld()
                && let Some(whole) = self.core.secrets.lock().await.remove(ticket)
            {
                *answer = whole;
            }
            let left = end.saturating_duration_since(Instant::now());
            if state.outcome().is_some() || left.is_zero() {
                return Ok(state);
            }
            changes.next(left).await;
        }
    }

    /// Returns a receiver of the changes of a question from now on.
    pub fn changes(&self, ticket: &Ticket) -> Changes {
        Changes(self.core.waiters.subscribe(ticket.as_str()))
    }

    /// Returns a counter that increases when a stream may have something new.
    pub fn stream_changes(&self, stream: &str) -> watch::Receiver<u64> {
        self.core.waiters.subscribe(stream)
    }

    /// Notifies the readers of a stream that it may have something new.
    pub fn notify_stream(&self, stream: &str) {
        self.core.waiters.notify(stream);
    }

    /// Notices what other hubs change in a shared store, until `stop`: wakes the calls, the event streams and the timers
    /// of this hub, and every interface that shows questions. Reads it at an interval, because a wake-up may be lost.
    pub async fn watch_other_hubs(&self, stop: CancellationToken) {
        let mut last = None;
        while self.core.store.is_shared() {
            match questions::change_number(&self.core.store).await {
                Ok(number) => {
                    // The changes of this hub count too, because a number does not name its hub. So does the first number:
                    // a list may have been read before a question that is in this number.
                    if last.replace(number) != Some(number) {
                        self.core.waiters.notify_all();
                        self.core.wake.notify_one();
                        self.core.events.send(Event::QuestionsChanged);
                    }
                }
                Err(error) => tracing::warn!(%error, "the questions of other hubs could not be read"),
            }
            tokio::select! {
                () = self.core.look.notified() => {}
                () = tokio::time::sleep(self.core.settings.poll_interval) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Wakes the calls that wait for a question.
    pub(super) fn notify_waiters(&self, id: &str) {
        self.core.waiters.notify(id);
    }

    /// Notifies the calls that wait for a question, and every interface that shows questions, that it changed.
    pub(super) fn notify_changed(&self, id: &str) {
        self.core.waiters.notify(id);
        self.announce();
    }

    /// Notifies every interface that shows questions, and the task that wakes the other hubs.
    pub(super) fn announce(&self) {
        self.core.events.send(Event::QuestionsChanged);
        self.core.changed_here.notify_one();
    }

    /// Returns when this hub has changed a question since the last call. Several changes are one; for one caller.
    pub async fn changed_here(&self) {
        self.core.changed_here.notified().await;
    }

    /// Reads the changes of other hubs now, instead of at the end of the interval.
    pub fn look_at_other_hubs(&self) {
        self.core.look.notify_one();
    }
}
