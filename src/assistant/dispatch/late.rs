//! What was missed while nothing ran, or held through the quiet hours: told in one piece, never as a burst.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::assistant::event::EventStatus;
use crate::assistant::notification::Channel;
use crate::assistant::planner::open::closed;
use crate::assistant::rows::{self, millis};
use crate::assistant::{Assistant, Error, Notification, UserId};
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
            let one = rows::notification(row)?;
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

    /// Returns what a notification tells with its own: as it is read again now, nothing of an event that was cancelled.
    pub(super) async fn missed_with(&self, carrier: &Notification) -> Result<Vec<Notification>, Error> {
        let mut missed = Vec::new();
        for row in outbox::merged_into(&self.store, carrier.id.as_str()).await? {
            let one = rows::notification(row)?;
            match self.event(&one.event).await {
                Ok(event) if event.status == EventStatus::Confirmed => missed.push(one),
                Ok(_) | Err(Error::Unknown { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(missed)
    }
}

/// What somebody is told besides, under the reason why it was not told in its time.
pub(super) fn besides(missed: &[Notification]) -> String {
    // What was tried was held then, and nothing else is told by another one.
    let (held, late): (Vec<_>, Vec<_>) = missed.iter().partition(|one| one.attempts > 0);
    let mut text = String::new();
    for (why, told) in [
        ("Missed while this computer was off or asleep:", late),
        ("Kept until the quiet hours were over:", held),
    ] {
        if !told.is_empty() {
            text = format!("{text}\n\n{why}");
        }
        for one in told {
            text = format!("{text}\n- {}", one.wording.subject);
        }
    }
    text
}
