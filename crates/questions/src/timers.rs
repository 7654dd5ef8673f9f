//! Timers: finalize answers, apply defaults and deadlines, expire questions of clients that stay away.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::decisions::nobody;
use super::error::Error;
use super::outcome::{DecidedBy, Outcome, OutcomeKind};
use super::rows;
use super::{Questions, Recovery};
use adjutant_store::{Millis, questions};

/// Maximum number of due questions of one run; the next run follows at once.
const BATCH_SIZE: u32 = 100;
/// Longest pause between two runs, because another hub may have added questions.
const MAX_PAUSE: Duration = Duration::from_mins(1);
/// Interval between two removals of old questions.
const PRUNE_INTERVAL: Duration = Duration::from_hours(1);
/// Pause after an error of the store.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

impl Questions {
    /// Runs until `stop`: records what the last hub left, finalizes answers, applies defaults, deadlines and graces.
    /// Clients of an earlier process have `reconnect` to come back before their questions may pass to another session.
    pub async fn run_timers(&self, stop: CancellationToken, reconnect: Duration) {
        if let Err(error) = self.disconnect_all(reconnect).await {
            tracing::warn!(%error, "the clients of the last hub could not be recorded as disconnected");
        }
        let mut prune_at = Instant::now();
        loop {
            if *self.core.recovery.borrow() != Recovery::Done {
                let recovery = match self.record_decided("").await {
                    Ok(()) => Recovery::Done,
                    Err(error) => {
                        tracing::warn!(%error, "the askers of undelivered outcomes could not be read yet");
                        Recovery::Failed
                    }
                };
                self.core.recovery.send_replace(recovery);
            }
            if Instant::now() >= prune_at {
                prune_at = Instant::now() + PRUNE_INTERVAL;
                if let Err(error) = self.prune().await {
                    tracing::warn!(%error, "old questions could not be removed");
                }
            }
            let woken = self.core.wake.notified();
            self.core.next_run.store(Millis::MAX, Ordering::SeqCst);
            let pause = match self.run_due().await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::warn!(%error, "due questions could not be read");
                    RETRY_INTERVAL
                }
            };
            let next = self.core.clock.now().saturating_add(rows::millis(pause));
            self.core.next_run.store(next, Ordering::SeqCst);
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Waits until what the last hub left is recorded, or the store has failed. A client that is served before that could
    /// get no outcome of an earlier call, and its question could be asked twice.
    pub async fn recovered(&self) {
        // The sender is a field of this and outlives the wait.
        let _ = self.core.recovery.subscribe().wait_for(|recovery| *recovery != Recovery::Due).await;
    }

    /// Wakes the timers if they run next after `due`. Each run reads what is due, so a question that waits for hours does
    /// not start one.
    pub(super) fn wake_before(&self, due: Millis) {
        if due < self.core.next_run.load(Ordering::SeqCst) {
            self.core.wake.notify_one();
        }
    }

    async fn disconnect_all(&self, reconnect: Duration) -> Result<(), Error> {
        let now = self.core.clock.now().saturating_add(rows::millis(reconnect));
        let leased = now.saturating_add(rows::millis(self.core.settings.silence_timeout));
        Ok(questions::disconnect_all(&self.core.store, now, leased).await?)
    }

    /// Deletes questions that were decided longer ago than the settings keep them.
    pub(super) async fn prune(&self) -> Result<(), Error> {
        let since = self.core.clock.now().saturating_sub(rows::millis(self.core.settings.keep));
        while questions::prune(&self.core.store, since).await? > 0 {}
        Ok(())
    }

    /// Handles the questions that are due now; returns the time until the next one.
    pub(super) async fn run_due(&self) -> Result<Duration, Error> {
        let now = self.core.clock.now();
        let grace = rows::millis(self.core.settings.disconnect_grace);
        let before = now.saturating_sub(grace);
        let due = questions::due_now(&self.core.store, now, before, BATCH_SIZE).await?;
        let more = due.is_full(BATCH_SIZE);
        for id in &due.held {
            if questions::make_final(&self.core.store, id, now).await? {
                self.record_decided(id).await?;
                self.notify_changed(id);
            }
        }
        for id in &due.snoozed {
            if questions::end_snooze(&self.core.store, id, now).await? {
                self.notify_changed(id);
            }
        }
        for row in due.defaults {
            let question = rows::question(row, self.core.store.machine())?;
            let Some(default) = question.default else { continue };
            let outcome = Outcome {
                kind: OutcomeKind::Answered,
                answer: Some(default.answer),
                by: DecidedBy::Default,
                ..nobody(OutcomeKind::Answered, now, question.seen_ms)
            };
            self.settle((question.ticket.as_str(), None), &outcome, None).await?;
        }
        for (id, seen_ms) in &due.timed_out {
            self.settle((id, None), &nobody(OutcomeKind::TimedOut, now, *seen_ms), None).await?;
        }
        for (id, seen_ms) in &due.gone {
            let outcome = nobody(OutcomeKind::ClientGone, now, *seen_ms);
            if questions::end_abandoned(&self.core.store, id, &rows::outcome(&outcome), before, now).await? {
                self.notify_changed(id);
            }
        }
        for id in &due.silent {
            if questions::mark_silent(&self.core.store, id, now).await? {
                self.notify_changed(id);
            }
        }
        if more {
            return Ok(Duration::ZERO);
        }
        let next = questions::next_due(&self.core.store, now, grace).await?;
        Ok(next.map_or(MAX_PAUSE, |next| pause(next, now)))
    }
}

fn pause(next: Millis, now: Millis) -> Duration {
    Duration::from_millis(u64::try_from(next - now).unwrap_or(0)).min(MAX_PAUSE)
}
