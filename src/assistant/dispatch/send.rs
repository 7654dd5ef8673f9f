//! One send: the event and the preferences are read again, then the channel carries it.

use jiff::Timestamp;

use super::late::{besides, is_late};
use super::{Outcome, Shown, Ways, call, email, web};
use crate::assistant::event::EventStatus;
use crate::assistant::notification::{Channel, Notification};
use crate::assistant::planner::open::{Closed, closed};
use crate::assistant::planner::wording::dated;
use crate::assistant::{Assistant, Error, User};

/// What is sent, with everything that a channel may need of it.
pub(super) struct Letter<'a> {
    pub(super) notification: &'a Notification,
    pub(super) user: &'a User,
    /// What the person is told: the wording, and what was missed before it.
    pub(super) text: String,
}

impl Assistant {
    /// Sends one notification, if it is right to tell it at `now`.
    pub(super) async fn send(
        &self,
        ways: &Ways,
        mut notification: Notification,
        now: Timestamp,
    ) -> Result<Outcome, Error> {
        let event = match self.event(&notification.event).await {
            Ok(event) => event,
            Err(Error::Unknown { .. }) => return Ok(withdrawn("the event is gone")),
            Err(error) => return Err(error),
        };
        if event.status != EventStatus::Confirmed {
            return Ok(withdrawn("the event does not take place"));
        }
        let happening = self.happening(event, &notification.occurrence).await?;
        let Some(happening) = happening else {
            return Ok(withdrawn("the event does not happen at this time any more"));
        };
        let user = self.user(&notification.user).await?;
        let zone = &user.preferences.zone;
        let missed = self.missed_with(&notification, zone).await?;
        if happening.occurrence.ends_at <= now
            && missed.is_empty()
            && notification.due_at < happening.occurrence.ends_at
        {
            return Ok(withdrawn("the event was over before this could be sent"));
        }
        match closed(&user.preferences, notification.channel, now) {
            Some(Closed::Quiet(until)) => return Ok(Outcome::Held(until)),
            Some(Closed::Weekend) => return Ok(withdrawn("the user does not want it at the weekend")),
            None => {}
        }
        if is_late(&notification, now) {
            notification.wording.subject = dated(&happening.event, &happening.occurrence, zone);
        }
        let text = format!("{}{}", notification.wording.text, besides(&missed));
        let letter = Letter { notification: &notification, user: &user, text };
        Ok(match notification.channel {
            Channel::Email => email::send(&ways.mail, &letter).await,
            Channel::Call => call::send(ways, &letter).await,
            Channel::Webhook => web::send(ways.web.as_ref(), &letter).await,
            Channel::Popup | Channel::Desktop | Channel::Ntfy => {
                let topic = user.preferences.ntfy_topic.clone();
                let mut shown = Shown { notification: notification.clone(), topic };
                shown.notification.wording.text.clone_from(&letter.text);
                (ways.show)(shown).await
            }
        })
    }
}

fn withdrawn(why: &str) -> Outcome {
    Outcome::Withdrawn(why.to_owned())
}
