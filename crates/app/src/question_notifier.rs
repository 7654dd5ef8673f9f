//! Notices of pending questions on the desktop, and on a phone where one is configured. A question that names users notifies
//! them by their own channels instead ([`asked_users`]).
//!
//! A question never waits for a notice, and no channel waits for another. The desktop has one notice for all pending
//! questions. A phone gets one for each question, with buttons where the question has few enough options and is not
//! marked `high`. After a restart of the hub the desktop's notice is shown again; a phone is not notified a second
//! time, and its old buttons still work.

mod asked_users;
mod desktop;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::App;
use adjutant_base::events::{Event, wait_for};
use adjutant_base::text::{escape_invisible, hex};
use adjutant_base::trace_context::scope;
use adjutant_net::channels::{self, Action, Desktop, MAX_ACTIONS, Message, Ntfy};
use adjutant_questions::{
    Answer, Availability, Channel, Field, FieldValue, Input, Level, Proof, Question, Questions, State, Ticket,
};
use asked_users::AskedUsers;

/// A question that is seen or decided within this time does not ring.
const GRACE_PERIOD: Duration = Duration::from_millis(700);

/// How often the Inbox is read at most to withdraw notices, because each reading takes as long as many questions.
const WITHDRAW_INTERVAL: Duration = Duration::from_millis(50);

/// The newest questions, which are read; of more only the number counts.
const MAX_QUESTIONS: u32 = 100;

/// Questions that ring a phone one by one; more at once are one notice.
const MAX_SINGLE_NOTICES: usize = 3;

/// How long the withdrawal of the notice may take when the hub stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// Presses that wait to be read.
const PRESS_QUEUE_SIZE: usize = 16;

/// The key of the desktop's one notice.
const NOTICE_KEY: &str = "questions";

/// State of the notices about the questions of the Inbox.
struct Notifier {
    questions: Arc<Questions>,
    /// The desktop's notice as it should be; `None` without a desktop.
    desktop: Option<watch::Sender<Option<Message>>>,
    phone: Option<Phone>,
    asked: AskedUsers,
    /// Questions that have rung.
    notified: HashSet<Ticket>,
    /// Those of them that rang at the desktop and the phone of the owner.
    of_owner: HashSet<Ticket>,
    /// Questions that were snoozed: they ring again when their snooze ends, though they were seen.
    snoozed: HashSet<Ticket>,
    /// The question that the desktop's notice names.
    named: Option<Ticket>,
}

/// A button of a notice: the question with the number of requests that the notice was for, and the answer.
type Button = (Ticket, u32, Answer);

/// A phone, and what pressing one of its buttons means.
struct Phone {
    ntfy: Ntfy,
    /// The key of the nonces, the same after every restart of the hub.
    key: String,
    buttons: HashMap<String, Button>,
    /// Questions that a button answered once. They get no buttons again if that answer is undone, because anybody could
    /// repeat what was posted before.
    spent: HashSet<Ticket>,
}

impl App {
    /// Rings for new questions, on the desktop and on the phone, until shutdown.
    pub async fn run_notifier(self: Arc<Self>) {
        let channels = &self.config.channels;
        let mut notifier = Notifier {
            questions: self.questions.clone(),
            desktop: None,
            phone: None,
            asked: AskedUsers::new(self.clone()),
            notified: HashSet::new(),
            of_owner: HashSet::new(),
            snoozed: HashSet::new(),
            named: None,
        };
        if let Some(phone) = channels.ntfy.clone() {
            notifier.phone = Phone::new(phone, &self.questions).await;
        }
        let showing = channels.desktop.then(|| {
            let (wanted, wanted_changes) = watch::channel(None);
            notifier.desktop = Some(wanted);
            AbortOnDropHandle::new(tokio::spawn(desktop::show(Desktop::default(), wanted_changes)))
        });
        let (send, mut presses) = mpsc::channel(PRESS_QUEUE_SIZE);
        let listener = notifier.phone.as_ref().map(|phone| {
            let (ntfy, stop) = (phone.ntfy.clone(), self.shutdown.clone());
            tokio::spawn(async move { ntfy.listen(send, stop).await })
        });
        let mut events = self.events.subscribe();
        // The questions that the last hub left are read without an event.
        let mut ring_at = Some(Instant::now() + GRACE_PERIOD);
        let mut withdraw_at = None;
        let mut updated = Instant::now();
        loop {
            let due = async {
                match [ring_at, withdraw_at].into_iter().flatten().min() {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.shutdown.cancelled() => break,
                Some(nonce) = presses.recv() => notifier.pressed(&nonce).await,
                () = due => {
                    updated = Instant::now();
                    withdraw_at = None;
                    let rings = ring_at.take_if(|at| *at <= updated).is_some();
                    notifier.update(if rings { Alert::Sound } else { Alert::Silent }).await;
                }
                open = wait_for(&mut events, Event::QuestionsChanged) => {
                    if !open {
                        break;
                    }
                    // A decided question is withdrawn at once; a new one may be seen before it has to ring.
                    if notifier.has_notices() {
                        withdraw_at = withdraw_at.or(Some(updated + WITHDRAW_INTERVAL));
                    }
                    ring_at = ring_at.or(Some(Instant::now() + GRACE_PERIOD));
                }
            }
        }
        if let Some(listener) = listener {
            let _ = listener.await;
        }
        notifier.clear_desktop();
        let Notifier { desktop, asked, .. } = notifier;
        // Dropping the sender ends the task after its last notice.
        drop(desktop);
        asked.finish(SHUTDOWN_TIMEOUT).await;
        if let Some(showing) = showing {
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, showing).await;
        }
    }
}

/// Whether an update may ring.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alert {
    Sound,
    Silent,
}

impl Notifier {
    /// Returns whether a decision may end a notice, its buttons or a snooze.
    fn has_notices(&self) -> bool {
        let has_buttons = self.phone.as_ref().is_some_and(|phone| !phone.buttons.is_empty());
        let is_shown = self.desktop.is_some() && !self.of_owner.is_empty();
        has_buttons || is_shown || !self.snoozed.is_empty()
    }

    /// Reads the Inbox, withdraws the notices of decided questions, and rings for new ones.
    async fn update(&mut self, alert: Alert) {
        let page = match self.questions.newest(MAX_QUESTIONS).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, "the Inbox cannot be read");
                return;
            }
        };
        let pending: HashSet<&Ticket> = page.questions.iter().map(|question| &question.ticket).collect();
        // If there are more questions, those that are not in the page are pending too.
        if page.total <= u64::from(MAX_QUESTIONS) {
            self.notified.retain(|ticket| pending.contains(ticket));
            self.of_owner.retain(|ticket| pending.contains(ticket));
            self.snoozed.retain(|ticket| pending.contains(ticket));
            if let Some(phone) = &mut self.phone {
                phone.buttons.retain(|_, (ticket, ..)| pending.contains(ticket));
            }
        }
        let snoozed = page.questions.iter().filter(|question| question.snoozed_until.is_some());
        self.snoozed.extend(snoozed.map(|question| question.ticket.clone()));
        if self.named.as_ref().is_some_and(|named| !pending.contains(named)) {
            // The notice names a decided question: the newest of the others that rang takes its place without a sound.
            let rest = page.questions.iter().rev().find(|question| self.of_owner.contains(&question.ticket));
            match rest {
                Some(rest) => self.notify_desktop(rest, page.total),
                None => self.clear_desktop(),
            }
        }
        if alert == Alert::Silent || !matches!(self.questions.availability().await, Ok(Availability::Here)) {
            return;
        }
        let is_fresh = |question: &&Question| {
            let new = question.seen_at.is_none() && !self.notified.contains(&question.ticket);
            question.state == State::Pending
                && question.snoozed_until.is_none()
                && (new || self.snoozed.contains(&question.ticket))
        };
        let fresh: Vec<Question> = page.questions.iter().filter(is_fresh).cloned().collect();
        self.snoozed.retain(|ticket| fresh.iter().all(|question| question.ticket != *ticket));
        self.notified.extend(fresh.iter().map(|question| question.ticket.clone()));
        let for_owner = self.asked.ring(&fresh).await;
        let Some(newest) = for_owner.last() else { return };
        self.of_owner.extend(for_owner.iter().map(|question| question.ticket.clone()));
        self.notify_desktop(newest, page.total);
        if let Some(phone) = &mut self.phone {
            phone.ring(&self.questions, &for_owner).await;
        }
    }

    fn notify_desktop(&mut self, newest: &Question, total: u64) {
        let Some(desktop) = &self.desktop else { return };
        let title = match total {
            0 | 1 => format!("{} asks", asker(newest)),
            total => format!("{total} questions wait, the newest from {}", asker(newest)),
        };
        let body = format!(
            "{}\nAnswer in the console, or with: adjutant inbox",
            escape_invisible::escape_line(&newest.title)
        );
        desktop.send_replace(Some(Message {
            key: NOTICE_KEY.to_owned(),
            title,
            body,
            urgent: newest.level == Level::High,
            link: None,
            actions: Vec::new(),
        }));
        self.named = Some(newest.ticket.clone());
    }

    /// Withdraws the notice of the desktop.
    fn clear_desktop(&mut self) {
        self.named = None;
        if let Some(desktop) = &self.desktop {
            desktop.send_if_modified(|wanted| wanted.take().is_some());
        }
    }

    /// Answers a question by the nonce of a pressed button. A nonce counts once, and with it go the other buttons of
    /// its question.
    async fn pressed(&mut self, nonce: &str) {
        let pressed = self.phone.as_mut().and_then(|phone| phone.take_button(nonce.trim()));
        let Some((ticket, shown, answer)) = pressed else {
            tracing::warn!("an answer of a phone was refused: it is unknown, or was used before");
            return;
        };
        let shown = (&ticket, shown);
        match self.questions.answer(shown, Proof::Interface, answer, None, Channel::Phone).await {
            Ok(_) => tracing::info!(%ticket, "answered on the phone"),
            Err(error) => tracing::info!(%ticket, %error, "an answer of a phone was refused"),
        }
    }
}

impl Phone {
    /// Returns a phone with the buttons that an earlier hub gave it; `None` where it cannot be used.
    async fn new(
        settings: adjutant_base::config::channels::NtfyConfig,
        questions: &Questions,
    ) -> Option<Self> {
        let unusable =
            |error: &dyn std::fmt::Display| tracing::warn!(%error, "the ntfy channel cannot be used");
        let ntfy = Ntfy::new(settings).inspect_err(|error| unusable(error)).ok()?;
        let key = questions.phone_key().await.inspect_err(|error| unusable(error)).ok()?;
        let mut phone = Self { ntfy, key, buttons: HashMap::new(), spent: HashSet::new() };
        let page = questions.newest(MAX_QUESTIONS).await.inspect_err(|error| unusable(error)).ok()?;
        for question in &page.questions {
            phone.make_buttons(question);
        }
        Some(phone)
    }

    /// Takes a button, and all others of its question with it.
    fn take_button(&mut self, nonce: &str) -> Option<Button> {
        let pressed = self.buttons.get(nonce).cloned()?;
        self.buttons.retain(|_, (other, ..)| *other != pressed.0);
        self.spent.insert(pressed.0.clone());
        Some(pressed)
    }

    /// Makes the buttons of a question, where it has any.
    fn make_buttons(&mut self, question: &Question) -> Vec<Action> {
        let ticket = &question.ticket;
        let mut actions = Vec::new();
        // A user who reads a part of an approval would allow the rest unread.
        let is_whole = !question.redacted && self.ntfy.shows_whole(&question.message);
        let is_hidden = !question.denials.is_empty() && !is_whole;
        if !self.ntfy.takes_actions() || self.spent.contains(ticket) || is_hidden {
            return actions;
        }
        for (at, (label, given)) in buttons(question).into_iter().enumerate() {
            let Some(field) = question.fields.first() else { continue };
            let nonce = nonce(&self.key, (ticket, question.deliveries), at);
            let answer = Answer::one(&field.name, given);
            self.buttons.insert(nonce.clone(), (ticket.clone(), question.deliveries, answer));
            actions.push(Action { label, nonce });
        }
        actions
    }

    async fn ring(&mut self, questions: &Questions, fresh: &[Question]) {
        let mut new = Vec::new();
        for question in fresh {
            match questions.claim_ring(&question.ticket, Channel::Phone.name(), None).await {
                Ok(true) => new.push(question),
                // Another hub rang for it, which may end before the user presses a button.
                Ok(false) => drop(self.make_buttons(question)),
                Err(error) => tracing::warn!(%error, "what rang cannot be read"),
            }
        }
        if new.len() > MAX_SINGLE_NOTICES {
            let title = format!("{} questions wait for you", new.len());
            log_failure(
                self.ntfy.show(&Message { key: NOTICE_KEY.to_owned(), title, ..Message::default() }).await,
            );
            return;
        }
        for question in new {
            let notice = Message {
                key: question.ticket.to_string(),
                title: format!(
                    "{} asks: {}",
                    asker(question),
                    escape_invisible::escape_line(&question.title)
                ),
                body: if self.ntfy.takes_bodies() { question.message.clone() } else { String::new() },
                urgent: question.level == Level::High,
                link: None,
                actions: self.make_buttons(question),
            };
            log_failure(scope(questions.trace_of(&question.ticket), self.ntfy.show(&notice)).await);
        }
    }
}

fn log_failure(result: Result<(), channels::Error>) {
    if let Err(error) = result {
        tracing::warn!(%error, "the phone could not be notified");
    }
}

/// Returns the client's name with the end of its folder's path.
fn asker(question: &Question) -> String {
    let name = if question.client.is_empty() { "an agent" } else { &question.client };
    escape_invisible::escape_line(&format!("{name}{}", question.short_place()))
}

/// Returns the options that fit on buttons: few enough, of one choice, and nothing that needs a passphrase.
fn buttons(question: &Question) -> Vec<(String, FieldValue)> {
    let [Field { input, .. }] = &question.fields[..] else { return Vec::new() };
    if question.level == Level::High {
        return Vec::new();
    }
    match input {
        Input::Choice { options, max: 1, .. } => {
            let denies = |option: &&adjutant_questions::Choice| question.denials.contains(&option.value);
            let shown: Vec<_> = if options.len() <= MAX_ACTIONS {
                options.iter().collect()
            } else if let Some(deny) = options.iter().find(denies) {
                // The first option of an approval allows the least.
                options.iter().take(1).chain([deny]).collect()
            } else {
                Vec::new()
            };
            let button = |option: &adjutant_questions::Choice| {
                (option.label.clone(), FieldValue::Choices(vec![option.value.clone()]))
            };
            shown.into_iter().map(button).collect()
        }
        Input::YesNo => {
            vec![("Yes".to_owned(), FieldValue::YesNo(true)), ("No".to_owned(), FieldValue::YesNo(false))]
        }
        _ => Vec::new(),
    }
}

/// Returns 128 bits as text that nobody can guess without the key, one for each button of a question with so many requests.
fn nonce(key: &str, (ticket, requests): (&Ticket, u32), button: usize) -> String {
    hex::sha256(format!("adjutant phone button\n{key}\n{ticket}\n{requests}\n{button}"))[..32].to_owned()
}
