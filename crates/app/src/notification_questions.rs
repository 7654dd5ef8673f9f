//! What the assistant wants shown becomes a popup; who answers it has acknowledged it.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio_util::task::TaskTracker;

use super::App;
use crate::assistant::dispatch::{Outcome, Show, Shown};
use crate::assistant::notification::{Channel, Urgency};
use crate::assistant::{Notification, NotificationId};
use crate::channels::{self, Desktop, Notice, Ntfy};
use crate::config::channels::Phone;
use crate::popups::{Asker, By, Choice, Draft, Field, Input, Question, Ticket};

/// How long one wait for the person's answer lasts; then it is waited again.
const PATIENCE: Duration = Duration::from_mins(10);

/// Who asks the person whether they have seen it.
const ASKER: &str = "adjutant:assistant";
const CLIENT: &str = "Assistant";

/// Questions of one page.
const PAGE: u32 = 200;

/// How long a notification stays on the desk.
const STAYS: Duration = Duration::from_hours(4);

impl App {
    /// Sends what the assistant has planned until shutdown.
    pub(crate) async fn send_notifications(self: Arc<Self>) {
        let waiting = TaskTracker::new();
        let (app, waits) = (self.clone(), waiting.clone());
        // One for all: it knows which of its calls hang.
        let desktop = Desktop::default();
        watch_again(&self, &waiting).await;
        let show: Show =
            Arc::new(move |shown| show(app.clone(), desktop.clone(), waits.clone(), shown).boxed());
        self.assistant.work(self.config.delivery.clone(), show, self.shutdown.clone()).await;
        waiting.close();
        waiting.wait().await;
    }
}

async fn show(app: Arc<App>, desktop: Desktop, waiting: TaskTracker, shown: Shown) -> Outcome {
    let Shown { notification, topic } = shown;
    let notice = Notice {
        key: notification.id.as_str().to_owned(),
        title: notification.wording.subject.clone(),
        body: notification.wording.text.clone(),
        urgent: notification.urgency == Urgency::Urgent,
        actions: Vec::new(),
    };
    let channels = &app.config.channels;
    match notification.channel {
        Channel::Popup => popup(app, waiting, notification).await,
        Channel::Desktop if !channels.desktop => {
            Outcome::Simulated("the desktop's notifications are switched off".to_owned())
        }
        Channel::Desktop => carried(desktop.show(&notice).await),
        Channel::Ntfy => {
            let Some(phone) = channels.phone.clone() else {
                return Outcome::Simulated("no phone is configured".to_owned());
            };
            let topic = topic.unwrap_or_else(|| phone.topic.clone());
            match Ntfy::new(Phone { topic, ..phone }) {
                Ok(ntfy) => carried(ntfy.show(&notice).await),
                Err(error) => Outcome::Refused(error.to_string()),
            }
        }
        Channel::Email | Channel::Call | Channel::Webhook => {
            Outcome::Refused("this way is the assistant's own".to_owned())
        }
    }
}

/// What became of a notice.
fn carried(result: Result<(), channels::Error>) -> Outcome {
    match result {
        Ok(()) => Outcome::Sent("shown".to_owned()),
        Err(
            error @ (channels::Error::Slow
            | channels::Error::Stuck
            | channels::Error::NotTaken(_)
            | channels::Error::Unreachable(_)),
        ) => Outcome::Failed(error.to_string()),
        Err(error @ channels::Error::Refused(status)) if status == 429 || status >= 500 => {
            Outcome::Failed(error.to_string())
        }
        Err(error @ (channels::Error::NoService(_) | channels::Error::Refused(_))) => {
            Outcome::Refused(error.to_string())
        }
    }
}

/// Puts a notification on the desk.
async fn popup(app: Arc<App>, waiting: TaskTracker, notification: Notification) -> Outcome {
    let asker = Asker { key: ASKER.to_owned(), client: CLIENT.to_owned(), ..Asker::default() };
    // The option's value says which notification it is about, also to a later hub.
    let seen = Choice { label: "Seen".to_owned(), value: notification.id.as_str().to_owned() };
    let draft = Draft {
        title: notification.wording.subject.clone(),
        message: notification.wording.text.clone(),
        fields: vec![Field {
            name: "answer".to_owned(),
            label: String::new(),
            description: String::new(),
            required: true,
            input: Input::Choice { options: vec![seen], min: 1, max: 1, other: false, list: false },
        }],
        timeout: Some(STAYS),
        ..Draft::default()
    };
    match app.popups.ask(asker, draft).await {
        Ok(on_desk) => {
            waiting.spawn(acknowledged(app, on_desk.ticket.clone(), notification.id.clone()));
            Outcome::Sent(format!("on the desk as {}", on_desk.ticket))
        }
        Err(error) => Outcome::Failed(format!("the desk did not take it: {error}")),
    }
}

/// Waits again for what the last hub had put on the desk, and hears what was answered when it went away.
async fn watch_again(app: &Arc<App>, waiting: &TaskTracker) {
    let mut found = match app.popups.undelivered(ASKER, PAGE).await {
        Ok(questions) => questions,
        Err(error) => return tracing::error!(%error, "acknowledgements of the last hub cannot be read"),
    };
    let mut after = None;
    loop {
        let page = match app.popups.pending(after, PAGE).await {
            Ok(page) => page.questions,
            Err(error) => return tracing::error!(%error, "the questions cannot be read"),
        };
        let Some(last) = page.last() else { break };
        after = Some(last.seq);
        found.extend(page.into_iter().filter(|question| question.client == CLIENT));
    }
    for question in found {
        // Another client may bear the name; the key is the hub's own word.
        let Ok(question) = app.popups.get_as(ASKER, &question.ticket).await else { continue };
        if let Some(id) = about(&question) {
            waiting.spawn(acknowledged(app.clone(), question.ticket, id));
        }
    }
}

/// The notification that one of our questions is about.
fn about(question: &Question) -> Option<NotificationId> {
    match &question.fields.first()?.input {
        Input::Choice { options, .. } => NotificationId::parse(&options.first()?.value),
        Input::Text { .. } | Input::Number { .. } | Input::Date { .. } | Input::YesNo => None,
    }
}

/// Waits for the person; whatever they say to the popup, they have seen it.
async fn acknowledged(app: Arc<App>, ticket: Ticket, id: NotificationId) {
    loop {
        let waited = app.shutdown.run_until_cancelled(app.popups.wait(&ticket, PATIENCE)).await;
        let Some(Ok(state)) = waited else { return };
        let Some(outcome) = state.outcome() else { continue };
        if outcome.by == By::Person {
            let now = jiff::Timestamp::now();
            if let Err(error) = app.assistant.acknowledge(&id, "person at the desk", now).await {
                tracing::warn!(notification.id = %id, %error, "an acknowledgement was lost");
            }
        }
        app.popups.delivered(ASKER, &ticket).await;
        return;
    }
}
