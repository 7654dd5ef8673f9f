//! Dispatch of due notifications from the store.
//!
//! A notification is leased, and its attempt is stored, before anything is sent; the outcome is recorded afterwards. A
//! crash in between leaves a lease that expires: a mail is sent again under the same Message-ID, a call is never
//! repeated without the user. The event is read again before the send, so that nothing is sent for a cancelled event.

mod digest;
mod email;
mod escalation;
mod message;
mod phone_call;
mod send;
mod senders;
#[cfg(test)]
mod tests;
mod webhook;

use std::time::Duration;

use futures::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::notification::{Channel, Status};
use crate::rows::{self, millis};
use crate::{Assistant, Error};
use adjutant_base::config::delivery::Delivery;
use adjutant_base::events::Event as HubEvent;
use adjutant_base::trace_context::within;
use adjutant_store::assistant::notifications::NotificationRow;
use adjutant_store::assistant::outbox;
pub use message::{PresentFn, Presented, SendOutcome};
use senders::Senders;

/// Notifications that are sent at the same time.
const MAX_CONCURRENT_SENDS: usize = 16;
/// Notifications of one lease.
const BATCH_SIZE: u32 = 128;
/// How long a lease lasts; a send takes less.
const LEASE_DURATION: SignedDuration = SignedDuration::from_mins(2);
/// How long one send may take.
const SEND_TIMEOUT: Duration = Duration::from_mins(1);
/// The longest sleep: a machine that slept, or a clock that was set, is noticed after it.
const MAX_SLEEP: Duration = Duration::from_secs(30);
/// Tries before a notification is dead.
const MAX_TRIES: i64 = 5;
/// The first wait before another try; each one doubles it, up to the last.
const BACKOFF_MS: (i64, i64) = (5_000, 15 * 60_000);
/// How soon a store that was away is looked for again: the first time, and at most.
const STORE_RETRY_INTERVAL: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

impl Assistant {
    /// Sends what is due until `stop`. To be run once in each hub; hubs that share a database share the work.
    pub async fn run_dispatch(&self, delivery: Delivery, present: PresentFn, stop: CancellationToken) {
        let senders = Senders::new(delivery, present);
        let owner = match crate::NotificationId::new() {
            Ok(id) => id.as_str().to_owned(),
            Err(error) => return tracing::error!(%error, "notifications cannot be sent"),
        };
        if !self.store.is_shared()
            && let Err(error) = self.resolve_expired_leases(Timestamp::MAX, Timestamp::now()).await
        {
            // One hub owns the file, so whatever is being sent was sent by one that is gone. The lease tells it too.
            tracing::error!(%error, "what the last hub was sending cannot be settled yet");
        }
        let mut horizon = Timestamp::MIN;
        let mut again = STORE_RETRY_INTERVAL.0;
        loop {
            let now = Timestamp::now();
            if now.duration_since(horizon) > SignedDuration::from_hours(12) {
                self.extend_all_series(now).await;
                horizon = now;
            }
            let sleep_time = match self.dispatch_due(&senders, &owner, Timestamp::now, &stop).await {
                Ok(next) => {
                    again = STORE_RETRY_INTERVAL.0;
                    let wait = next.map(|next| rows::instant(next).duration_since(Timestamp::now()));
                    wait.map_or(MAX_SLEEP, |wait| {
                        Duration::try_from(wait)
                            .unwrap_or_default()
                            .clamp(Duration::from_millis(20), MAX_SLEEP)
                    })
                }
                Err(error) => {
                    tracing::error!(%error, "what is due cannot be read; trying again");
                    again = (again * 2).min(STORE_RETRY_INTERVAL.1);
                    again
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(sleep_time) => {}
                () = self.wake.notified() => {}
            }
        }
    }

    /// Moves the horizon of every series.
    async fn extend_all_series(&self, now: Timestamp) {
        let mut after = None;
        loop {
            let series = match self.series(after.as_ref(), 200).await {
                Ok(series) => series,
                Err(error) => return tracing::error!(%error, "the series cannot be read"),
            };
            for event in &series {
                if let Err(error) = self.extend(event, now).await {
                    tracing::warn!(event.id = %event.id, %error, "a series cannot be followed further");
                }
            }
            match series.last() {
                Some(last) => after = Some(last.id.clone()),
                None => return,
            }
        }
    }

    /// Does what there is to do by `clock`; returns when there is more.
    async fn dispatch_due(
        &self,
        senders: &Senders,
        owner: &str,
        clock: impl Fn() -> Timestamp + Sync,
        stop: &CancellationToken,
    ) -> Result<Option<i64>, Error> {
        while !stop.is_cancelled() {
            let now = clock();
            self.resolve_expired_leases(now, now).await?;
            self.merge_missed(now).await?;
            // After what was just sent too: what failed goes on by another way at once.
            self.escalate(now).await?;
            let until = now.saturating_add(LEASE_DURATION).unwrap_or(now);
            let leased =
                outbox::lease(&self.store, owner.to_owned(), millis(now), millis(until), BATCH_SIZE).await?;
            if leased.is_empty() {
                break;
            }
            // Once leased, each is carried to its record, also while the hub stops.
            let send_and_record = |row| self.send_and_record(senders, row, &clock, stop);
            stream::iter(leased).for_each_concurrent(MAX_CONCURRENT_SENDS, send_and_record).await;
            self.events.send(HubEvent::NotificationsChanged);
        }
        Ok(outbox::next(&self.store).await?)
    }

    /// Sends one notification and records what became of it.
    async fn send_and_record(
        &self,
        senders: &Senders,
        row: NotificationRow,
        clock: &(impl Fn() -> Timestamp + Sync),
        stop: &CancellationToken,
    ) {
        let (id, attempt) = (row.id.clone(), row.attempts);
        let outcome = match rows::notification(row) {
            Ok(notification) => {
                let call = notification.channel == Channel::Call;
                let work = within(self.traces.of(&id), self.send(senders, notification, clock()));
                match tokio::time::timeout(SEND_TIMEOUT, work).await {
                    Ok(Ok(outcome)) => outcome,
                    Ok(Err(error)) => SendOutcome::Failed(error.to_string()),
                    Err(_) if call => SendOutcome::Unknown("the provider did not answer in time".to_owned()),
                    Err(_) => SendOutcome::Failed("it took too long".to_owned()),
                }
            }
            Err(error) => SendOutcome::Rejected(error.to_string()),
        };
        // What went out is known here alone while the store is away, so the record is kept until it is back: a lease
        // that ran out would send it a second time.
        let mut again = STORE_RETRY_INTERVAL.0;
        loop {
            match self.record(&id, attempt, &outcome, clock()).await {
                Ok(()) => return,
                Err(error) => tracing::error!(notification.id = %id, %error, "an outcome cannot be recorded"),
            }
            if stop.run_until_cancelled(tokio::time::sleep(again)).await.is_none() {
                return;
            }
            again = (again * 2).min(STORE_RETRY_INTERVAL.1);
        }
    }

    /// Records what became of an attempt.
    async fn record(
        &self,
        id: &str,
        attempt: i64,
        outcome: &SendOutcome,
        now: Timestamp,
    ) -> Result<(), Error> {
        // Only a failure asks how many there were.
        let tries = match outcome {
            SendOutcome::Failed(_) => outbox::tries(&self.store, id).await?,
            _ => 0,
        };
        outbox::settle(&self.store, settlement(id, attempt, tries, outcome, now)).await?;
        Ok(())
    }

    /// Says what becomes of sendings whose lease ended before `ended`: their hub is gone, and nobody knows how far it
    /// came.
    async fn resolve_expired_leases(&self, ended: Timestamp, now: Timestamp) -> Result<(), Error> {
        for row in outbox::lost(&self.store, millis(ended), BATCH_SIZE).await? {
            let why = "the hub that sent it went away before it could tell".to_owned();
            let outcome = match Channel::from_name(&row.channel) {
                // Nobody likes a phone that rings twice: a person says what happened.
                Some(Channel::Call) | None => SendOutcome::Unknown(why),
                // The same Message-ID, key or popup is seen as the same by whoever gets it twice.
                Some(
                    Channel::Email | Channel::Popup | Channel::Desktop | Channel::Ntfy | Channel::Webhook,
                ) => SendOutcome::Failed(why),
            };
            let tries = outbox::tries(&self.store, &row.id).await?;
            let mut settlement = settlement(&row.id, row.attempts, tries, &outcome, now);
            "unknown".clone_into(&mut settlement.outcome);
            if settlement.status == Status::Planned.name() {
                settlement.try_at = millis(now);
            }
            outbox::settle(&self.store, settlement).await?;
        }
        Ok(())
    }
}

/// What is recorded of an outcome: of the attempt, and of the notification, which was tried so often by now.
fn settlement(
    id: &str,
    attempt: i64,
    tries: i64,
    outcome: &SendOutcome,
    now: Timestamp,
) -> outbox::Settlement {
    let at = millis(now);
    let quiet = "it is quiet now, and it goes out afterwards".to_owned();
    let (name, status, detail) = match outcome {
        SendOutcome::Sent(detail) => ("sent", Status::Sent, detail),
        SendOutcome::Simulated(detail) => ("simulated", Status::Simulated, detail),
        SendOutcome::Failed(detail) if tries >= MAX_TRIES => ("failed", Status::Dead, detail),
        SendOutcome::Failed(detail) => ("failed", Status::Planned, detail),
        SendOutcome::Rejected(detail) => ("failed", Status::Failed, detail),
        SendOutcome::Unknown(detail) => ("unknown", Status::Unknown, detail),
        SendOutcome::Withdrawn(detail) => ("withdrawn", Status::Cancelled, detail),
        SendOutcome::Held(_) => ("held", Status::Planned, &quiet),
    };
    let try_at = match outcome {
        SendOutcome::Held(until) => millis(*until),
        _ if status == Status::Planned => at + backoff(tries),
        _ => at,
    };
    let is_sent = matches!(status, Status::Sent | Status::Simulated);
    outbox::Settlement {
        id: id.to_owned(),
        attempt,
        outcome: name.to_owned(),
        detail: detail.clone(),
        status: status.name().to_owned(),
        try_at,
        sent_at: is_sent.then_some(at),
        error: (status != Status::Sent).then(|| detail.clone()),
        at,
    }
}

/// A random wait up to twice the last one, so that many that failed together do not come back together.
fn backoff(tries: i64) -> i64 {
    let limit = BACKOFF_MS.0.saturating_mul(1 << tries.clamp(0, 16)).min(BACKOFF_MS.1);
    let mut bytes = [0_u8; 8];
    // Without randomness the wait is the longest one.
    let random = getrandom::fill(&mut bytes).map_or(u64::MAX, |()| u64::from_le_bytes(bytes));
    let share = i64::try_from(random >> 40).unwrap_or_default();
    1000 + limit * share / (1 << 24)
}
