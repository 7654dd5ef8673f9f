//! Escalation of urgent notifications that are not acknowledged to the next channel of the user's ladder.

use jiff::{SignedDuration, Timestamp};

use crate::events::EventOccurrence;
use crate::notification::{Channel, Reason, Status, Urgency};
use crate::planner::quiet_hours::{Blocked, blocked_by};
use crate::planner::{self, Situation};
use crate::rows::{self, millis};
use crate::{Assistant, Error, Notification, Planned, User};
use adjutant_base::trace_context::scope;
use adjutant_store::assistant::notifications::NotificationRow;
use adjutant_store::assistant::outbox;

/// A notification that was sent longer ago does not escalate.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(12);

/// Notifications that are read at once.
const PAGE_SIZE: u32 = 500;

impl Assistant {
    /// Plans the next step for notifications that were not acknowledged in time. Each step is planned once, also by several
    /// hubs, because its id is made of the step before.
    pub(super) async fn escalate(&self, now: Timestamp) -> Result<(), Error> {
        let mut after = (millis(now.saturating_sub(MAX_AGE).unwrap_or(now)), String::new());
        loop {
            let page = outbox::unacknowledged(&self.store, &after, PAGE_SIZE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = (last.updated_at, last.id.clone());
            for row in page {
                let notification = rows::notification(row)?;
                let user = self.user(&notification.user).await?;
                let mut next = next_step(&notification, &user, true, now);
                if next.as_ref().is_some_and(|next| next.channel == Channel::Call.name())
                    && self.forbids_calls(&notification, &user, now).await?
                {
                    next = next_step(&notification, &user, false, now);
                }
                if let Some(next) = next {
                    let trace = self.traces.get(notification.id.as_str());
                    scope(trace, async { self.traces.remember(&next.id) }).await;
                    outbox::escalate(&self.store, next).await?;
                }
            }
        }
    }

    /// Returns whether calls about the event of a notification are barred.
    async fn forbids_calls(
        &self,
        notification: &Notification,
        user: &User,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let event = match self.event(&notification.event).await {
            Ok(event) => event,
            Err(Error::Unknown { .. }) => return Ok(true),
            Err(error) => return Err(error),
        };
        let Some(event_occurrence) = self.event_occurrence(event, &notification.occurrence).await? else {
            return Ok(true);
        };
        let rules = self.rules(&user.id).await?;
        let mut history = self.notifications_of(&notification.event, PAGE_SIZE).await?;
        history.retain(|one| one.occurrence == notification.occurrence);
        let EventOccurrence { event, occurrence } = &event_occurrence;
        let channels = Channel::ALL;
        Ok(planner::forbids_calls(&Situation {
            user,
            event,
            occurrence,
            rules: &rules,
            history: &history,
            channels,
            now,
        }))
    }
}

/// Returns the next step of the user's ladder, where it is time for one. In quiet hours it is not; a channel that the user
/// does not want at the weekend is left out.
fn next_step(
    notification: &Notification,
    user: &User,
    calls: bool,
    now: Timestamp,
) -> Option<NotificationRow> {
    let preferences = &user.preferences;
    let wait = SignedDuration::from_mins(i64::from(preferences.ladder_minutes));
    // The acknowledgement of a notification that was never sent is not waited for.
    let failed = matches!(notification.status, Status::Failed | Status::Dead | Status::Planned);
    let sent_at = notification.sent_at.filter(|_| !failed);
    if sent_at.is_some_and(|sent_at| sent_at.saturating_add(wait).is_ok_and(|until| until > now)) {
        return None;
    }
    let ladder = &preferences.ladder;
    let step = ladder.iter().position(|channel| *channel == notification.channel).map_or(0, |at| at + 1);
    let possible = |channel: &&Channel| user.has_address(**channel) && (calls || **channel != Channel::Call);
    let mut open = ladder.iter().skip(step).filter(possible);
    let next = open.find(|channel| blocked_by(preferences, **channel, now) != Some(Blocked::Weekend))?;
    if blocked_by(preferences, *next, now).is_some() {
        return None;
    }
    let (by, next_by, minutes) = (notification.channel.name(), next.name(), preferences.ladder_minutes);
    let why = if failed {
        format!("it could not be sent by {by}, so it escalates to {next_by}")
    } else {
        format!("the {by} was not acknowledged within {minutes} minutes, so it escalates to {next_by}")
    };
    let mut reasons = notification.reasons.clone();
    reasons.push(Reason { by: "escalation".to_owned(), why });
    let planned = Planned {
        channel: *next,
        offset: notification.offset,
        due_at: now,
        urgency: Urgency::Urgent,
        wording: notification.wording.clone(),
        reasons,
    };
    Some(rows::successor(notification, &planned, &notification.id.next_step(), now))
}
