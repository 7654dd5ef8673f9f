//! One send: reads the event and the preferences again, then hands the message to its channel.

use jiff::Timestamp;
use serde_json::json;

use super::digest::{digest_text, is_overdue};
use super::message::{OutgoingMessage, Presented, SendOutcome};
use super::senders::Senders;
use super::{email, phone_call, webhook};
use crate::event::EventStatus;
use crate::notification::{Channel, Notification};
use crate::planner::quiet_hours::{Blocked, blocked_by};
use crate::planner::wording::dated;
use crate::{Assistant, Error};

impl Assistant {
    /// Sends one notification, if it is still right at `now`.
    pub(super) async fn send(
        &self,
        senders: &Senders,
        mut notification: Notification,
        now: Timestamp,
    ) -> Result<SendOutcome, Error> {
        let event = match self.event(&notification.event).await {
            Ok(event) => event,
            Err(Error::Unknown { .. }) => return Ok(withdrawn("the event no longer exists")),
            Err(error) => return Err(error),
        };
        if event.status != EventStatus::Confirmed {
            return Ok(withdrawn("the event does not take place"));
        }
        let event_occurrence = self.event_occurrence(event, &notification.occurrence).await?;
        let Some(event_occurrence) = event_occurrence else {
            return Ok(withdrawn("the event does not happen at this time any more"));
        };
        let user = self.user(&notification.user).await?;
        let zone = &user.preferences.zone;
        let missed = self.merged_notifications(&notification, zone).await?;
        if event_occurrence.occurrence.ends_at <= now
            && missed.is_empty()
            && notification.due_at < event_occurrence.occurrence.ends_at
        {
            return Ok(withdrawn("the event was over before this could be sent"));
        }
        match blocked_by(&user.preferences, notification.channel, now) {
            Some(Blocked::Quiet(until)) => return Ok(SendOutcome::Held(until)),
            Some(Blocked::Weekend) => return Ok(withdrawn("the user does not want it at the weekend")),
            None => {}
        }
        if is_overdue(&notification, now) {
            notification.wording.subject = dated(&event_occurrence.event, &event_occurrence.occurrence, zone);
        }
        let text = format!("{}{}", notification.wording.text, digest_text(&missed));
        let message = OutgoingMessage { notification: &notification, user: &user, text };
        Ok(deliver(senders, &message).await)
    }
}

/// Hands a message to its channel.
pub(super) async fn deliver(senders: &Senders, message: &OutgoingMessage<'_>) -> SendOutcome {
    let OutgoingMessage { notification, user, text } = message;
    let id = notification.id.as_str();
    match notification.channel {
        Channel::Email => {
            let subject = &notification.wording.subject;
            email::send(&senders.mail, &email::Mail { id, user, subject, text }).await
        }
        Channel::Call => phone_call::send(senders, message).await,
        Channel::Webhook => {
            let body = json!({
                "id": id,
                "user_id": notification.user.as_str(),
                "event_id": notification.event.as_str(),
                "urgency": notification.urgency.name(),
                "subject": notification.wording.subject,
                "text": text,
            });
            webhook::send(senders.http.as_ref(), user, id, &body).await
        }
        Channel::Popup | Channel::Desktop | Channel::Ntfy => {
            let topic = user.preferences.ntfy_topic.clone();
            let mut presented = Presented { notification: (*notification).clone(), topic };
            presented.notification.wording.text.clone_from(text);
            (senders.present)(presented).await
        }
    }
}

fn withdrawn(why: &str) -> SendOutcome {
    SendOutcome::Withdrawn(why.to_owned())
}
