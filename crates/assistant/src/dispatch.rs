//! Sends what is due, from our own store and nothing before its time.
//!
//! A notification is leased and its attempt is on disk before anything is sent; what became of it is recorded after.
//! A crash in between leaves a lease that runs out: a mail goes out again under the same Message-ID, a call never does
//! by itself. The event is read again before the send, so nothing goes out for one that was cancelled.

mod call;
mod email;
mod escalate;
mod late;
mod send;
#[cfg(test)]
mod tests;
mod web;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::notification::{Channel, Notification, Status};
use super::rows::{self, millis};
use super::{Assistant, Error};
use crate::config::delivery::Delivery;
use crate::events::Event as Happened;
use crate::store::assistant::notifications::NotificationRow;
use crate::store::assistant::outbox;
use crate::trace::within;

/// Notifications that are sent at the same time.
const TOGETHER: usize = 16;
/// Notifications of one lease.
const BATCH: u32 = 128;
/// How long a lease lasts; a send takes less.
const LEASE: SignedDuration = SignedDuration::from_mins(2);
/// How long one send may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// The longest sleep: a machine that slept, or a clock that was set, is noticed after it.
const NAP: Duration = Duration::from_secs(30);
/// Tries before a notification is dead.
const TRIES: i64 = 5;
/// The first wait before another try; each one doubles it, up to the last.
const BACKOFF: (i64, i64) = (5_000, 15 * 60_000);
/// How soon a store that was away is looked for again: the first time, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// A notification for a way that another room has: shown to the person, who may acknowledge it.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) notification: Notification,
    /// Of the user, where the channel wants one.
    pub(crate) topic: Option<String>,
}

/// Shows what the room itself cannot: popups, the desktop, a phone. `app` wires it.
pub(crate) type Show = Arc<dyn Fn(Shown) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// How a send ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was handed over; the detail is what the other side said.
    Sent(String),
    /// All but the sending was done, for there is nothing to send with.
    Simulated(String),
    /// It may work later.
    Failed(String),
    /// It will not work.
    Refused(String),
    /// The other side may have taken it; nobody knows.
    Unknown(String),
    /// It must not go out any more, for this reason.
    Withdrawn(String),
    /// It is quiet until then; it goes out afterwards, if it is right to tell it still.
    Held(Timestamp),
}

/// The ways out, opened once.
pub(super) struct Ways {
    delivery: Delivery,
    mail: email::Mailer,
    web: Option<reqwest::Client>,
    show: Show,
}

impl Assistant {
    /// Sends what is due until `stop`. To be run once in each hub; hubs that share a database share the work.
    pub(crate) async fn work(&self, delivery: Delivery, show: Show, stop: CancellationToken) {
        let web = web::client().inspect_err(|error| tracing::error!(%error, "no HTTP client")).ok();
        let ways = Ways { mail: email::Mailer::new(&delivery), delivery, web, show };
        let owner = match super::NotificationId::new() {
            Ok(id) => id.as_str().to_owned(),
            Err(error) => return tracing::error!(%error, "notifications cannot be sent"),
        };
        if !self.store.is_shared()
            && let Err(error) = self.settle_lost(Timestamp::MAX, Timestamp::now()).await
        {
            // One hub owns the file, so whatever is being sent was sent by one that is gone. The lease tells it too.
            tracing::error!(%error, "what the last hub was sending cannot be settled yet");
        }
        let mut horizon = Timestamp::MIN;
        let mut again = AGAIN.0;
        loop {
            let now = Timestamp::now();
            if now.duration_since(horizon) > SignedDuration::from_hours(12) {
                self.extend_all(now).await;
                horizon = now;
            }
            let nap = match self.round(&ways, &owner, Timestamp::now, &stop).await {
                Ok(next) => {
                    again = AGAIN.0;
                    let wait = next.map(|next| rows::instant(next).duration_since(Timestamp::now()));
                    wait.map_or(NAP, |wait| {
                        Duration::try_from(wait).unwrap_or_default().clamp(Duration::from_millis(20), NAP)
                    })
                }
                Err(error) => {
                    tracing::error!(%error, "what is due cannot be read; trying again");
                    again = (again * 2).min(AGAIN.1);
                    again
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(nap) => {}
                () = self.wake.notified() => {}
            }
        }
    }

    /// Moves the horizon of every series.
    async fn extend_all(&self, now: Timestamp) {
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
    async fn round(
        &self,
        ways: &Ways,
        owner: &str,
        clock: impl Fn() -> Timestamp + Sync,
        stop: &CancellationToken,
    ) -> Result<Option<i64>, Error> {
        while !stop.is_cancelled() {
            let now = clock();
            self.settle_lost(now, now).await?;
            self.merge_missed(now).await?;
            // After what was just sent too: what failed goes on by another way at once.
            self.escalate(now).await?;
            let until = now.saturating_add(LEASE).unwrap_or(now);
            let leased =
                outbox::lease(&self.store, owner.to_owned(), millis(now), millis(until), BATCH).await?;
            if leased.is_empty() {
                break;
            }
            // Once leased, each is carried to its record, also while the hub stops.
            let carry = |row| self.carry(ways, row, &clock, stop);
            stream::iter(leased).for_each_concurrent(TOGETHER, carry).await;
            self.events.send(Happened::NotificationsChanged);
        }
        Ok(outbox::next(&self.store).await?)
    }

    /// Sends one notification and records what became of it.
    async fn carry(
        &self,
        ways: &Ways,
        row: NotificationRow,
        clock: &(impl Fn() -> Timestamp + Sync),
        stop: &CancellationToken,
    ) {
        let (id, attempt) = (row.id.clone(), row.attempts);
        let outcome = match rows::notification(row) {
            Ok(notification) => {
                let call = notification.channel == Channel::Call;
                let work = within(self.traces.of(&id), self.send(ways, notification, clock()));
                match tokio::time::timeout(PATIENCE, work).await {
                    Ok(Ok(outcome)) => outcome,
                    Ok(Err(error)) => Outcome::Failed(error.to_string()),
                    Err(_) if call => Outcome::Unknown("the provider did not answer in time".to_owned()),
                    Err(_) => Outcome::Failed("it took too long".to_owned()),
                }
            }
            Err(error) => Outcome::Refused(error.to_string()),
        };
        // What went out is known here alone while the store is away, so the record is kept until it is back: a lease
        // that ran out would send it a second time.
        let mut again = AGAIN.0;
        loop {
            match self.record(&id, attempt, &outcome, clock()).await {
                Ok(()) => return,
                Err(error) => tracing::error!(notification.id = %id, %error, "an outcome cannot be recorded"),
            }
            if stop.run_until_cancelled(tokio::time::sleep(again)).await.is_none() {
                return;
            }
            again = (again * 2).min(AGAIN.1);
        }
    }

    /// Records what became of an attempt.
    async fn record(&self, id: &str, attempt: i64, outcome: &Outcome, now: Timestamp) -> Result<(), Error> {
        // Only a failure asks how many there were.
        let tries = match outcome {
            Outcome::Failed(_) => outbox::tries(&self.store, id).await?,
            _ => 0,
        };
        outbox::settle(&self.store, settlement(id, attempt, tries, outcome, now)).await?;
        Ok(())
    }

    /// Says what becomes of sendings whose lease ended before `ended`: their hub is gone, and nobody knows how far it
    /// came.
    async fn settle_lost(&self, ended: Timestamp, now: Timestamp) -> Result<(), Error> {
        for row in outbox::lost(&self.store, millis(ended), BATCH).await? {
            let why = "the hub that sent it went away before it could tell".to_owned();
            let outcome = match Channel::from_name(&row.channel) {
                // Nobody likes a phone that rings twice: a person says what happened.
                Some(Channel::Call) | None => Outcome::Unknown(why),
                // The same Message-ID, key or popup is seen as the same by whoever gets it twice.
                Some(
                    Channel::Email | Channel::Popup | Channel::Desktop | Channel::Ntfy | Channel::Webhook,
                ) => Outcome::Failed(why),
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
fn settlement(id: &str, attempt: i64, tries: i64, outcome: &Outcome, now: Timestamp) -> outbox::Settlement {
    let at = millis(now);
    let quiet = "it is quiet now, and it goes out afterwards".to_owned();
    let (word, status, detail) = match outcome {
        Outcome::Sent(detail) => ("sent", Status::Sent, detail),
        Outcome::Simulated(detail) => ("simulated", Status::Simulated, detail),
        Outcome::Failed(detail) if tries >= TRIES => ("failed", Status::Dead, detail),
        Outcome::Failed(detail) => ("failed", Status::Planned, detail),
        Outcome::Refused(detail) => ("failed", Status::Failed, detail),
        Outcome::Unknown(detail) => ("unknown", Status::Unknown, detail),
        Outcome::Withdrawn(detail) => ("withdrawn", Status::Cancelled, detail),
        Outcome::Held(_) => ("held", Status::Planned, &quiet),
    };
    let try_at = match outcome {
        Outcome::Held(until) => millis(*until),
        _ if status == Status::Planned => at + backoff(tries),
        _ => at,
    };
    let told = matches!(status, Status::Sent | Status::Simulated);
    outbox::Settlement {
        id: id.to_owned(),
        attempt,
        outcome: word.to_owned(),
        detail: detail.clone(),
        status: status.name().to_owned(),
        try_at,
        sent_at: told.then_some(at),
        error: (status != Status::Sent).then(|| detail.clone()),
        at,
    }
}

/// A random wait up to twice the last one, so that many that failed together do not come back together.
fn backoff(tries: i64) -> i64 {
    let most = BACKOFF.0.saturating_mul(1 << tries.clamp(0, 16)).min(BACKOFF.1);
    let mut bytes = [0_u8; 8];
    // Without randomness the wait is the longest one.
    let random = getrandom::fill(&mut bytes).map_or(u64::MAX, |()| u64::from_le_bytes(bytes));
    let share = i64::try_from(random >> 40).unwrap_or_default();
    1000 + most * share / (1 << 24)
}

/// Makes a folder, and those above it, that nobody else may look into: what is sent is as private as the calendar.
async fn make_private(folder: &Path) -> std::io::Result<()> {
    tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).await
}
