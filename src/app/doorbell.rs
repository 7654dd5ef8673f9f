//! Rings for a person who looks at no screen: what waits on the desk becomes a notice of the desktop, and of a phone
//! where one is set up.
//!
//! The desk never waits for a bell. The desktop has one notice for all that waits; a phone gets one a question, with
//! buttons where the question has few enough options and is not marked `high`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

use super::App;
use crate::channels::{self, Action, Desktop, MOST_ACTIONS, Notice, Ntfy};
use crate::events::Event;
use crate::popups::{
    Answer, Availability, Field, Given, Input, Level, Popups, Presenter, Proof, Question, State, Ticket,
};
use crate::visible;

/// A question that is seen or decided this soon needs no bell.
const GRACE: Duration = Duration::from_millis(700);

/// Questions that are looked at; of more only the number counts.
const LOOKED_AT: u32 = 100;

/// Questions that ring a phone one by one; more at once are one notice.
const FLOOD: usize = 3;

/// Presses that wait to be read.
const PRESSES: usize = 16;

/// The key of the desktop's one notice.
const KEY: &str = "questions";

/// What the bells know of the desk.
struct Bells {
    popups: Popups,
    desktop: Option<Desktop>,
    phone: Option<Ntfy>,
    /// Questions that have rung.
    rung: HashSet<Ticket>,
    /// What a button that was not pressed yet means.
    buttons: HashMap<String, (Ticket, Answer)>,
    /// The desktop's notice is there.
    shown: bool,
    /// The desktop was told to be absent once; later faults are told to the log's patient readers only.
    complained: bool,
}

impl App {
    /// Rings until shutdown.
    pub(crate) async fn ring(self: Arc<Self>) {
        let channels = &self.config.channels;
        let phone = channels.phone.clone().and_then(|phone| {
            Ntfy::new(phone).inspect_err(|error| tracing::warn!(%error, "there is no phone")).ok()
        });
        let mut bells = Bells {
            popups: self.popups.clone(),
            desktop: channels.desktop.then(Desktop::default),
            phone,
            rung: HashSet::new(),
            buttons: HashMap::new(),
            shown: false,
            complained: false,
        };
        if bells.desktop.is_none() && bells.phone.is_none() {
            return;
        }
        let mut events = self.events.subscribe();
        let (send, mut presses) = mpsc::channel(PRESSES);
        let listener = bells.phone.clone().map(|phone| {
            let stop = self.shutdown.clone();
            tokio::spawn(async move { phone.listen(send, stop).await })
        });
        loop {
            let changed = async {
                loop {
                    match events.recv().await {
                        Ok(Event::QuestionsChanged) | Err(RecvError::Lagged(_)) => return true,
                        Ok(_) => {}
                        Err(RecvError::Closed) => return false,
                    }
                }
            };
            tokio::select! {
                () = self.shutdown.cancelled() => break,
                Some(nonce) = presses.recv() => bells.pressed(&nonce).await,
                open = changed => {
                    if !open || self.shutdown.run_until_cancelled(tokio::time::sleep(GRACE)).await.is_none() {
                        break;
                    }
                    bells.look().await;
                }
            }
        }
        if let Some(listener) = listener {
            let _ = listener.await;
        }
        bells.silence().await;
    }
}

impl Bells {
    /// Looks at the desk and rings for what is new.
    async fn look(&mut self) {
        let page = match self.popups.pending(None, LOOKED_AT).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, "the desk cannot be read");
                return;
            }
        };
        let pending: HashSet<&Ticket> = page.questions.iter().map(|question| &question.ticket).collect();
        self.rung.retain(|ticket| pending.contains(ticket));
        self.buttons.retain(|_, (ticket, _)| pending.contains(ticket));
        if page.questions.is_empty() {
            self.silence().await;
            return;
        }
        if !matches!(self.popups.availability().await, Ok(Availability::Here)) {
            return;
        }
        let waits = |question: &&Question| {
            question.state == State::Pending && question.seen_at.is_none() && question.snoozed_until.is_none()
        };
        let fresh: Vec<Question> =
            page.questions.iter().filter(waits).filter(|q| !self.rung.contains(&q.ticket)).cloned().collect();
        let Some(newest) = fresh.last() else { return };
        self.rung.extend(fresh.iter().map(|question| question.ticket.clone()));
        self.ring_desktop(newest, page.total).await;
        if let Some(phone) = self.phone.clone() {
            self.ring_phone(&phone, &fresh).await;
        }
    }

    async fn ring_desktop(&mut self, newest: &Question, total: u64) {
        let Some(desktop) = &self.desktop else { return };
        let title = match total {
            0 | 1 => format!("{} asks", asker(newest)),
            total => format!("{total} questions wait, the newest from {}", asker(newest)),
        };
        let body =
            format!("{}\nAnswer in the console, or with: adjutant inbox", visible::line(&newest.title));
        let notice = Notice {
            key: KEY.to_owned(),
            title,
            body,
            urgent: newest.level == Level::High,
            actions: Vec::new(),
        };
        match desktop.show(&notice).await {
            Ok(()) => self.shown = true,
            Err(error) if self.complained => tracing::debug!(%error, "the desktop was not told"),
            Err(error) => {
                self.complained = true;
                tracing::info!(%error, "the desktop was not told; `[notify] desktop = false` switches this off");
            }
        }
    }

    async fn ring_phone(&mut self, phone: &Ntfy, fresh: &[Question]) {
        if fresh.len() > FLOOD {
            let title = format!("{} questions wait for you", fresh.len());
            told(phone.show(&Notice { key: KEY.to_owned(), title, ..Notice::default() }).await);
            return;
        }
        for question in fresh {
            // A page of pending questions leaves out what a phone may need.
            let Ok(question) = self.popups.get(&question.ticket).await else { continue };
            let mut actions = Vec::new();
            for (label, given) in buttons(&question).into_iter().filter(|_| phone.takes_actions()) {
                let (Some(nonce), Some(field)) = (nonce(), question.fields.first()) else { continue };
                self.buttons
                    .insert(nonce.clone(), (question.ticket.clone(), Answer::one(&field.name, given)));
                actions.push(Action { label, nonce });
            }
            let notice = Notice {
                key: question.ticket.to_string(),
                title: format!("{} asks: {}", asker(&question), visible::line(&question.title)),
                body: if phone.takes_bodies() { question.message.clone() } else { String::new() },
                urgent: question.level == Level::High,
                actions,
            };
            told(phone.show(&notice).await);
        }
    }

    /// A button was pressed: its nonce is good once, and with it go the other buttons of its question.
    async fn pressed(&mut self, nonce: &str) {
        let Some((ticket, answer)) = self.buttons.get(nonce.trim()).cloned() else {
            tracing::warn!("an answer of a phone was refused: it is unknown, or was used before");
            return;
        };
        self.buttons.retain(|_, (other, _)| *other != ticket);
        match self.popups.answer(&ticket, Proof::Door, answer, None, Presenter::Phone).await {
            Ok(_) => tracing::info!(%ticket, "answered on the phone"),
            Err(error) => tracing::info!(%ticket, %error, "an answer of a phone was refused"),
        }
    }

    /// Nothing waits any more.
    async fn silence(&mut self) {
        if let Some(desktop) = self.desktop.as_ref().filter(|_| self.shown) {
            self.shown = false;
            if let Err(error) = desktop.withdraw(KEY).await {
                tracing::debug!(%error, "the desktop's notice stays");
            }
        }
    }
}

fn told(result: Result<(), channels::Error>) {
    if let Err(error) = result {
        tracing::warn!(%error, "the phone was not told");
    }
}

fn asker(question: &Question) -> String {
    let name = visible::line(&question.client);
    if name.is_empty() { "an agent".to_owned() } else { name }
}

/// Returns the options that fit on buttons: few enough, of one choice, and nothing that needs a passphrase.
fn buttons(question: &Question) -> Vec<(String, Given)> {
    let [Field { input, .. }] = &question.fields[..] else { return Vec::new() };
    if question.level == Level::High {
        return Vec::new();
    }
    match input {
        Input::Choice { options, max: 1, .. } if options.len() <= MOST_ACTIONS => {
            let button = |option: &crate::popups::Choice| {
                (option.label.clone(), Given::Choices(vec![option.value.clone()]))
            };
            options.iter().map(button).collect()
        }
        Input::YesNo => vec![("Yes".to_owned(), Given::YesNo(true)), ("No".to_owned(), Given::YesNo(false))],
        _ => Vec::new(),
    }
}

/// Returns 128 random bits as text.
fn nonce() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}
