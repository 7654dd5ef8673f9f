//! What was missed while nothing ran: told in one piece, never as a burst.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::assistant::notification::Channel;
use crate::assistant::rows::{self, millis};
use crate::assistant::{Assistant, Error, Notification};
use crate::store::assistant::outbox;

/// So much later than due a notification counts as missed.
const LATE: SignedDuration = SignedDuration::from_mins(10);

/// Missed notifications that one look takes.
const MOST: u32 = 5000;

impl Assistant {
    /// Of what each user missed, lets one notification tell the others.
    pub(super) async fn merge_missed(&self, now: Timestamp) -> Result<(), Error> {
        let before = now.saturating_sub(LATE).unwrap_or(now);
        let mut missed: BTreeMap<String, Vec<(String, Option<Channel>)>> = BTreeMap::new();
        for row in outbox::missed(&self.store, millis(before), MOST).await? {
            missed.entry(row.user_id).or_default().push((row.id, Channel::from_name(&row.channel)));
        }
        for told in missed.into_values().filter(|told| told.len() > 1) {
            // A mail or a popup tells many things at once; a phone that rings late tells nothing better.
            let carrier = told.iter().rposition(|(_, channel)| *channel == Some(Channel::Email));
            let carrier =
                carrier.or_else(|| told.iter().rposition(|(_, channel)| *channel != Some(Channel::Call)));
            let carrier = told[carrier.unwrap_or(told.len() - 1)].0.clone();
            let others = told.into_iter().map(|(id, _)| id).filter(|id| *id != carrier).collect();
            outbox::merge(&self.store, others, carrier, millis(now)).await?;
        }
        Ok(())
    }

    /// Returns what a notification tells with its own.
    pub(super) async fn missed_with(&self, carrier: &Notification) -> Result<Vec<Notification>, Error> {
        let found = outbox::merged_into(&self.store, carrier.id.as_str()).await?;
        found.into_iter().map(rows::notification).collect()
    }
}
