//! What was missed while nothing ran, or held through the quiet hours: told in one piece, never as a burst.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::assistant::agenda::Happening;
use crate::assistant::event::EventStatus;
use crate::assistant::notification::Channel;
use crate::assistant::planner::open::closed;
use crate::assistant::planner::wording::dated;
use crate::assistant::rows::{self, millis};
use crate::assistant::{Assistant, Error, Notification, UserId, Zone};
use crate::store::assistant::outbox;

/// So much later than due a notification counts as missed.
const LATE: SignedDuration = SignedDuration::from_mins(10);

/// Missed notifications that one look takes.
const MOST: u32 = 5000;

impl Assistant {
    /// Of what each user missed, lets one notification tell the others. What may not go out now is left to its own
    /// send, which holds it or takes it back: it carries nothing, and nobody carries it.
    pub(super) async fn merge_missed(&self, now: Timestamp) -> Result<(), Error> {
        let before = now.saturating_sub(LATE).unwrap_or(now);
        let mut missed: BTreeMap<UserId, Vec<Notification>> = BTreeMap::new();
        for row in outbox::missed(&self.store, millis(now), millis(before), MOST).await? {
            // One that cannot be read is refused by its own send.
            let Ok(one) = rows::notification(row) else { continue };
            missed.entry(one.user.clone()).or_default().push(one);
        }
        for (user, mut told) in missed.into_iter().filter(|(_, told)| told.len() > 1) {
            let preferences = self.user(&user).await?.preferences;
            told.retain(|one| closed(&preferences, one.channel, now).is_none());
            // A mail or a popup tells many things at once; a phone that rings late tells nothing better. Of equals the
            // most pressing one, which climbs the ladder, and then the last.
            let fit = |one: &Notification| match one.channel {
                Channel::Email => 2,
                Channel::Popup | Channel::Desktop | Channel::Ntfy | Channel::Webhook => 1,
                Channel::Call => 0,
            };
            let Some(carrier) = told.iter().max_by_key(|one| (fit(one), one.urgency)) else { continue };
            let carrier = carrier.id.as_str().to_owned();
            let others =
                told.iter().map(|one| one.id.as_str().to_owned()).filter(|id| *id != carrier).collect();
            outbox::merge(&self.store, others, carrier, millis(now)).await?;
        }
        Ok(())
    }

    /// Returns what a notification tells with its own: as it is read again now, nothing of what was called off.
    pub(super) async fn missed_with(
        &self,
        carrier: &Notification,
        zone: &Zone,
    ) -> Result<Vec<Missed>, Error> {
        let mut missed = Vec::new();
        for row in outbox::merged_into(&self.store, carrier.id.as_str()).await? {
            let one = rows::notification(row)?;
            let event = match self.event(&one.event).await {
                Ok(event) if event.status == EventStatus::Confirmed => event,
                Ok(_) | Err(Error::Unknown { .. }) => continue,
                Err(error) => return Err(error),
            };
            if let Some(Happening { event, occurrence }) = self.happening(event, &one.occurrence).await? {
                missed.push(Missed { dated: dated(&event, &occurrence, zone), held: one.attempts > 0 });
            }
        }
        Ok(missed)
    }
}

/// What is told by another notification.
#[derive(Debug)]
pub(super) struct Missed {
    /// What happens when.
    dated: String,
    /// It was tried, and held for the quiet hours; it was never tried in its time otherwise.
    held: bool,
}

/// Tells whether the words of a notification are no longer right about how long it is till then.
pub(super) fn is_late(notification: &Notification, now: Timestamp) -> bool {
    now.duration_since(notification.due_at) > LATE
}

/// What somebody is told besides, under the reason why it was not told in its time.
pub(super) fn besides(missed: &[Missed]) -> String {
    let mut text = String::new();
    let reasons = [
        (false, "Missed while this computer was off or asleep:"),
        (true, "Kept until the quiet hours were over:"),
    ];
    for (held, why) in reasons {
        let told: Vec<&str> =
            missed.iter().filter(|one| one.held == held).map(|one| one.dated.as_str()).collect();
        if !told.is_empty() {
            text = format!("{text}\n\n{why}\n- {}", told.join("\n- "));
        }
    }
    text
}
