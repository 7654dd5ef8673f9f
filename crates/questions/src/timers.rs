//! What time does to questions: answers become final, defaults and deadlines fall due, clients that stay away are gone.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::decide::nobody;
use super::desk::Desk;
use super::error::Error;
use super::outcome::{By, Kind, Outcome};
use super::rows;
use crate::store::{Millis, popups};

/// Questions that one look takes up at most; the next look follows at once.
const AT_ONCE: u32 = 100;
/// The longest that nobody looks, for what another hub entered.
const LONGEST: Duration = Duration::from_mins(1);
/// How often old questions are looked for.
const PRUNE_EVERY: Duration = Duration::from_hours(1);
/// How long the desk waits for a store that did not answer.
const RETRY: Duration = Duration::from_secs(1);

impl Desk {
    pub(super) async fn work(&self, stop: CancellationToken) {
        if !self.store.is_shared()
            && let Err(error) = self.all_gone().await
        {
            tracing::warn!(%error, "the clients of the last hub could not be noted as gone");
        }
        if let Err(error) = self.decided_now("").await {
            tracing::warn!(%error, "who waits for an outcome could not be read");
        }
        let mut prune_at = Instant::now();
        loop {
            if Instant::now() >= prune_at {
                prune_at = Instant::now() + PRUNE_EVERY;
                if let Err(error) = self.prune().await {
                    tracing::warn!(%error, "old questions could not be removed");
                }
            }
            let woken = self.wake.notified();
            let pause = match self.look().await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::warn!(%error, "what is due at the desk could not be read");
                    RETRY
                }
            };
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    async fn all_gone(&self) -> Result<(), Error> {
        let now = self.clock.now();
        let leased = now.saturating_add(rows::millis(self.settings.silent));
        Ok(popups::all_gone(&self.store, now, leased).await?)
    }

    /// Removes what was decided longer ago than the settings keep it.
    pub(super) async fn prune(&self) -> Result<(), Error> {
        let since = self.clock.now().saturating_sub(rows::millis(self.settings.keep));
        while popups::prune(&self.store, since).await? > 0 {}
        Ok(())
    }

    /// Does what is due now; returns how long nothing else is.
    pub(super) async fn look(&self) -> Result<Duration, Error> {
        let now = self.clock.now();
        let grace = rows::millis(self.settings.gone_grace);
        let before = now.saturating_sub(grace);
        let due = popups::due_now(&self.store, now, before, AT_ONCE).await?;
        let more = due.is_full(AT_ONCE);
        for id in &due.held {
            if popups::make_final(&self.store, id, now).await? {
                self.decided_now(id).await?;
                self.changed(id);
            }
        }
        for id in &due.snoozed {
            if popups::wake(&self.store, id, now).await? {
                self.changed(id);
            }
        }
        for row in due.defaults {
            let question = rows::question(row)?;
            let Some(default) = question.default else { continue };
            let outcome = Outcome {
                kind: Kind::Answered,
                answer: Some(default.answer),
                by: By::Default,
                ..nobody(Kind::Answered, now, question.seen_ms)
            };
            self.settle(question.ticket.as_str(), &outcome, None).await?;
        }
        for (id, seen_ms) in &due.timed_out {
            self.settle(id, &nobody(Kind::TimedOut, now, *seen_ms), None).await?;
        }
        for (id, seen_ms) in &due.gone {
            let outcome = nobody(Kind::ClientGone, now, *seen_ms);
            if popups::leave(&self.store, id, &rows::outcome(&outcome), before, now).await? {
                self.changed(id);
            }
        }
        for id in &due.silent {
            if popups::silent(&self.store, id, now).await? {
                self.changed(id);
            }
        }
        if more {
            return Ok(Duration::ZERO);
        }
        let next = popups::next_due(&self.store, now, grace).await?;
        Ok(next.map_or(LONGEST, |next| pause(next, now)))
    }
}

fn pause(next: Millis, now: Millis) -> Duration {
    Duration::from_millis(u64::try_from(next - now).unwrap_or(0)).min(LONGEST)
}
