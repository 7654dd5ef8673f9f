//! The inbox as a whole: the list, the open question, and what came from the hub. It changes by [`Inbox::on`] alone.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::sheet::{Gone, Sheet, Step};
use crate::clock;
use crate::git::Facts;
use crate::popups::{Availability, Kind};
use crate::socket::person::popups::{Act, Done, Shown, Update};
use crate::visible;

/// How often the hub is told that a question is still on the screen.
const SEEN: Duration = Duration::from_secs(5);

/// For how long the keys say that the person is away, in milliseconds.
const HOUR: i64 = 3_600_000;

/// How long a sentence about what happened stays.
const SAID: Duration = Duration::from_secs(8);

/// Something that happened.
#[derive(Debug)]
pub(super) enum Input {
    Key(KeyEvent),
    Paste(String),
    /// The terminal's window came to the front, or went away.
    Focus(bool),
    /// The window has another size, or a moment has passed.
    Tick,
    Told(Update),
    /// What came of an act; the error is a sentence.
    Done(Act, Result<Done, String>),
    /// Whether the hub can be reached.
    Hub(Result<(), String>),
    /// Nothing can be typed any more.
    Gone,
}

/// What is to be done outside.
#[derive(Debug, PartialEq)]
pub(super) enum Wish {
    Act(Act),
    Quit,
}

/// This moment, on both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
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
    pub(super) questions: Vec<Shown>,
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
    /// Takes in what happened and returns what is to be done.
    pub(super) fn on(&mut self, input: Input, now: Now) -> Vec<Wish> {
        let mut wishes = Vec::new();
        if self.undo.as_ref().is_some_and(|undo| undo.until <= now.millis) {
            self.undo = None;
        }
        if self.said.as_ref().is_some_and(|(_, until)| *until <= now.at) {
            self.said = None;
        }
        match input {
            Input::Key(key) if key.kind == KeyEventKind::Release => {}
            Input::Key(key) => wishes.extend(self.on_key(key, now)),
            Input::Paste(text) => {
                if let Some(sheet) = &mut self.sheet {
                    sheet.paste(&text);
                }
            }
            Input::Focus(front) => self.away = !front,
            Input::Tick => {}
            Input::Gone => wishes.push(Wish::Quit),
            Input::Told(update) => self.on_update(update, now),
            Input::Done(act, done) => self.on_done(&act, done, now),
            Input::Hub(reached) => {
                self.lost = reached.err();
                if self.lost.is_none() {
                    // The next hub tells everything anew.
                    self.questions.clear();
                    self.current = false;
                }
            }
        }
        wishes.extend(self.note_seen(now));
        wishes
    }

    /// Returns when something changes on the screen by itself.
    pub(super) fn next_change(&self, now: Now) -> Duration {
        let every = if self.undo.is_some() { 100 } else { 1000 };
        let cooling = self.sheet.as_ref().is_some_and(|sheet| sheet.cooling(now.at));
        Duration::from_millis(if cooling { 50 } else { every })
    }

    fn on_key(&mut self, key: KeyEvent, now: Now) -> Option<Wish> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return Some(Wish::Quit);
        }
        let text = self.sheet.as_ref().is_some_and(Sheet::takes_text);
        let takes_back = control && key.code == KeyCode::Char('z') || !text && key.code == KeyCode::Char('u');
        if takes_back && let Some(undo) = &self.undo {
            return Some(Wish::Act(Act::TakeBack { ticket: undo.ticket.clone() }));
        }
        if let Some(sheet) = &mut self.sheet {
            return match sheet.on(key, now.at) {
                Step::Stay => None,
                Step::Close => {
                    self.sheet = None;
                    None
                }
                Step::Send(act) => Some(Wish::Act(act)),
            };
        }
        if std::mem::take(&mut self.choosing) {
            let until = Some(now.millis + HOUR);
            let availability = match key.code {
                KeyCode::Char('1') => Availability::Here,
                KeyCode::Char('2') => Availability::DoNotDisturb { until },
                KeyCode::Char('3') => Availability::Away { until },
                KeyCode::Char('4') => Availability::Away { until: None },
                _ => return None,
            };
            return Some(Wish::Act(Act::Availability(availability)));
        }
        let last = self.questions.len().saturating_sub(1);
        match key.code {
            KeyCode::Char('a') => self.choosing = true,
            KeyCode::Char('q') => return Some(Wish::Quit),
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

    fn open(&mut self, at: usize, now: Now) {
        if let Some(question) = self.questions.get(at) {
            self.selected = at;
            self.sheet = Some(Sheet::open(question.clone(), now.at));
        }
    }

    fn on_update(&mut self, update: Update, now: Now) {
        match update {
            Update::Question(question) => {
                if let Some(sheet) =
                    self.sheet.as_mut().filter(|sheet| sheet.question.ticket == question.ticket)
                {
                    sheet.refresh(&question);
                }
                let chosen = self.chosen();
                self.questions.retain(|known| known.ticket != question.ticket);
                let key = |known: &Shown| {
                    (known.snoozed_until.is_some_and(|until| until > now.millis), known.asked_at)
                };
                let at = self.questions.partition_point(|known| key(known) <= key(&question));
                self.questions.insert(at, *question);
                self.choose(chosen.as_deref());
            }
            Update::Gone { ticket, kind, by, through } => {
                let gone = Gone { kind, by, through };
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

    fn on_done(&mut self, act: &Act, done: Result<Done, String>, now: Now) {
        if let Act::Seen { .. } = act {
            // The next one says it again.
            return;
        }
        let ticket = ticket(act);
        let open = self.sheet.as_mut().filter(|sheet| Some(sheet.question.ticket.as_str()) == ticket);
        match (done, open) {
            (Ok(Done::Decided { kind, until }), sheet) => {
                let title =
                    sheet.as_ref().map_or_else(String::new, |sheet| visible::line(&sheet.question.title));
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
                let minutes = if let Act::Snooze { minutes, .. } = act { *minutes } else { 0 };
                if sheet.is_some() {
                    self.sheet = None;
                }
                self.say(format!("put off for {minutes} min"), now);
            }
            (Ok(Done::Available(availability)), _) => {
                self.availability = availability;
                self.say(presence(availability, now.millis), now);
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
                sheet.gone = Some(Gone { kind, by, through });
            }
            (Ok(Done::Before { kind, by, through }), None) => {
                self.say(ended(Gone { kind, by, through }), now);
            }
            (Ok(Done::Unfit { reason, .. }) | Err(reason), Some(sheet)) => sheet.refused(reason),
            (Ok(Done::Passphrase { reason, .. }), Some(sheet)) => sheet.wants_passphrase(reason),
            (Ok(Done::Unfit { reason, .. } | Done::Passphrase { reason, .. }) | Err(reason), None) => {
                self.say(reason, now);
            }
        }
    }

    /// Tells the hub that the open question is on the screen, when it is time to.
    fn note_seen(&mut self, now: Now) -> Option<Wish> {
        let sheet =
            self.sheet.as_ref().filter(|sheet| sheet.gone.is_none() && !self.away && self.lost.is_none());
        let Some(sheet) = sheet else {
            self.seen = None;
            return None;
        };
        let ticket = &sheet.question.ticket;
        let fresh = self.seen.as_ref().is_some_and(|(seen, at)| seen == ticket && now.at < *at + SEEN);
        (!fresh).then(|| {
            self.seen = Some((ticket.clone(), now.at));
            Wish::Act(Act::Seen { ticket: ticket.clone() })
        })
    }

    /// Takes a question off the list and returns its title.
    fn forget(&mut self, ticket: &str) -> Option<String> {
        let at = self.questions.iter().position(|question| question.ticket == ticket)?;
        let chosen = self.chosen();
        let question = self.questions.remove(at);
        self.total = self.total.saturating_sub(1);
        self.choose(chosen.as_deref());
        Some(visible::line(&question.title))
    }

    fn chosen(&self) -> Option<String> {
        self.questions.get(self.selected).map(|question| question.ticket.clone())
    }

    /// Keeps the selection on the question it was on; what comes and goes above must not move it.
    fn choose(&mut self, ticket: Option<&str>) {
        let at = self.questions.iter().position(|question| Some(question.ticket.as_str()) == ticket);
        self.selected = at.unwrap_or(self.selected).min(self.questions.len().saturating_sub(1));
    }

    fn say(&mut self, sentence: String, now: Now) {
        self.said = Some((sentence, now.at + SAID));
    }
}

/// Says how a question ended, and where.
pub(super) fn ended(gone: Gone) -> String {
    use crate::popups::{By, Presenter};
    let place = match gone.through {
        Presenter::Browser => " in the browser",
        Presenter::Terminal => " in another terminal",
        Presenter::Notification => " through a notification",
        Presenter::Phone => " on the phone",
        Presenter::Client => " in the agent itself",
        Presenter::None => "",
    };
    match (gone.kind, gone.by) {
        (Kind::Answered, By::Default) => "was answered by its default: its time was over".to_owned(),
        (Kind::Answered, _) => format!("was answered{place}"),
        (Kind::Declined, _) => format!("was declined{place}"),
        (Kind::Dismissed, _) => format!("was dismissed{place}"),
        (Kind::TimedOut, _) => "timed out; the agent was told that nobody answered".to_owned(),
        (Kind::Cancelled, _) => "was withdrawn by the agent".to_owned(),
        (Kind::ClientGone, _) => "is over: the agent is gone".to_owned(),
    }
}

/// Says whether agents may ask, and for how long that holds.
pub(super) fn presence(availability: Availability, now: i64) -> String {
    let what = match availability {
        Availability::Here => return "you take questions".to_owned(),
        Availability::DoNotDisturb { .. } => "not to be disturbed",
        Availability::Away { .. } => "away",
    };
    match availability.until() {
        Some(until) => {
            let left = Duration::from_millis(u64::try_from(until - now).unwrap_or_default());
            format!("{what}, {} left", clock::span(left))
        }
        None => format!("{what}, until you say that you are here"),
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Answered => "answered",
        Kind::Declined => "declined",
        Kind::Dismissed => "dismissed",
        Kind::TimedOut => "timed out",
        Kind::Cancelled => "withdrawn",
        Kind::ClientGone => "over",
    }
}

/// Returns the question that an act is about.
pub(super) fn ticket(act: &Act) -> Option<&str> {
    match act {
        Act::Follow | Act::List(_) | Act::Show { .. } | Act::Availability(_) => None,
        Act::Seen { ticket }
        | Act::Answer { ticket, .. }
        | Act::TakeBack { ticket }
        | Act::Decline { ticket, .. }
        | Act::Dismiss { ticket, .. }
        | Act::Redirect { ticket, .. }
        | Act::Snooze { ticket, .. } => Some(ticket),
    }
}
