//! Notices to a user of a pending question, by the channels that the assistant owns. A notice has no state: the question is in
//! the Inbox in any case.

use std::time::Duration;

use serde_json::json;

use super::email::{self, Mailer};
use super::message::SendOutcome;
use super::senders::http_client;
use super::webhook;
use crate::User;
use crate::notification::Channel;
use crate::user::ChannelPreference;
use adjutant_base::config::notification_delivery::Delivery;

/// How long one notice may take.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(30);

/// A notice of a question.
#[derive(Clone, Debug)]
pub struct QuestionNotice {
    /// The same for each attempt, so that the other side sees a second one as the same.
    pub id: String,
    /// One line: who asks, and what.
    pub subject: String,
    pub urgent: bool,
    /// The address of the page that answers, if other machines reach it.
    pub link: Option<String>,
}

/// The senders of the channels of users.
pub struct QuestionSenders {
    mail: Mailer,
    http: Option<reqwest::Client>,
}

impl QuestionSenders {
    /// Makes the senders of a configuration. Connects to nothing yet.
    pub fn new(delivery: &Delivery) -> Self {
        let http = http_client().inspect_err(|error| tracing::error!(%error, "no HTTP client")).ok();
        Self { mail: Mailer::new(delivery), http }
    }

    /// Returns the channels by which the user gets notices: mail if the user prefers it and this hub sends mails, and the
    /// webhook. A call is for what is about to begin, and a question may wait.
    pub fn channels(&self, user: &User) -> Vec<Channel> {
        let prefers_mail =
            matches!(user.preferences.channels, ChannelPreference::Email | ChannelPreference::Both);
        let mail = prefers_mail && user.has_address(Channel::Email) && self.mail.is_configured();
        let webhook = user.has_address(Channel::Webhook) && self.http.is_some();
        [(mail, Channel::Email), (webhook, Channel::Webhook)]
            .into_iter()
            .filter_map(|(has, channel)| has.then_some(channel))
            .collect()
    }

    /// Sends a notice by one of [`Self::channels`].
    pub async fn send(&self, channel: Channel, user: &User, notice: &QuestionNotice) -> SendOutcome {
        let QuestionNotice { id, subject, urgent, link } = notice;
        let send = async {
            match channel {
                Channel::Email => {
                    let place = link.as_deref().unwrap_or("the Inbox");
                    let text = format!("{subject}\r\n\r\nAnswer in {place}.");
                    email::send(&self.mail, &email::Mail { id, user, subject, text: &text }).await
                }
                Channel::Webhook => {
                    let urgency = if *urgent { "high" } else { "normal" };
                    let body = json!({
                        "id": id,
                        "user_id": user.id.as_str(),
                        "urgency": urgency,
                        "subject": subject,
                        "link": link,
                    });
                    webhook::send(self.http.as_ref(), user, id, &body).await
                }
                Channel::Call | Channel::Popup | Channel::Desktop | Channel::Ntfy => {
                    SendOutcome::Rejected(format!("{} is no channel for questions", channel.name()))
                }
            }
        };
        tokio::time::timeout(NOTICE_TIMEOUT, send).await.unwrap_or_else(|_| {
            SendOutcome::Failed(format!("it took longer than {} s", NOTICE_TIMEOUT.as_secs()))
        })
    }
}
