//! An urgent notification that nobody acknowledged goes on to the next way of the user's ladder.

use jiff::{SignedDuration, Timestamp};

use crate::assistant::notification::{Channel, Reason, Urgency};
use crate::assistant::rows::{self, millis};
use crate::assistant::{Assistant, Error, Planned};
use crate::store::assistant::outbox;
use crate::store::assistant::plans::PlanRow;

/// What was sent longer ago does not escalate any more.
const FRESH: SignedDuration = SignedDuration::from_hours(12);

/// Notifications that one look takes.
const MOST: u32 = 500;

impl Assistant {
    /// Plans the next step for what waits for its acknowledgement for too long. Each step is planned once, whoever
    /// looks: its id is made of the one before.
    pub(super) async fn escalate(&self, now: Timestamp) -> Result<(), Error> {
        let since = now.saturating_sub(FRESH).unwrap_or(now);
        for row in outbox::unacknowledged(&self.store, millis(since), MOST).await? {
            let notification = rows::notification(row)?;
            let user = self.user(&notification.user).await?;
            let ladder = &user.preferences.ladder;
            let wait = SignedDuration::from_mins(i64::from(user.preferences.ladder_minutes));
            let Some(sent) = notification.sent_at.and_then(|sent| sent.checked_add(wait).ok()) else {
                continue;
            };
            let step =
                ladder.iter().position(|channel| *channel == notification.channel).map_or(0, |at| at + 1);
            let possible = |channel: &&Channel| match channel {
                Channel::Email => user.email.is_some(),
                Channel::Call => user.phone.is_some(),
                Channel::Ntfy => user.preferences.ntfy_topic.is_some(),
                Channel::Webhook => user.preferences.webhook_url.is_some(),
                Channel::Popup | Channel::Desktop => true,
            };
            let Some(next) = ladder.iter().skip(step).find(possible) else { continue };
            if sent > now {
                continue;
            }
            let mut reasons = notification.reasons.clone();
            let minutes = user.preferences.ladder_minutes;
            let why = format!(
                "nobody acknowledged the {} within {minutes} minutes, so it goes on by {}",
                notification.channel.name(),
                next.name()
            );
            reasons.push(Reason { by: "escalation".to_owned(), why });
            let planned = Planned {
                channel: *next,
                offset: notification.offset,
                due_at: now,
                urgency: Urgency::Urgent,
                wording: notification.wording.clone(),
                reasons,
            };
            let plan = PlanRow {
                id: notification.plan.as_str().to_owned(),
                user_id: notification.user.as_str().to_owned(),
                event_id: notification.event.as_str().to_owned(),
                occurrence: notification.occurrence.clone(),
                plan_key: String::new(),
                source: String::new(),
                reasons: String::new(),
                made_at: millis(now),
            };
            outbox::escalate(&self.store, rows::planned(&planned, &plan, &notification.id.next_step()))
                .await?;
        }
        Ok(())
    }
}
