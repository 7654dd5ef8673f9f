//! An urgent notification that nobody acknowledged goes on to the next way of the user's ladder.

use jiff::{SignedDuration, Timestamp};

use crate::assistant::agenda::Happening;
use crate::assistant::notification::{Channel, Reason, Status, Urgency};
use crate::assistant::planner::open::{Closed, closed};
use crate::assistant::planner::{self, Situation};
use crate::assistant::rows::{self, millis};
use crate::assistant::{Assistant, Error, Notification, Planned, User};
use crate::store::assistant::notifications::NotificationRow;
use crate::store::assistant::outbox;
use crate::store::assistant::plans::PlanRow;
use crate::trace::within;

/// What was sent longer ago does not escalate any more.
const FRESH: SignedDuration = SignedDuration::from_hours(12);

/// Notifications that are read at once.
const PAGE: u32 = 500;

impl Assistant {
    /// Plans the next step for what waits for its acknowledgement for too long. Each step is planned once, whoever
    /// looks: its id is made of the one before.
    pub(super) async fn escalate(&self, now: Timestamp) -> Result<(), Error> {
        let mut behind = (millis(now.saturating_sub(FRESH).unwrap_or(now)), String::new());
        loop {
            let page = outbox::unacknowledged(&self.store, &behind, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            behind = (last.updated_at, last.id.clone());
            for row in page {
                let notification = rows::notification(row)?;
                let user = self.user(&notification.user).await?;
                let mut next = next_step(&notification, &user, true, now);
                if next.as_ref().is_some_and(|next| next.channel == Channel::Call.name())
                    && self.bars_calls(&notification, &user, now).await?
                {
                    next = next_step(&notification, &user, false, now);
                }
                if let Some(next) = next {
                    let trace = self.traces.of(notification.id.as_str());
                    within(trace, async { self.traces.keep(&next.id) }).await;
                    outbox::escalate(&self.store, next).await?;
                }
            }
        }
    }

    /// Tells whether nobody is to be called about what a notification is about.
    async fn bars_calls(
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
        let Some(happening) = self.happening(event, &notification.occurrence).await? else { return Ok(true) };
        let rules = self.rules(&user.id).await?;
        let mut history = self.notifications_of(&notification.event, PAGE).await?;
        history.retain(|one| one.occurrence == notification.occurrence);
        let Happening { event, occurrence } = &happening;
        let channels = Channel::ALL;
        Ok(planner::bars_calls(&Situation {
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

/// Returns the next step of the user's ladder, where it is time for one. In quiet hours it is not; a way that the user
/// does not want at the weekend is left out.
fn next_step(
    notification: &Notification,
    user: &User,
    calls: bool,
    now: Timestamp,
) -> Option<NotificationRow> {
    let preferences = &user.preferences;
    let wait = SignedDuration::from_mins(i64::from(preferences.ladder_minutes));
    // What was never told is not waited for.
    let failed = matches!(notification.status, Status::Failed | Status::Dead);
    let told = notification.sent_at.filter(|_| !failed);
    if told.is_some_and(|told| told.saturating_add(wait).is_ok_and(|until| until > now)) {
        return None;
    }
    let ladder = &preferences.ladder;
    let step = ladder.iter().position(|channel| *channel == notification.channel).map_or(0, |at| at + 1);
    let possible = |channel: &&Channel| match channel {
        Channel::Email => user.email.is_some(),
        Channel::Call => calls && user.phone.is_some(),
        Channel::Ntfy => preferences.ntfy_topic.is_some(),
        Channel::Webhook => preferences.webhook_url.is_some(),
        Channel::Popup | Channel::Desktop => true,
    };
    let mut open = ladder.iter().skip(step).filter(possible);
    let next = open.find(|way| closed(preferences, **way, now) != Some(Closed::Weekend))?;
    if closed(preferences, *next, now).is_some() {
        return None;
    }
    let (by, next_by, minutes) = (notification.channel.name(), next.name(), preferences.ladder_minutes);
    let why = if failed {
        format!("it could not be told by {by}, so it goes on by {next_by}")
    } else {
        format!("nobody acknowledged the {by} within {minutes} minutes, so it goes on by {next_by}")
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
    Some(rows::planned(&planned, &plan, &notification.id.next_step()))
}
