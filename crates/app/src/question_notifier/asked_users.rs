//! Notices of questions for the users who are asked, by the channels of each of them. They have no buttons, because a button
//! answers for the owner of the hub.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::{MAX_SINGLE_NOTICES, NOTICE_KEY, asker};
use crate::App;
use crate::notification_questions::CLIENT;
use adjutant_assistant::dispatch::{QuestionNotice, QuestionSenders, SendOutcome};
use adjutant_assistant::ids::UserId;
use adjutant_assistant::notification::Channel;
use adjutant_assistant::{Error, User};
use adjutant_base::config::channels::NtfyConfig;
use adjutant_base::text::escape_invisible;
use adjutant_base::trace_context::scope;
use adjutant_net::channels::{Message, Ntfy};
use adjutant_questions::{Level, Question};

/// Users that are notified at the same time; each notice has a timeout.
const MAX_CONCURRENT_SENDS: usize = 32;

/// The name of a phone in the history of a question.
const PHONE: &str = "phone";

/// The users whom questions name, and the senders of their channels.
pub(super) struct AskedUsers {
    app: Arc<App>,
    senders: Arc<QuestionSenders>,
    sends: JoinSet<()>,
}

impl AskedUsers {
    pub(super) fn new(app: Arc<App>) -> Self {
        let senders = Arc::new(QuestionSenders::new(&app.config.delivery));
        Self { app, senders, sends: JoinSet::new() }
    }

    /// Starts to notify the users whom these questions name. Returns the questions for the owner of the hub: those that name
    /// nobody, and those that name only users without any channel, because nobody else would be notified of them.
    pub(super) async fn ring(&mut self, fresh: &[Question]) -> Vec<Question> {
        let mut for_owner = Vec::new();
        let mut by_channel: BTreeMap<(String, &'static str), (User, Channel, Vec<Question>)> =
            BTreeMap::new();
        for question in fresh {
            let mut has_channel = false;
            for user in self.named(&question.addressee).await {
                for channel in self.channels(&user, question) {
                    has_channel = true;
                    let key = (user.id.as_str().to_owned(), channel.name());
                    let entry = by_channel.entry(key).or_insert_with(|| (user.clone(), channel, Vec::new()));
                    entry.2.push(question.clone());
                }
            }
            if !has_channel {
                for_owner.push(question.clone());
            }
        }
        for (user, channel, questions) in by_channel.into_values() {
            while self.sends.try_join_next().is_some() {}
            if self.sends.len() >= MAX_CONCURRENT_SENDS {
                self.sends.join_next().await;
            }
            let (app, senders) = (self.app.clone(), self.senders.clone());
            self.sends.spawn(async move { notify(&app, &senders, &user, channel, &questions).await });
        }
        for_owner
    }

    /// Waits for the notices that are being sent.
    pub(super) async fn finish(mut self, timeout: Duration) {
        let ended = async { while self.sends.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(timeout, ended).await;
    }

    /// Returns the users that an addressee names: one, or the members of a group.
    async fn named(&self, addressee: &str) -> Vec<User> {
        let groups = &self.app.config.questions.groups;
        let names = match addressee.strip_prefix('@') {
            Some(group) => groups.get(group).cloned().unwrap_or_default(),
            None => vec![addressee.to_owned()],
        };
        let mut users = Vec::new();
        for id in names.iter().filter_map(|name| UserId::parse(name)) {
            match self.app.assistant.user(&id).await {
                Ok(user) => users.push(user),
                Err(Error::Unknown { .. }) => {}
                Err(error) => tracing::warn!(%error, "a user who is asked cannot be read"),
            }
        }
        users
    }

    /// Returns the channels by which a user is notified of a question.
    fn channels(&self, user: &User, question: &Question) -> Vec<Channel> {
        let has_phone = self.app.config.channels.ntfy.is_some() && user.preferences.ntfy_topic.is_some();
        let phone = has_phone.then_some(Channel::Ntfy);
        // A reminder that the assistant puts into the Inbox is sent by mail and webhook when its plan says so.
        let is_reminder = question.client == CLIENT;
        let others = if is_reminder { Vec::new() } else { self.senders.channels(user) };
        phone.into_iter().chain(others).collect()
    }
}

/// Notifies a user by one channel of the questions that have not rung there before.
async fn notify(app: &App, senders: &QuestionSenders, user: &User, channel: Channel, questions: &[Question]) {
    let name = if channel == Channel::Ntfy { PHONE } else { channel.name() };
    let mut new = Vec::new();
    for question in questions {
        match app.questions.claim_ring(&question.ticket, name, Some(user.id.as_str())).await {
            Ok(true) => new.push(question),
            // Another hub rang for it.
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "what rang cannot be read"),
        }
    }
    if new.len() > MAX_SINGLE_NOTICES {
        let notice = QuestionNotice {
            id: new.first().map(|question| question.ticket.to_string()).unwrap_or_default(),
            subject: format!("{} questions wait for you", new.len()),
            urgent: new.iter().any(|question| question.level == Level::High),
            link: link(app, "/questions"),
        };
        return send(app, senders, user, channel, NOTICE_KEY, (&notice, "")).await;
    }
    for question in new {
        let notice = QuestionNotice {
            id: question.ticket.to_string(),
            subject: format!("{} asks: {}", asker(question), escape_invisible::escape_line(&question.title)),
            urgent: question.level == Level::High,
            link: link(app, &format!("/questions/{}", question.ticket)),
        };
        let notice = (&notice, &*question.message);
        let sending = send(app, senders, user, channel, question.ticket.as_str(), notice);
        scope(app.questions.trace_of(&question.ticket), sending).await;
    }
}

async fn send(
    app: &App,
    senders: &QuestionSenders,
    user: &User,
    channel: Channel,
    key: &str,
    (notice, body): (&QuestionNotice, &str),
) {
    let outcome = match (channel, &app.config.channels.ntfy, &user.preferences.ntfy_topic) {
        (Channel::Ntfy, Some(server), Some(topic)) => {
            let message = Message {
                key: key.to_owned(),
                title: notice.subject.clone(),
                // The channel leaves it out unless the configuration allows it.
                body: body.to_owned(),
                urgent: notice.urgent,
                link: notice.link.clone(),
                actions: Vec::new(),
            };
            let ntfy = Ntfy::new(NtfyConfig { topic: topic.clone(), reply_topic: None, ..server.clone() });
            let shown = match ntfy {
                Ok(ntfy) => ntfy.show(&message).await,
                Err(error) => Err(error),
            };
            shown.map_err(|error| error.to_string())
        }
        _ => match senders.send(channel, user, notice).await {
            SendOutcome::Sent(_) | SendOutcome::Simulated(_) => Ok(()),
            SendOutcome::Failed(why)
            | SendOutcome::Rejected(why)
            | SendOutcome::Unknown(why)
            | SendOutcome::Withdrawn(why) => Err(why),
            SendOutcome::Held(until) => Err(format!("it is quiet until {until}")),
        },
    };
    if let Err(error) = outcome {
        tracing::warn!(user = user.id.as_str(), channel = channel.name(), %error, "a user could not be notified of a question");
    }
}

/// Returns the address of a page of the console; `None` if only this machine reaches it.
fn link(app: &App, path: &str) -> Option<String> {
    let console = app.listening.console.get().filter(|console| console.starts_with("https://"))?;
    Some(format!("{console}{path}"))
}
