//! Notifications on channels of other domains: questions of the Inbox, the desktop and ntfy. An answered question
//! acknowledges its notification.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio_util::task::TaskTracker;

use super::App;
use adjutant_assistant::dispatch::{PresentFn, Presented, SendOutcome};
use adjutant_assistant::notification::{Channel, Urgency};
use adjutant_assistant::{Assistant, Error, Notification, NotificationId, User};
use adjutant_base::config::channels::NtfyConfig;
use adjutant_net::channels::{self, Desktop, Message, Ntfy};
use adjutant_questions::{Asker, Choice, DecidedBy, Draft, Field, Input, Question, Ticket};

/// The longest single wait for the user's answer, which is then repeated.
const WAIT_TIMEOUT: Duration = Duration::from_mins(10);

/// The asker of these questions.
const ASKER: &str = "adjutant:assistant";
pub(super) const CLIENT: &str = "Assistant";

/// Questions of one page.
const PAGE_SIZE: u32 = 200;

/// How long a notification stays in the Inbox.
const QUESTION_TIMEOUT: Duration = Duration::from_hours(4);

impl App {
    /// Sends a test message to a user through a channel, and returns the outcome.
    pub async fn test_channel(self: &Arc<Self>, user: &User, channel: Channel) -> Result<SendOutcome, Error> {
        let app = self.clone();
        let present: PresentFn = Arc::new(move |presented| {
            present(app.clone(), Desktop::default(), TaskTracker::new(), presented).boxed()
        });
        let delivery = self.config.delivery.clone();
        Assistant::send_test(delivery, present, user, channel, jiff::Timestamp::now()).await
    }

    /// Sends what the assistant has planned until shutdown.
    pub async fn send_notifications(self: Arc<Self>) {
        let waiting = TaskTracker::new();
        let (app, waits) = (self.clone(), waiting.clone());
        // One value for all notifications, because it knows which of its calls hang.
        let desktop = Desktop::default();
        resume_waiting(&self, &waiting).await;
        let present: PresentFn = Arc::new(move |presented| {
            present(app.clone(), desktop.clone(), waits.clone(), presented).boxed()
        });
        self.assistant.run_dispatch(self.config.delivery.clone(), present, self.shutdown.clone()).await;
        waiting.close();
        waiting.wait().await;
    }
}

async fn present(app: Arc<App>, desktop: Desktop, waiting: TaskTracker, presented: Presented) -> SendOutcome {
    let Presented { notification, topic } = presented;
    let notice = Message {
        key: notification.id.as_str().to_owned(),
        title: notification.wording.subject.clone(),
        body: notification.wording.text.clone(),
        urgent: notification.urgency == Urgency::Urgent,
        link: None,
        actions: Vec::new(),
    };
    let channels = &app.config.channels;
    match notification.channel {
        Channel::Popup => ask(app, waiting, notification).await,
        Channel::Desktop if !channels.desktop => {
            SendOutcome::Simulated("the desktop's notifications are switched off".to_owned())
        }
        Channel::Desktop => notice_outcome(desktop.show(&notice).await),
        Channel::Ntfy => {
            let Some(phone) = channels.ntfy.clone() else {
                return SendOutcome::Simulated("no ntfy topic is configured".to_owned());
            };
            let topic = topic.unwrap_or_else(|| phone.topic.clone());
            match Ntfy::new(NtfyConfig { topic, ..phone }) {
                Ok(ntfy) => notice_outcome(ntfy.show(&notice).await),
                Err(error) => SendOutcome::Rejected(error.to_string()),
            }
        }
        Channel::Email | Channel::Call | Channel::Webhook => {
            SendOutcome::Rejected("the assistant itself sends on this channel".to_owned())
        }
    }
}

/// Returns the outcome of a notice.
fn notice_outcome(result: Result<(), channels::Error>) -> SendOutcome {
    match result {
        Ok(()) => SendOutcome::Sent("shown".to_owned()),
        Err(
            error @ (channels::Error::TimedOut
            | channels::Error::Busy
            | channels::Error::Rejected(_)
            | channels::Error::Unreachable(_)),
        ) => SendOutcome::Failed(error.to_string()),
        Err(error @ channels::Error::Status(status)) if status == 429 || status >= 500 => {
            SendOutcome::Failed(error.to_string())
        }
        Err(error @ (channels::Error::NoService(_) | channels::Error::Status(_))) => {
            SendOutcome::Rejected(error.to_string())
        }
    }
}

/// Asks the user in the Inbox whether they have seen a notification.
async fn ask(app: Arc<App>, waiting: TaskTracker, notification: Notification) -> SendOutcome {
    let asker = Asker { key: ASKER.to_owned(), client: CLIENT.to_owned(), ..Asker::default() };
    // The option's value says which notification it is about, also to a later hub.
    let seen = Choice { label: "Seen".to_owned(), value: notification.id.as_str().to_owned() };
    let input = Input::Choice { options: vec![seen], min: 1, max: 1, other: false, list: false };
    // The calendar of a user is not for others who log in.
    let addressee = match app.assistant.has_logins().await {
        Ok(false) => String::new(),
        Ok(true) | Err(_) => notification.user.as_str().to_owned(),
    };
    let draft = Draft {
        title: notification.wording.subject.clone(),
        message: notification.wording.text.clone(),
        fields: vec![Field::new("answer", input)],
        timeout: Some(QUESTION_TIMEOUT),
        addressee,
        ..Draft::default()
    };
    match app.questions.ask(asker, draft).await {
        Ok(question) => {
            waiting.spawn(await_acknowledgement(app, question.ticket.clone(), notification.id.clone()));
            SendOutcome::Sent(format!("in the Inbox as {}", question.ticket))
        }
        Err(error) => SendOutcome::Failed(format!("the Inbox rejected it: {error}")),
    }
}

/// Waits again for the questions that the last hub asked, and reads the answers that came after it ended.
async fn resume_waiting(app: &Arc<App>, waiting: &TaskTracker) {
    let mut found = match app.questions.undelivered(ASKER, PAGE_SIZE).await {
        Ok(questions) => questions,
        Err(error) => return tracing::error!(%error, "acknowledgements of the last hub cannot be read"),
    };
    let mut after = None;
    loop {
        let page = match app.questions.pending(after, PAGE_SIZE).await {
            Ok(page) => page.questions,
            Err(error) => return tracing::error!(%error, "the questions cannot be read"),
        };
        let Some(last) = page.last() else { break };
        after = Some(last.seq);
        found.extend(page.into_iter().filter(|question| question.client == CLIENT));
    }
    for question in found {
        // Another client may bear the name; the key is the hub's own word.
        let Ok(question) = app.questions.get_as(ASKER, &question.ticket).await else { continue };
        if let Some(id) = notification_of(&question) {
            waiting.spawn(await_acknowledgement(app.clone(), question.ticket, id));
        }
    }
}

/// Returns the notification that a question of this module is about.
fn notification_of(question: &Question) -> Option<NotificationId> {
    match &question.fields.first()?.input {
        Input::Choice { options, .. } => NotificationId::parse(&options.first()?.value),
        Input::Text { .. } | Input::Number { .. } | Input::Date { .. } | Input::YesNo => None,
    }
}

/// Waits for the user; any answer to the question acknowledges the notification.
async fn await_acknowledgement(app: Arc<App>, ticket: Ticket, id: NotificationId) {
    loop {
        let waited = app.shutdown.run_until_cancelled(app.questions.wait(&ticket, WAIT_TIMEOUT)).await;
        let Some(Ok(state)) = waited else { return };
        let Some(outcome) = state.outcome() else { continue };
        if outcome.by == DecidedBy::User {
            let now = jiff::Timestamp::now();
            if let Err(error) = app.assistant.acknowledge(&id, "user at the Inbox", now).await {
                tracing::warn!(notification.id = %id, %error, "an acknowledgement was lost");
            }
        }
        app.questions.mark_delivered(ASKER, &ticket).await;
        return;
    }
}
