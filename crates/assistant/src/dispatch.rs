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
mod question_notice;
mod send;
mod senders;
mod smtp;
#[cfg(test)]
mod tests;
mod webhook;

use std::pin::pin;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::notification::{Channel, Offset, Status, Urgency, Wording};
use crate::rows::{self, millis};
use crate::{Assistant, Error, EventId, Notification, NotificationId, PlanId, User};
use adjutant_base::config::notification_delivery::Delivery;
use adjutant_base::events::Event as HubEvent;
use adjutant_base::trace_context::scope;
use adjutant_store::assistant::notifications::NotificationRow;
use adjutant_store::assistant::{events, outbox};
use message::OutgoingMessage;
pub use message::{PresentFn, Presented, SendOutcome};
pub use question_notice::{QuestionNotice, QuestionSenders};
use senders::Senders;

/// Notifications that are sent at the same time. Only these are leased, so that an attempt is what was tried.
const MAX_CONCURRENT_SENDS: usize = 16;
/// Expired leases that are read at once.
const BATCH_SIZE: u32 = 128;
/// How long a lease lasts; a send takes less.
const LEASE_DURATION: SignedDuration = SignedDuration::from_mins(2);
/// How long one send may take. A mail has shorter timeouts of its steps.
const SEND_TIMEOUT: Duration = Duration::from_secs(100);
/// The longest sleep: a machine that slept, or a clock that was set, is noticed after it.
const MAX_SLEEP: Duration = Duration::from_secs(30);
/// Tries that a notification gets at least; further ones follow until its event starts.
const MIN_TRIES: i64 = 5;
/// The first wait before another try, and the longest; each wait doubles the last.
const BACKOFF_MS: (i64, i64) = (5_000, 15 * 60_000);
/// How soon a store that does not answer is tried again: the first time, and at most.
const STORE_RETRY_INTERVAL: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

impl Assistant {
    /// Sends what is due until `stop`. To be run once in each hub; hubs that share a database share the work.
    pub async fn run_dispatch(&self, delivery: Delivery, present: PresentFn, stop: CancellationToken) {
        let senders = Senders::new(delivery, present);
        let owner = match NotificationId::new() {
            Ok(id) => id.as_str().to_owned(),
            Err(error) => return tracing::error!(%error, "notifications cannot be sent"),
        };
        if !self.store.is_shared()
            && let Err(error) = self.resolve_expired_leases(Timestamp::MAX, Timestamp::now()).await
        {
            // One hub owns the file, so every lease is of a hub that has ended. The leases expire too.
            tracing::error!(%error, "what the last hub was sending cannot be resolved yet");
        }
        let mut notices = self.store.notices();
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
                () = notices.next() => self.changed_elsewhere(),
            }
        }
    }

    /// Sends a test message to a user through a channel, and returns the outcome. Nothing is stored.
    pub async fn send_test(
        delivery: Delivery,
        present: PresentFn,
        user: &User,
        channel: Channel,
        now: Timestamp,
    ) -> Result<SendOutcome, Error> {
        let wording = Wording {
            subject: "A test of Adjutant".to_owned(),
            text: "Notifications of your calendar arrive here.".to_owned(),
            speech: String::new(),
        };
        let notification = Notification {
            id: NotificationId::new()?,
            plan: PlanId::new()?,
            user: user.id.clone(),
            event: EventId::new()?,
            occurrence: String::new(),
            channel,
            due_at: now,
            urgency: Urgency::Normal,
            status: Status::Planned,
            try_at: now,
            attempts: 1,
            sent_at: None,
            acknowledged_at: None,
            error: None,
            offset: Offset::Minutes(0),
            wording,
            reasons: Vec::new(),
        };
        let text = notification.wording.text.clone();
        let message = OutgoingMessage { notification: &notification, user, text };
        Ok(send::deliver(&Senders::new(delivery, present), &message).await)
    }

    /// Adds the occurrences of every series up to the horizon of `now`.
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

    /// Sends what is due by `clock`, and returns when the next notification is due.
    async fn dispatch_due(
        &self,
        senders: &Senders,
        owner: &str,
        clock: impl Fn() -> Timestamp + Sync,
        stop: &CancellationToken,
    ) -> Result<Option<i64>, Error> {
        let mut sends = FuturesUnordered::new();
        loop {
            let mut has_ended = false;
            if !stop.is_cancelled() {
                // The sends continue meanwhile, because each may hold a connection to the store.
                let mut leasing = pin!(self.lease_due(owner, sends.len(), clock()));
                let leased = loop {
                    tokio::select! {
                        leased = &mut leasing => break leased,
                        Some(()) = sends.next(), if !sends.is_empty() => has_ended = true,
                    }
                };
                match leased {
                    Ok(rows) => {
                        sends.extend(
                            rows.into_iter().map(|row| self.send_and_record(senders, row, &clock, stop)),
                        );
                    }
                    Err(error) => {
                        sends.collect::<()>().await;
                        return Err(error);
                    }
                }
            }
            // Once leased, each is carried to its record, also while the hub stops.
            if sends.next().await.is_none() && !has_ended {
                break;
            }
            while let Some(Some(())) = sends.next().now_or_never() {}
            self.events.send(HubEvent::NotificationsChanged);
        }
        Ok(outbox::next(&self.store).await?)
    }

    /// Merges missed notifications, escalates, and leases as many due notifications as may be sent together with the
    /// `sending` ones.
    async fn lease_due(
        &self,
        owner: &str,
        sending: usize,
        now: Timestamp,
    ) -> Result<Vec<NotificationRow>, Error> {
        self.resolve_expired_leases(now, now).await?;
        self.merge_missed(now).await?;
        self.escalate(now).await?;
        let until = now.saturating_add(LEASE_DURATION).unwrap_or(now);
        let request = outbox::LeaseRequest {
            owner: owner.to_owned(),
            now: millis(now),
            until: millis(until),
            limit: u32::try_from(MAX_CONCURRENT_SENDS - sending).unwrap_or(0),
            is_idle: sending == 0,
        };
        Ok(outbox::lease(&self.store, request).await?)
    }

    /// Sends one notification and records its outcome.
    async fn send_and_record(
        &self,
        senders: &Senders,
        row: NotificationRow,
        clock: &(impl Fn() -> Timestamp + Sync),
        stop: &CancellationToken,
    ) {
        let id = row.id.clone();
        let outcome = match rows::notification(row.clone()) {
            Ok(notification) => {
                let call = notification.channel == Channel::Call;
                let work =
                    scope(self.traces.get(&id), self.send_once_read(senders, notification, clock, stop));
                match Box::pin(tokio::time::timeout(SEND_TIMEOUT, work)).await {
                    Ok(Ok(outcome)) => outcome,
                    Ok(Err(error)) => SendOutcome::Failed(error.to_string()),
                    Err(_) if call => SendOutcome::Unknown("the provider did not answer in time".to_owned()),
                    Err(_) => SendOutcome::Failed("it took too long".to_owned()),
                }
            }
            Err(error) => SendOutcome::Rejected(error.to_string()),
        };
        // Only this process has the outcome while the store does not answer, so it records the outcome when the store is
        // back. An expired lease would send the notification a second time.
        let mut again = STORE_RETRY_INTERVAL.0;
        loop {
            match self.record(&row, &outcome, clock()).await {
                Ok(()) => return,
                Err(error) => tracing::error!(notification.id = %id, %error, "an outcome cannot be recorded"),
            }
            if stop.run_until_cancelled(tokio::time::sleep(again)).await.is_none() {
                return;
            }
            again = (again * 2).min(STORE_RETRY_INTERVAL.1);
        }
    }

    /// Sends a notification as soon as the store answers. An outage of the store is no attempt of the notification.
    async fn send_once_read(
        &self,
        senders: &Senders,
        notification: Notification,
        clock: &(impl Fn() -> Timestamp + Sync),
        stop: &CancellationToken,
    ) -> Result<SendOutcome, Error> {
        let mut again = STORE_RETRY_INTERVAL.0;
        loop {
            let error = match self.send(senders, notification.clone(), clock()).await {
                Err(error @ Error::Store(_)) => error,
                other => return other,
            };
            if stop.run_until_cancelled(tokio::time::sleep(again)).await.is_none() {
                return Err(error);
            }
            again = (again * 2).min(STORE_RETRY_INTERVAL.1);
        }
    }

    /// Records the outcome of an attempt.
    async fn record(
        &self,
        row: &NotificationRow,
        outcome: &SendOutcome,
        now: Timestamp,
    ) -> Result<(), Error> {
        let retry_at = self.retry_at(row, outcome, now).await?;
        let result = attempt_result(row, retry_at, outcome, now);
        let name = result.outcome.clone();
        outbox::record_attempt(&self.store, result).await?;
        self.attempt_counts.add(&name);
        Ok(())
    }

    /// Returns when a failed notification is tried again: until its event starts, and [`MIN_TRIES`] times in any case.
    async fn retry_at(
        &self,
        row: &NotificationRow,
        outcome: &SendOutcome,
        now: Timestamp,
    ) -> Result<Option<i64>, Error> {
        let SendOutcome::Failed(_) = outcome else { return Ok(None) };
        let tries = outbox::attempt_count(&self.store, &row.id).await?;
        let occurrence = events::occurrence(&self.store, &row.event_id, &row.occurrence).await?;
        let left = occurrence.map_or(0, |occurrence| occurrence.starts_at - millis(now));
        let wait = backoff(tries);
        Ok(if left > BACKOFF_MS.0 {
            // The last waits become shorter, so that the time up to the start is used.
            Some(millis(now) + wait.min(left / 2))
        } else {
            (tries < MIN_TRIES).then_some(millis(now) + wait)
        })
    }

    /// Records the sends whose lease ended before `ended`. Their hub has ended, and how far each send came is unknown.
    async fn resolve_expired_leases(&self, ended: Timestamp, now: Timestamp) -> Result<(), Error> {
        for row in outbox::expired_sendings(&self.store, millis(ended), BATCH_SIZE).await? {
            let why = "the hub that sent it ended before it recorded the outcome".to_owned();
            let outcome = match Channel::from_name(&row.channel) {
                // Nobody wants a phone that rings twice: the user resolves it.
                Some(Channel::Call) | None => SendOutcome::Unknown(why),
                // A receiver recognizes the same Message-ID, key or popup.
                Some(
                    Channel::Email | Channel::Popup | Channel::Desktop | Channel::Ntfy | Channel::Webhook,
                ) => SendOutcome::Failed(why),
            };
            let retry_at = self.retry_at(&row, &outcome, now).await?.map(|_| millis(now));
            let mut attempt_result = attempt_result(&row, retry_at, &outcome, now);
            "unknown".clone_into(&mut attempt_result.outcome);
            outbox::record_attempt(&self.store, attempt_result).await?;
        }
        Ok(())
    }
}

/// Returns what is recorded of an attempt and of its notification. `retry_at` is when a failed one is tried again.
fn attempt_result(
    row: &NotificationRow,
    retry_at: Option<i64>,
    outcome: &SendOutcome,
    now: Timestamp,
) -> outbox::AttemptResult {
    let at = millis(now);
    let quiet = "it is quiet now, and it goes out afterwards".to_owned();
    let (name, status, detail) = match outcome {
        SendOutcome::Sent(detail) => ("sent", Status::Sent, detail),
        SendOutcome::Simulated(detail) => ("simulated", Status::Simulated, detail),
        SendOutcome::Failed(detail) if retry_at.is_some() => ("failed", Status::Planned, detail),
        SendOutcome::Failed(detail) => ("failed", Status::Dead, detail),
        SendOutcome::Rejected(detail) => ("failed", Status::Failed, detail),
        SendOutcome::Unknown(detail) => ("unknown", Status::Unknown, detail),
        SendOutcome::Withdrawn(detail) => ("withdrawn", Status::Cancelled, detail),
        SendOutcome::Held(_) => ("held", Status::Planned, &quiet),
    };
    let held_until = if let SendOutcome::Held(until) = outcome { Some(millis(*until)) } else { None };
    let is_sent = matches!(status, Status::Sent | Status::Simulated);
    outbox::AttemptResult {
        id: row.id.clone(),
        attempt: row.attempts,
        outcome: name.to_owned(),
        detail: detail.clone(),
        status: status.name().to_owned(),
        try_at: held_until.or(retry_at).unwrap_or(at),
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
