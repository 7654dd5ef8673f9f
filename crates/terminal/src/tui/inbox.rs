//! The state of the inbox: the list, the open question, and updates of the hub. [`Inbox::update`] alone changes it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::question_form::{ClosedElsewhere, Sheet, Step};
use crate::socket::control::questions::{Done, QuestionView, Request, Update};
use adjutant_base::text::escape_invisible;
use adjutant_base::text::timefmt;
use adjutant_host::git::Facts;
use adjutant_questions::{Availability, OutcomeKind};

/// Interval at which the hub learns that a question is still on the screen.
const SEEN_INTERVAL: Duration = Duration::from_secs(5);

/// Duration of the key's away time, in milliseconds.
const AWAY_MILLIS: i64 = 3_600_000;

/// How long a notice stays.
const NOTICE_DURATION: Duration = Duration::from_secs(8);

/// A message that changes the state.
#[derive(Debug)]
pub(super) enum Message {
    Key(KeyEvent),
    Paste(String),
    /// The terminal's window came to the front, or went away.
    Focus(bool),
    /// The window has another size, or a moment has passed.
    Tick,
    Told(Update),
    /// What came of an act; the error is a sentence.
    Done(Request, Result<Done, String>),
    /// Whether the hub can be reached.
    Hub(Result<(), String>),
    /// The keyboard is closed.
    InputClosed,
}

/// Something to do outside of the state.
#[derive(Debug, PartialEq)]
pub(super) enum Effect {
    Send(Request),
    Quit,
}

/// The current instant, on both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamps {
    pub(super) at: Instant,
    /// Milliseconds since 1970.
    pub(super) millis: i64,
}

/// A decision that can still be taken back.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    pub(super) ticket: String,
    pub(super) said: String,
    /// Milliseconds since 1970.
    pub(super) until: i64,
    /// As it was filled in, to go on from there.
    sheet: Box<Sheet>,
}

/// Everything that is drawn.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// Pending questions, oldest first, those that were put off last.
    pub(super) questions: Vec<QuestionView>,
    /// How many there are, with those that are not told.
    pub(super) total: u64,
    /// Whether agents may ask now.
    pub(super) availability: Availability,
    /// What the keys set is whether they may.
    pub(super) choosing: bool,
    /// The hub has told everything once.
    pub(super) current: bool,
    pub(super) selected: usize,
    pub(super) sheet: Option<Sheet>,
    pub(super) facts: HashMap<String, Result<Facts, String>>,
    pub(super) undo: Option<Undo>,
    /// The latest sentence about what happened, and until when it stands there.
    pub(super) said: Option<(String, Instant)>,
    /// Why the hub cannot be reached.
    pub(super) lost: Option<String>,
    /// The window lies behind another one, as far as the terminal tells.
    away: bool,
    seen: Option<(String, Instant)>,
}

impl Inbox {
    /// Applies a message, and returns what is to be done.
    pub(super) fn update(&mut self, message: Message, now: Timestamps) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.undo.as_ref().is_some_and(|undo| undo.until <= now.millis) {
            self.undo = None;
        }
        if self.said.as_ref().is_some_and(|(_, until)| *until <= now.at) {
            self.said = None;
        }
        match message {
            Message::Key(key) if key.kind == KeyEventKind::Release => {}
            Message::Key(key) => effects.extend(self.on_key(key, now)),
            Message::Paste(text) => {
                if let Some(sheet) = &mut self.sheet {
                    sheet.paste(&text);
                }
            }
            Message::Focus(front) => self.away = !front,
            Message::Tick => {}
            Message::InputClosed => effects.push(Effect::Quit),
            Message::Told(update) => self.on_update(update, now),
            Message::Done(act, done) => self.on_done(&act, done, now),
            Message::Hub(reached) => {
                self.lost = reached.err();
                if self.lost.is_none() {
                    // The next hub tells everything anew.
                    self.questions.clear();
                    self.current = false;
                }
            }
        }
        effects.extend(self.note_seen(now));
        effects
    }

    /// Returns when something changes on the screen by itself.
    pub(super) fn next_change(&self, now: Timestamps) -> Duration {
        let every = if self.undo.is_some() { 100 } else { 1000 };
        let cooling = self.sheet.as_ref().is_some_and(|sheet| sheet.cooling(now.at));
        Duration::from_millis(if cooling { 50 } else { every })
    }

    fn on_key(&mut self, key: KeyEvent, now: Timestamps) -> Option<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return Some(Effect::Quit);
        }
        let text = self.sheet.as_ref().is_some_and(Sheet::takes_text);
        let takes_back = control && key.code == KeyCode::Char('z') || !text && key.code == KeyCode::Char('u');
        if takes_back && let Some(undo) = &self.undo {
            return Some(Effect::Send(Request::TakeBack { ticket: undo.ticket.clone() }));
        }
        if let Some(sheet) = &mut self.sheet {
            return match sheet.on(key, now.at) {
                Step::Stay => None,
                Step::Close => {
                    self.sheet = None;
                    None
                }
                Step::Send(act) => Some(Effect::Send(act)),
            };
        }
        if std::mem::take(&mut self.choosing) {
            let until = Some(now.millis + AWAY_MILLIS);
            let availability = match key.code {
                KeyCode::Char('1') => Availability::Here,
                KeyCode::Char('2') => Availability::DoNotDisturb { until },
                KeyCode::Char('3') => Availability::Away { until },
                KeyCode::Char('4') => Availability::Away { until: None },
                _ => return None,
            };
            return Some(Effect::Send(Request::Availability(availability)));
        }
        let last = self.questions.len().saturating_sub(1);
        match key.code {
            KeyCode::Char('a') => self.choosing = true,
            KeyCode::Char('q') => return Some(Effect::Quit),
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(8),
            KeyCode::PageDown => self.selected = (self.selected + 8).min(last),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = last,
            KeyCode::Enter => self.open(self.selected, now),
            KeyCode::Char(digit @ '1'..='9') => {
                if let Some(at) = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()) {
                    self.open(at - 1, now);
                }
            }
            _ => {}
        }
        None
    }

    fn open(&mut self, at: usize, now: Timestamps) {
        if let Some(question) = self.questions.get(at) {
            self.selected = at;
            self.sheet = Some(Sheet::open(question.clone(), now.at));
        }
    }

    fn on_update(&mut self, update: Update, now: Timestamps) {
        match update {
            Update::Question(question) => {
                if let Some(sheet) =
                    self.sheet.as_mut().filter(|sheet| sheet.question.ticket == question.ticket)
                {
                    sheet.refresh(&question);
                }
                let chosen = self.chosen();
                self.questions.retain(|known| known.ticket != question.ticket);
                let key = |known: &QuestionView| {
                    (known.snoozed_until.is_some_and(|until| until > now.millis), known.asked_at)
                };
                let at = self.questions.partition_point(|known| key(known) <= key(&question));
                self.questions.insert(at, *question);
                self.choose(chosen.as_deref());
            }
            Update::Closed { ticket, kind, by, through } => {
                let gone = ClosedElsewhere { kind, by, through };
                let title = self.forget(&ticket);
                let mine = self.undo.as_ref().is_some_and(|undo| undo.ticket == ticket);
                match self.sheet.as_mut().filter(|sheet| sheet.question.ticket == ticket) {
                    // What was sent from here is told by its own answer.
                    Some(sheet) if sheet.sending => {}
                    Some(sheet) => {
                        sheet.gone = Some(gone);
                        sheet.layer = None;
                    }
                    None if mine => {}
                    None => {
                        if let Some(title) = title {
                            self.say(format!("“{title}” {}", ended(gone)), now);
                        }
                    }
                }
            }
            Update::Facts { workspace, facts } => {
                self.facts.insert(workspace, facts);
            }
            Update::Current { total, availability } => {
                self.total = total;
                self.availability = availability;
                self.current = true;
            }
        }
    }

    fn on_done(&mut self, act: &Request, done: Result<Done, String>, now: Timestamps) {
        if let Request::Seen { .. } = act {
            // The next one says it again.
            return;
        }
        let ticket = ticket(act);
        let open = self.sheet.as_mut().filter(|sheet| Some(sheet.question.ticket.as_str()) == ticket);
        match (done, open) {
            (Ok(Done::Decided { kind, until }), sheet) => {
                let title = sheet
                    .as_ref()
                    .map_or_else(String::new, |sheet| escape_invisible::escape_line(&sheet.question.title));
                let said = format!("{}: “{title}”", word(kind));
                let sheet = self.sheet.take_if(|sheet| Some(sheet.question.ticket.as_str()) == ticket);
                if let Some(ticket) = ticket {
                    self.forget(ticket);
                }
                match (until, sheet, ticket) {
                    (Some(until), Some(mut sheet), Some(ticket)) => {
                        sheet.sending = false;
                        sheet.layer = None;
                        let ticket = ticket.to_owned();
                        self.undo = Some(Undo { ticket, said, until, sheet: Box::new(sheet) });
                    }
                    _ => self.say(said, now),
                }
            }
            (Ok(Done::Snoozed { .. }), sheet) => {
                let minutes = if let Request::Snooze { minutes, .. } = act { *minutes } else { 0 };
                if sheet.is_some() {
                    self.sheet = None;
                }
                self.say(format!("snoozed for {minutes} min"), now);
            }
            (Ok(Done::Available(availability)), _) => {
                self.availability = availability;
                self.say(availability_text(availability, now.millis), now);
            }
            (Ok(Done::Noted), _) => {
                // Taken back: the question opens again as it was filled in.
                if let Some(undo) = self.undo.take() {
                    self.say("taken back; nothing was sent".to_owned(), now);
                    if self.sheet.is_none() {
                        self.sheet = Some(undo.sheet.again(now.at));
                    }
                }
            }
            (Ok(Done::Before { kind, by, through }), Some(sheet)) => {
                sheet.sending = false;
                sheet.layer = None;
                sheet.gone = Some(ClosedElsewhere { kind, by, through });
            }
            (Ok(Done::Before { kind, by, through }), None) => {
                self.say(ended(ClosedElsewhere { kind, by, through }), now);
            }
            (Ok(Done::Unfit { reason, .. }) | Err(reason), Some(sheet)) => sheet.refused(reason),
            (Ok(Done::Passphrase { reason, .. }), Some(sheet)) => sheet.wants_passphrase(reason),
            (Ok(Done::Unfit { reason, .. } | Done::Passphrase { reason, .. }) | Err(reason), None) => {
                self.say(reason, now);
            }
        }
    }

    /// Tells the hub that the open question is on the screen, when it is time to.
    fn note_seen(&mut self, now: Timestamps) -> Option<Effect> {
        let sheet =
            self.sheet.as_ref().filter(|sheet| sheet.gone.is_none() && !self.away && self.lost.is_none());
        let Some(sheet) = sheet else {
            self.seen = None;
            return None;
        };
        let ticket = &sheet.question.ticket;
        let fresh =
            self.seen.as_ref().is_some_and(|(seen, at)| seen == ticket && now.at < *at + SEEN_INTERVAL);
        (!fresh).then(|| {
            self.seen = Some((ticket.clone(), now.at));
            Effect::Send(Request::Seen { ticket: ticket.clone() })
        })
    }

    /// Takes a question off the list and returns its title.
    fn forget(&mut self, ticket: &str) -> Option<String> {
        let at = self.questions.iter().position(|question| question.ticket == ticket)?;
        let chosen = self.chosen();
        let question = self.questions.remove(at);
        self.total = self.total.saturating_sub(1);
        self.choose(chosen.as_deref());
        Some(escape_invisible::escape_line(&question.title))
    }

    fn chosen(&self) -> Option<String> {
        self.questions.get(self.selected).map(|question| question.ticket.clone())
    }

    /// Keeps the selection on the question it was on; what comes and goes above must not move it.
    fn choose(&mut self, ticket: Option<&str>) {
        let at = self.questions.iter().position(|question| Some(question.ticket.as_str()) == ticket);
        self.selected = at.unwrap_or(self.selected).min(self.questions.len().saturating_sub(1));
    }

    fn say(&mut self, sentence: String, now: Timestamps) {
        self.said = Some((sentence, now.at + NOTICE_DURATION));
    }
}

/// Says how a question ended, and where.
pub(super) fn ended(gone: ClosedElsewhere) -> String {
    use adjutant_questions::{Channel, DecidedBy};
    let place = match gone.through {
        Channel::Browser => " in the browser",
        Channel::Terminal => " in another terminal",
        Channel::Notification => " through a notification",
        Channel::Phone => " on the phone",
        Channel::Client => " in the agent itself",
        Channel::None => "",
    };
    match (gone.kind, gone.by) {
        (OutcomeKind::Answered, DecidedBy::Default) => {
            "was answered by its default: its time was over".to_owned()
        }
        (OutcomeKind::Answered, _) => format!("was answered{place}"),
        (OutcomeKind::Declined, _) => format!("was declined{place}"),
        (OutcomeKind::Dismissed, _) => format!("was dismissed{place}"),
        (OutcomeKind::TimedOut, _) => "expired; the agent got no answer".to_owned(),
        (OutcomeKind::Cancelled, _) => "was withdrawn by the agent".to_owned(),
        (OutcomeKind::ClientGone, _) => "is over: the client disconnected".to_owned(),
    }
}

/// Says whether agents may ask, and for how long that holds.
pub(super) fn availability_text(availability: Availability, now: i64) -> String {
    let what = match availability {
        Availability::Here => return "you take questions".to_owned(),
        Availability::DoNotDisturb { .. } => "not to be disturbed",
        Availability::Away { .. } => "away",
    };
    match availability.until() {
        Some(until) => {
            let left = Duration::from_millis(u64::try_from(until - now).unwrap_or_default());
            format!("{what}, {} left", timefmt::span(left))
        }
        None => format!("{what}, until you say that you are here"),
    }
}

fn word(kind: OutcomeKind) -> &'static str {
    match kind {
        OutcomeKind::Answered => "answered",
        OutcomeKind::Declined => "declined",
        OutcomeKind::Dismissed => "dismissed",
        OutcomeKind::TimedOut => "timed out",
        OutcomeKind::Cancelled => "withdrawn",
        OutcomeKind::ClientGone => "over",
    }
}

/// Returns the question that an act is about.
pub(super) fn ticket(act: &Request) -> Option<&str> {
    match act {
        Request::Follow | Request::List(_) | Request::Show { .. } | Request::Availability(_) => None,
        Request::Seen { ticket }
        | Request::Answer { ticket, .. }
        | Request::TakeBack { ticket }
        | Request::Decline { ticket, .. }
        | Request::Dismiss { ticket, .. }
        | Request::Redirect { ticket, .. }
        | Request::Snooze { ticket, .. } => Some(ticket),
    }
}
