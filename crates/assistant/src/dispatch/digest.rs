//! Digest of overdue notifications: those that were missed while no hub ran, or held during quiet hours, are sent as
//! one message.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::event::EventStatus;
use crate::events::EventOccurrence;
use crate::notification::Channel;
use crate::planner::quiet_hours::blocked_by;
use crate::planner::wording::dated;
use crate::rows::{self, millis};
use crate::{Assistant, Error, Notification, UserId, Zone};
use adjutant_store::assistant::outbox;

/// The delay from which a notification counts as missed.
const MAX_DELAY: SignedDuration = SignedDuration::from_mins(10);

/// Missed notifications that are read at once.
const BATCH_SIZE: u32 = 5000;

impl Assistant {
    /// Merges the missed notifications of each user into one. A notification that may not go out now is left to its own
    /// send, which holds or withdraws it.
    pub(super) async fn merge_missed(&self, now: Timestamp) -> Result<(), Error> {
        let before = now.saturating_sub(MAX_DELAY).unwrap_or(now);
        let mut missed: BTreeMap<UserId, Vec<Notification>> = BTreeMap::new();
        for row in outbox::missed(&self.store, millis(now), millis(before), BATCH_SIZE).await? {
            // One that cannot be read is refused by its own send.
            let Ok(one) = rows::notification(row) else { continue };
            missed.entry(one.user.clone()).or_default().push(one);
        }
        for (user, mut late) in missed.into_iter().filter(|(_, late)| late.len() > 1) {
            let preferences = self.user(&user).await?.preferences;
            late.retain(|one| blocked_by(&preferences, one.channel, now).is_none());
            // A mail or a question can hold many events; a late call is the worst choice. Of equals the most urgent one is
            // taken, because it escalates, and then the last.
            let fit = |one: &Notification| match one.channel {
                Channel::Email => 2,
                Channel::Popup | Channel::Desktop | Channel::Ntfy | Channel::Webhook => 1,
                Channel::Call => 0,
            };
            let Some(carrier) = late.iter().max_by_key(|one| (fit(one), one.urgency)) else { continue };
            let carrier = carrier.id.as_str().to_owned();
            let others =
                late.iter().map(|one| one.id.as_str().to_owned()).filter(|id| *id != carrier).collect();
            outbox::merge(&self.store, others, carrier, millis(now)).await?;
        }
        Ok(())
    }

    /// Returns the notifications that were merged into one, without those of cancelled events.
    pub(super) async fn merged_notifications(
        &self,
        carrier: &Notification,
        zone: &Zone,
    ) -> Result<Vec<MergedNotification>, Error> {
        let mut missed = Vec::new();
        for row in outbox::merged_into(&self.store, carrier.id.as_str()).await? {
            let one = rows::notification(row)?;
            let event = match self.event(&one.event).await {
                Ok(event) if event.status == EventStatus::Confirmed => event,
                Ok(_) | Err(Error::Unknown { .. }) => continue,
                Err(error) => return Err(error),
            };
            if let Some(EventOccurrence { event, occurrence }) =
                self.event_occurrence(event, &one.occurrence).await?
            {
                missed.push(MergedNotification {
                    dated: dated(&event, &occurrence, zone),
                    held: one.attempts > 0,
                });
            }
        }
        Ok(missed)
    }
}

/// A notification that was merged into another.
#[derive(Debug)]
pub(super) struct MergedNotification {
    /// The event with its date.
    dated: String,
    /// Whether it was tried, and held for the quiet hours. Otherwise it was not tried in time.
    held: bool,
}

/// Returns whether the wording of a notification names a wrong time until the event.
pub(super) fn is_overdue(notification: &Notification, now: Timestamp) -> bool {
    now.duration_since(notification.due_at) > MAX_DELAY
}

/// Returns the text about merged notifications, under the reason why each was not sent in time.
pub(super) fn digest_text(missed: &[MergedNotification]) -> String {
    let mut text = String::new();
    let reasons = [
        (false, "Missed while this computer was off or asleep:"),
        (true, "Kept until the quiet hours were over:"),
    ];
    for (held, why) in reasons {
        let late: Vec<&str> =
            missed.iter().filter(|one| one.held == held).map(|one| one.dated.as_str()).collect();
        if !late.is_empty() {
            text = format!("{text}\n\n{why}\n- {}", late.join("\n- "));
        }
    }
    text
}
